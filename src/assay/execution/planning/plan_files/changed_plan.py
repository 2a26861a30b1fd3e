"""Change one configuration of a plan, for a what-if question. Pure, except that it reads the shipped instance types.

In: a plan, the levels of one of its configurations, a workload, and settings ``NAME=VALUE``. Out: the checked plan of
that configuration with the changes. You can set:

- of the plan: ``layout``, ``network``, ``containers``, ``compression``, engine parameters, ``data``, and the
  workload's own options (``reduces``, ``terasort.reduces``);
- of the described cluster: ``workers.count`` (or ``workers``, ``nodes``), ``nic``, ``racks.nodes``, ``racks.uplink``,
  and of a node type ``TYPE.cores``, ``TYPE.memory``, ``TYPE.nic``, ``TYPE.cpu.speed`` and ``TYPE.devices.GROUP.KEY``
  (``count``, ``read``, ``write``, ``iops``, ``read_iops``, ``write_iops``, ``capacity``);
- the workers' instance type: ``worker.type``, ``worker.volumes`` and ``worker.cpu.credits`` (:mod:`.rented_workers`).
  All data is then on all their disks, unless ``layout`` is set.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.execution.planning.expansion import expand, workload_option
from assay.execution.planning.order import PlannedRun, schedule
from assay.execution.planning.plan_files.plan_reader import plan_of_content
from assay.execution.planning.plan_files.plan_text import content_of
from assay.execution.planning.plan_files.rented_workers import (
    WORKER_CREDITS,
    WORKER_TYPE,
    WORKER_VOLUMES,
    layout_of_all_disks,
    rented_type,
    with_rented_workers,
)
from assay.execution.planning.plan_files.workload_section import varied_options
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.foundation.units import parse_bit_rate, parse_byte_rate, parse_bytes
from assay.model import (
    ENGINE_FACTOR,
    LAYOUT_FACTOR,
    NETWORK_FACTOR,
    WORKERS_FACTOR,
    Cluster,
    Device,
    Node,
    NodeType,
    Plan,
    Racks,
    Role,
    WorkloadSpec,
    devices_of_code,
)
from assay.specs.document import Value
from assay.specs.fields import unknown
from assay.text import workload_title

Change = tuple[str, str]
"""A name and its value from ``--set NAME=VALUE``."""
WORKERS_COUNT = "workers.count"
CLUSTER_SETTINGS = (WORKERS_COUNT, "nic", "racks.nodes", "racks.uplink", WORKER_TYPE, WORKER_VOLUMES, WORKER_CREDITS)
_INSTANCE_SETTINGS = (WORKER_TYPE, WORKER_VOLUMES, WORKER_CREDITS)
_COUNT_MAX = 100_000
"""Maximum of a count that ``--set`` accepts."""
_RACK_NODES_DEFAULT = 40
"""Number of nodes in a rack if a question sets only the uplink of racks."""
_DEVICE_KEYS = ("count", "read", "write", "iops", "read_iops", "write_iops", "capacity")
_TYPE_KEYS = ("cores", "memory", "nic", "cpu.speed", *(f"devices.GROUP.{key}" for key in _DEVICE_KEYS))

_CLUSTER_SETTINGS_TEXT = f"{', '.join(CLUSTER_SETTINGS)}, worker.cores, worker.memory, worker.devices.GROUP.count"


def parse_changes(texts: Sequence[str], where: str = "--set") -> tuple[Change, ...]:
    """Return ``NAME=VALUE`` texts as pairs. Raises SpecificationError for another form, or a name set twice."""
    changes: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise SpecificationError(f"{text[:80]!r} is not NAME=VALUE", where=where, hint="such as layout=SS2")
        if name in changes:
            raise SpecificationError(f"{name} is set twice", where=where)
        changes[name] = value
    return tuple(changes.items())


def parse_question(texts: Sequence[str], where: str = "--set") -> tuple[Change, ...]:
    """Return the changes of a what-if question, like :func:`parse_changes`.

    ``workers`` and ``nodes`` become ``workers.count``: a plan chooses among the cluster's workers, a question can have
    more.
    """
    changes = (re.sub(rf"^\s*(?:{WORKERS_FACTOR}|nodes)\s*=", f"{WORKERS_COUNT}=", text) for text in texts)
    return parse_changes(list(changes), where)


def changed_plan(plan: Plan, levels: Mapping[str, str], workload: str, changes: Sequence[Change] = ()) -> Plan:
    """Return the plan of one run with ``changes``: one configuration, one workload, one repetition.

    Raises SpecificationError for an unknown setting or an invalid value.
    """
    workload_spec = next((entry for entry in plan.workloads if entry.key == workload), None)
    if workload_spec is None:
        raise SpecificationError(f"the plan {plan.name} has no workload {workload!r}", where=f"plan {plan.name}")
    cluster = plan.cluster
    instance = rented_type(dict(changes))
    if instance is not None:
        cluster = with_rented_workers(cluster, instance, dict(changes))
    for name, value in changes:
        if _is_of_cluster(name, cluster) and name not in _INSTANCE_SETTINGS:
            cluster = _changed_cluster(cluster, name, value)
    content = _content_of_levels(plan, levels, workload_spec)
    if instance is not None:
        content.pop("layouts", None)
        content["layout"] = layout_of_all_disks(cluster)
    for name, value in changes:
        if not (_is_of_cluster(name, plan.cluster) or _is_of_cluster(name, cluster)):
            _apply_setting(content, name, value, workload_spec, plan)
        elif name in ("nic", WORKER_TYPE):
            _parameters(content).pop(NETWORK_FACTOR, None)
        elif name == WORKERS_COUNT:
            _parameters(content).pop(WORKERS_FACTOR, None)
    try:
        return plan_of_content(content, cluster, plan.cluster_source, {plan.engine: plan.rules, **plan.varied_engines})
    except SpecificationError as error:
        settings = (
            LAYOUT_FACTOR,
            NETWORK_FACTOR,
            ENGINE_FACTOR,
            *plan.rules.shorthands,
            *varied_options(workload_spec.name),
        )
        type_settings = [f"{type_name}.{key}" for type_name in _type_names(cluster) for key in _TYPE_KEYS]
        names = (*settings, *CLUSTER_SETTINGS, *type_settings)
        misspelt_names = (name for name, value in changes if _is_misspelt(name, value, plan, cluster))
        unknown_names = (name for name, _ in changes if "." not in name and name not in names)
        unknown_name = next(iter((*misspelt_names, *unknown_names)), None)
        if unknown_name is None:
            hint = error.hint or _disks_hint(dict(changes), cluster)
            raise SpecificationError(error.message, where="--set", hint=hint) from error
        raise SpecificationError(
            f"{workload_title(workload_spec.name)} has no setting {unknown_name[:80]!r}",
            where="--set",
            hint=f"{did_you_mean(unknown_name, names, matches_max=1)}its settings are {', '.join(settings)}, and "
            f"engine parameters such as mapreduce.task.io.sort.mb; of the cluster you can set {_CLUSTER_SETTINGS_TEXT}",
        ) from error


def _is_misspelt(name: str, value: str, plan: Plan, cluster: Cluster) -> bool:
    """Return whether the engine refuses a name that begins like a setting of the cluster: ``workrs.count``."""
    first_part = name.partition(".")[0]
    beginnings = {"workers", "racks", *_type_names(cluster)}
    if "." not in name or _is_of_cluster(name, cluster) or not did_you_mean(first_part, beginnings):
        return False
    return plan.rules.setting_mistake(name, value, cluster) is not None


def _disks_hint(changes: Mapping[str, str], cluster: Cluster) -> str | None:
    """Return the change that adds the disks which a changed layout needs; None if the workers have them."""
    devices = cluster.workers[0].type.devices
    texts = []
    for kind, count in devices_of_code(changes.get(LAYOUT_FACTOR, "")).items():
        names = [device.name.rstrip("0123456789") for device in devices if device.kind == kind]
        if names and len(names) < count:
            texts.append(f"--set worker.devices.{names[0]}.count={count}")
    return f"add {' '.join(texts)}" if texts else None


def only_run(plan: Plan) -> PlannedRun:
    """Return the only run of a changed plan."""
    [run] = schedule(replace(plan, repetitions=1, until=None), expand(plan))
    return run


def _parameters(content: dict[str, Value]) -> dict[str, Any]:
    parameters = content.setdefault("parameters", {})
    assert isinstance(parameters, dict)
    return parameters


def _options(content: dict[str, Value]) -> dict[str, Any]:
    entries = content["workloads"]
    assert isinstance(entries, list)
    [entry] = entries
    assert isinstance(entry, dict)
    [options] = entry.values()
    assert isinstance(options, dict)
    return options


def _content_of_levels(plan: Plan, levels: Mapping[str, str], spec: WorkloadSpec) -> dict[str, Value]:
    """Return the plan's content with every factor replaced by the settings of its level."""
    content = content_of(replace(plan, workloads=(spec,), repetitions=1, until=None, factors=(), only=()))
    content.pop("until", None)
    parameters = dict(_parameters(content))
    content["parameters"] = parameters
    for factor in plan.factors:
        level = levels.get(factor.name, factor.levels[0])
        varied_option = workload_option(factor.name, plan.workloads)
        if factor.settings:
            parameters |= factor.settings[level]
        elif factor.name in (LAYOUT_FACTOR, ENGINE_FACTOR):
            content[factor.name] = level
        elif varied_option is None:
            parameters[factor.name] = level
        elif varied_option[0] is spec:
            _set_option(_options(content), varied_option[1], level)
    for name in levels.keys() - {factor.name for factor in plan.factors}:  # settings that are not factors of the plan
        _apply_setting(content, name, levels[name], spec, plan)
    return content


def _set_option(options: dict[str, Any], name: str, value: str) -> None:
    if name in ("data", "data_per_node"):
        options.pop("data", None)
        options.pop("data_per_node", None)
    options[name] = value


def _apply_setting(content: dict[str, Value], name: str, value: str, spec: WorkloadSpec, plan: Plan) -> None:
    key, _, option = name.partition(".")
    option_key = option if key in (spec.key, spec.name) else name
    if option_key in varied_options(spec.name):
        _set_option(_options(content), option_key, value)
    elif name == LAYOUT_FACTOR:
        content["layout"] = value
    else:
        parameters = _parameters(content)
        parameters[name] = value
        for rules in (plan.rules, *plan.varied_engines.values()):
            for target in rules.shorthands.get(name, ()):  # a shorthand replaces the parameters that it sets
                parameters.pop(target, None)


def _is_of_cluster(name: str, cluster: Cluster) -> bool:
    return name in CLUSTER_SETTINGS or (name.partition(".")[0] in _type_names(cluster) and "." in name)


def _type_names(cluster: Cluster) -> set[str]:
    """Return the names of node types, and the roles ``worker`` and ``master``."""
    return {node.type.name for node in cluster.nodes} | {str(role) for role in Role}


def _changed_cluster(cluster: Cluster, name: str, value: str) -> Cluster:
    try:
        if name == WORKERS_COUNT:
            return _with_workers(cluster, _parse_count(value))
        if name == "nic":
            rate = _parse_positive(parse_bit_rate, value)
            return _with_types(
                cluster, lambda node_type: replace(node_type, nic=replace(node_type.nic, rate_bits_per_s=rate))
            )
        if name.startswith("racks."):
            return _with_racks(cluster, name.partition(".")[2], value)
        type_or_role, _, key = name.partition(".")
        role = Role(type_or_role) if type_or_role in {str(role) for role in Role} else None
        is_type_name = type_or_role in {node.type.name for node in cluster.nodes}
        type_names = (
            {node.type.name for node in cluster.nodes if role in node.roles}
            if role and not is_type_name
            else {type_or_role}
        )
        return _with_types(
            cluster, lambda node_type: _with_key(node_type, key, value) if node_type.name in type_names else node_type
        )
    except ValueError as error:
        raise SpecificationError(f"{name}: {error}", where="--set") from error


def _parse_count(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,6}", text) or int(text) > _COUNT_MAX:
        raise ValueError(f"{text[:20]!r} is not a whole number from 1 to {_COUNT_MAX}")
    return int(text)


def _parse_positive(parse: Callable[[str], float], text: str) -> float:
    number = parse(text)
    if not 0 < number < float("inf"):
        raise ValueError(f"{text[:20]!r} must be more than 0, and finite")
    return number


def _with_workers(cluster: Cluster, count: int) -> Cluster:
    """Return the cluster with ``count`` workers: the first workers, or additional copies of the last worker."""
    workers = cluster.workers
    if count <= len(workers):
        return cluster.using(count)
    existing_names, last_worker = {node.name for node in cluster.nodes}, workers[-1]
    prefix = last_worker.name.rstrip("0123456789") or last_worker.name
    names = (f"{prefix}{number}" for number in range(1, 10 * _COUNT_MAX))
    new_names = (name for name in names if name not in existing_names)
    new_workers = tuple(
        Node(next(new_names), last_worker.type, frozenset({Role.WORKER})) for _ in range(count - len(workers))
    )
    return replace(cluster, nodes=(*cluster.nodes, *new_workers))


def _with_racks(cluster: Cluster, key: str, value: str) -> Cluster:
    racks = cluster.racks or Racks(_RACK_NODES_DEFAULT, float("inf"))
    if key == "nodes":
        racks = replace(racks, nodes=_parse_count(value))
    else:
        racks = replace(racks, uplink_bits_per_s=_parse_positive(parse_bit_rate, value))
    return replace(cluster, racks=racks)


def _with_types(cluster: Cluster, change: Callable[[NodeType], NodeType]) -> Cluster:
    changed_types = {node.type.name: change(node.type) for node in cluster.nodes}
    return replace(cluster, nodes=tuple(replace(node, type=changed_types[node.type.name]) for node in cluster.nodes))


def _with_key(node_type: NodeType, key: str, value: str) -> NodeType:
    match key.split("."):
        case ["cores"]:
            return replace(node_type, cores=_parse_count(value))
        case ["memory"]:
            return replace(node_type, memory_bytes=int(_parse_positive(parse_bytes, value)))
        case ["nic"]:
            return replace(
                node_type, nic=replace(node_type.nic, rate_bits_per_s=_parse_positive(parse_bit_rate, value))
            )
        case ["cpu", "speed"]:
            return replace(node_type, cpu_speed=_parse_positive(float, value))
        case ["devices", group, device_key] if device_key in _DEVICE_KEYS:
            return replace(node_type, devices=_with_device_key(node_type, group, device_key, value))
    if key == "count":
        raise ValueError(f"a node type has no number of nodes; did you mean {WORKERS_COUNT!r}?")
    raise ValueError(unknown("setting of a node type", key, _TYPE_KEYS))


def _with_device_key(node_type: NodeType, group: str, key: str, value: str) -> tuple[Device, ...]:
    devices = [device for device in node_type.devices if re.fullmatch(rf"{re.escape(group)}[0-9]+", device.name)]
    if not devices:
        groups = dict.fromkeys(device.name.rstrip("0123456789") for device in node_type.devices)
        raise ValueError(f"node type {node_type.name}: {unknown('device', group, list(groups))}")
    other_devices = [device for device in node_type.devices if device not in devices]
    if key == "count":
        numbered_devices = [
            replace(devices[0], name=f"{group}{number}") for number in range(1, _parse_count(value) + 1)
        ]
        return (*other_devices, *numbered_devices)
    return (*other_devices, *(_with_value(device, key, value) for device in devices))


def _with_value(device: Device, key: str, value: str) -> Device:
    match key:
        case "read":
            return replace(device, read_bytes_per_s=_parse_positive(parse_byte_rate, value))
        case "write":
            return replace(device, write_bytes_per_s=_parse_positive(parse_byte_rate, value))
        case "capacity":
            return replace(device, capacity_bytes=int(_parse_positive(parse_bytes, value)))
        case "read_iops":
            return replace(device, read_iops=_parse_count(value))
        case "write_iops":
            return replace(device, write_iops=_parse_count(value))
    return replace(device, read_iops=_parse_count(value), write_iops=_parse_count(value))
