"""Read and check plans, from files or from content in memory, by the rules of engines and workloads.

In: a file, or a plan's content as texts with its cluster. Out: a :class:`Plan`, or :class:`SpecificationError` with
file, line and the valid choices. A plan given in memory is also written as YAML
(:mod:`assay.execution.planning.plan_files.plan_text`): errors refer to its lines, and the campaign's folder holds it.
assay does not read that text again.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.execution.engines.rules_catalogue import all_rules
from assay.execution.planning.expansion import expand, workload_option
from assay.execution.planning.fingerprint import with_fingerprint
from assay.execution.planning.plan_files.plan_file import PlanFile, plan_file
from assay.execution.planning.plan_files.plan_text import CLUSTER_FILE, content_of, document_of_content
from assay.execution.planning.plan_files.settings import (
    check_configurations,
    check_settings,
    complete_parameters,
    setting_names,
)
from assay.execution.planning.plan_files.workload_section import varied_options, workload_of
from assay.foundation.errors import SpecificationError
from assay.model import (
    ENGINE_FACTOR,
    LAYOUT_FACTOR,
    RETRIES,
    WORKLOAD,
    Cluster,
    Factor,
    FailureClass,
    Layout,
    Plan,
    PrecisionGoal,
    Rules,
    WorkloadSpec,
)
from assay.specs.cluster import cluster_of
from assay.specs.document import Document, Location, Problems, Value, document_of, read_document
from assay.specs.fields import unknown
from assay.specs.layouts import fitting_codes, is_layout_code, resolve_layout
from assay.specs.section import parse
from assay.workloads.catalogue import workloads as workload_catalogue

CONFIGURATIONS_MAX = 10_000
"""Maximum number of configurations of a plan."""
_RESERVED_FACTORS = (LAYOUT_FACTOR, ENGINE_FACTOR)
"""Factors that are not settings."""
_ENGINE_LOCATION: Location = ("factors", ENGINE_FACTOR)


def load_plan(path: str | Path, engines: Mapping[str, Rules] | None = None) -> Plan:
    """Return the plan at ``path`` with its cluster; raise :class:`SpecificationError` naming file and line.

    ``engines``: the rules of the known engines by name, the default first; None: assay's engines.
    """
    document, rules = read_document(path), engines or all_rules()
    file = parse(plan_file(rules), document)
    problems = Problems(document)
    cluster, cluster_source = _load_cluster(file, Path(path).parent, problems)
    return _plan(file, document, problems, rules, cluster, cluster_source)


def plan_of_content(
    content: Mapping[str, Value], cluster: Cluster, cluster_source: str, engines: Mapping[str, Rules] | None = None
) -> Plan:
    """Return the plan with this content on ``cluster``; the content's key ``cluster`` is ignored.

    Raises :class:`SpecificationError` with the line of the content as ``plan.yaml``.
    """
    document, rules = document_of_content(content), engines or all_rules()
    return _plan(parse(plan_file(rules), document), document, Problems(document), rules, cluster, cluster_source)


def plan_of_texts(content: Mapping[str, Value], cluster_text: str) -> Plan:
    """Return the plan with this content on the cluster that a text describes; no file is opened.

    Raises :class:`SpecificationError` with the line of ``plan.yaml`` or ``cluster.yaml``.
    """
    cluster = cluster_of(document_of(cluster_text.encode(), CLUSTER_FILE), Path())
    return plan_of_content(content, cluster, cluster_text)


def checked_plan(plan: Plan) -> Plan:
    """Return a plan that was changed in memory (``dataclasses.replace``), checked, with its new text and fingerprint.

    Raises :class:`SpecificationError` like :func:`plan_of_content`.
    """
    return plan_of_content(
        content_of(plan), plan.cluster, plan.cluster_source, {plan.engine: plan.rules, **plan.varied_engines}
    )


def _plan(
    file: PlanFile,
    document: Document,
    problems: Problems,
    engines: Mapping[str, Rules],
    cluster: Cluster,
    cluster_source: str,
) -> Plan:
    rules, varied_rules = _engines(file, engines, problems)
    workloads = _workloads(file, list(varied_rules) or [rules.name], len(cluster.workers), problems)
    factors = _factors(file, workloads, rules, problems)
    layouts = _layouts(file, cluster, rules, problems)
    check_settings(file.parameters, factors, workloads, cluster, rules, problems)
    only = _only(file, workloads, factors, problems)
    until = _until(file, problems)
    retries, attempts = _retries(file)
    problems.raise_if_any()
    plan = Plan(
        name=file.plan,
        cluster=cluster,
        rules=rules,
        workloads=workloads,
        factors=factors,
        layouts=layouts,
        parameters=complete_parameters(file.parameters, factors, cluster, rules),
        repetitions=file.repetitions,
        until=until,
        only=only,
        seed=file.seed,
        timeout_s=file.timeout,
        attempts=attempts,
        source=document.text,
        fingerprint="",
        retries=retries,
        cluster_file=file.cluster,
        cluster_source=cluster_source,
        varied_engines=varied_rules,
    )
    check_configurations(plan, expand(plan), problems)
    problems.raise_if_any()
    return with_fingerprint(plan)


def _engines(file: PlanFile, engines: Mapping[str, Rules], problems: Problems) -> tuple[Rules, dict[str, Rules]]:
    """Return the rules of the provided engine, and of the engines that a factor varies."""
    levels = list(file.factors.get(ENGINE_FACTOR, []))
    for index, level in enumerate(levels):
        if level not in engines:
            problems.add((*_ENGINE_LOCATION, index), unknown("engine", level, engines))
    varied_rules = {level: engines[level] for level in levels if level in engines}
    provider_names = [file.engine] if "engine" in file.model_fields_set or not varied_rules else list(engines)
    suitable_names = [name for name in provider_names if varied_rules.keys() <= {name, *engines[name].includes}]
    if not suitable_names:
        engine_names, providers = " and ".join(varied_rules), ", ".join(provider_names)
        message = f"{engine_names} can't be varied in one plan: none of {providers} includes them all"
        problems.add(_ENGINE_LOCATION, message)
    return engines[(suitable_names or provider_names)[0]], varied_rules


def _only(
    file: PlanFile, workloads: Sequence[WorkloadSpec], factors: Sequence[Factor], problems: Problems
) -> tuple[dict[str, str], ...]:
    """Return the combinations of ``only``; report those that do not exist."""
    levels_by_factor = {
        WORKLOAD: [workload.key for workload in workloads],
        **{factor.name: list(factor.levels) for factor in factors},
    }
    for index, combination in enumerate(file.only):
        for name, level in combination.items():
            if name not in levels_by_factor:
                problems.add(("only", index), unknown("factor", name, levels_by_factor))
            elif level not in levels_by_factor[name]:
                problems.add(("only", index), unknown(f"level of {name}", level, levels_by_factor[name]))
    return tuple(dict(combination) for combination in file.only)


def _until(file: PlanFile, problems: Problems) -> PrecisionGoal | None:
    if file.until is None:
        return None
    if file.until.at_most < file.repetitions:
        message = f"at_most is {file.until.at_most}, less than the {file.repetitions} repetitions"
        problems.add(("until", "at_most"), message)
    if file.until.half_width <= 0:
        problems.add(("until", "half_width"), "half_width must be above 0 %: a mean is never exact")
    return PrecisionGoal(float(file.until.half_width), file.until.at_most)


def _retries(file: PlanFile) -> tuple[dict[FailureClass, int], int]:
    """Return the maximum retries of each class, and the maximum attempts in total.

    If the file states ``attempts``, classes without stated retries may use all of them.
    """
    defaults = RETRIES if file.attempts is None else dict.fromkeys(FailureClass, file.attempts - 1)
    stated_retries = {name: getattr(file.retries, name.value) for name in FailureClass}
    retries = {name: defaults[name] if value is None else value for name, value in stated_retries.items()}
    return retries, 1 + sum(retries.values()) if file.attempts is None else file.attempts


def _load_cluster(file: PlanFile, folder: Path, problems: Problems) -> tuple[Cluster, str]:
    """Return the cluster and its file's text."""
    path = folder / os.path.expanduser(file.cluster)  # noqa: PTH111 - Path's own raises for unknown users
    try:
        document = read_document(path)  # once: it may be a FIFO
        return cluster_of(document, path.parent), document.text
    except SpecificationError as error:
        if error.where != str(path):  # a mistake in the cluster file; otherwise the path in this file is wrong
            raise
        problems.add(("cluster",), f"cluster: {path}: {error.message}")
        problems.raise_if_any()
        raise


def _workloads(file: PlanFile, engines: Sequence[str], workers: int, problems: Problems) -> tuple[WorkloadSpec, ...]:
    workloads = tuple(workload_of(entry, workers) for entry in file.workloads)
    keys: set[str] = set()
    for index, workload in enumerate(workloads):
        if workload.key in keys:
            problems.add(("workloads", index), f"workload {workload.key!r} is given twice; give each a label")
        elif workload.label in workload_catalogue() and workload.label != workload.name:
            problems.add(("workloads", index), f"label {workload.label!r} is the name of another workload")
        supported_engines = workload_catalogue()[workload.name].engines
        if unsupported_engines := [engine for engine in engines if engine not in supported_engines]:
            engine_names = " and ".join(unsupported_engines)
            message = f"{workload.name} has no program for {engine_names}; valid: {', '.join(supported_engines)}"
            problems.add(("workloads", index), message)
        keys.add(workload.key)
        for option in workload_catalogue()[workload.name].wave_options if "waves" in workload.parameters else ():
            if option in workload.parameters or f"{workload.key}.{option}" in file.factors:
                problems.add(("workloads", index), f"waves sets {workload.key}'s {option}; write one of the two")
    return workloads


def _factors(
    file: PlanFile, workloads: tuple[WorkloadSpec, ...], rules: Rules, problems: Problems
) -> tuple[Factor, ...]:
    """Return the factors; a plan that does not vary the layout gets it as its first factor, with one level."""
    factors = tuple(
        Factor(name, tuple(levels), levels if isinstance(levels, dict) else {}) for name, levels in file.factors.items()
    )
    for factor in factors:
        _check_levels(factor, workloads, rules, problems)
    if file.layout is not None and LAYOUT_FACTOR not in file.factors:
        factors = (Factor(LAYOUT_FACTOR, (file.layout,)), *factors)
    names_all_factors = bool(file.only) and all(
        {factor.name for factor in factors} <= only_levels.keys() for only_levels in file.only
    )
    configurations = len(file.only) if names_all_factors else math.prod(len(factor.levels) for factor in factors)
    if configurations > CONFIGURATIONS_MAX:
        message = (
            f"the levels combine to {configurations:,} configurations; at most {CONFIGURATIONS_MAX:,} are possible"
        )
        problems.add(("factors",), message)
    return factors


def _check_levels(factor: Factor, workloads: tuple[WorkloadSpec, ...], rules: Rules, problems: Problems) -> None:
    location: Location = ("factors", factor.name)
    for index, level in enumerate(factor.levels):
        if level in factor.levels[:index]:
            problems.add((*location, index), f"{factor.name}: level {level!r} is given twice")
    if factor.settings:
        if "." in factor.name or factor.name in _RESERVED_FACTORS:
            problems.add(
                location, f"{factor.name}: levels that set several things need a name of your own, without a dot"
            )
        return
    if "." not in factor.name and factor.name not in (*_RESERVED_FACTORS, *setting_names(rules)):
        problems.add(
            location,
            f"{unknown('factor', factor.name, (*_RESERVED_FACTORS, *setting_names(rules)))}, an engine parameter such "
            "as dfs.blocksize, WORKLOAD.option such as terasort.reduces, or a name of your own with levels "
            "that set several of these",
        )
    key, _, option = factor.name.partition(".")
    varied_option = workload_option(factor.name, workloads)
    if varied_option is not None:
        field_format = varied_options(varied_option[0].name)[varied_option[1]]
        for index, level in enumerate(factor.levels):
            try:
                field_format.parse(level)
            except ValueError as error:
                problems.add((*location, index), f"{factor.name}: {error}")
    elif key in (workload.key for workload in workloads) and key in workload_catalogue():
        problems.add(location, unknown(f"option of {key}", option, varied_options(key)))
    elif key in workload_catalogue():
        problems.add(location, f"the plan has no workload {key!r}; it has {', '.join(w.key for w in workloads)}")


def _layouts(file: PlanFile, cluster: Cluster, rules: Rules, problems: Problems) -> dict[str, Layout]:
    """Return the layouts that the plan's runs use; also check layouts that are defined but not used."""
    node_type = cluster.workers[0].type
    layouts: dict[str, Layout] = {}
    for name, section in file.layouts.items():
        if is_layout_code(name):
            problems.add(("layouts", name), f"{name!r} is a layout code; choose another name")
        try:
            parts = section.model_dump(exclude={"policy"})
            layouts[name] = resolve_layout(parts, node_type, name=name, policy=section.policy)
        except SpecificationError as error:
            problems.add(("layouts", name), error.message)
            continue
        if mistake := rules.layout_mistake(layouts[name], node_type):
            problems.add(("layouts", name), mistake)
    used_layouts: dict[str, Layout] = {}
    choices = [*file.layouts, *fitting_codes(node_type)]
    for name, location in _layout_names(file, choices, problems).items():
        if name in file.layouts:
            used_layouts |= {name: layouts[name]} if name in layouts else {}
        elif is_layout_code(name):
            try:
                used_layouts[name] = resolve_layout(name, node_type)
            except SpecificationError as error:
                problems.add(location, error.message)
        else:
            problems.add(location, unknown("layout", name, choices))
    return used_layouts


def _layout_names(file: PlanFile, choices: list[str], problems: Problems) -> dict[str, Location]:
    """Return the names of the layouts that the plan uses, with their locations in the file."""
    levels = list(file.factors.get(LAYOUT_FACTOR, []))
    names: dict[str, Location] = {level: ("factors", LAYOUT_FACTOR, index) for index, level in enumerate(levels)}
    if file.layout is not None:
        if levels:
            problems.add((LAYOUT_FACTOR,), "layout is a factor of this plan; remove this key or the factor")
        names[file.layout] = (LAYOUT_FACTOR,)
    if not names:
        problems.add((), f"the plan needs a layout: as a factor, or 'layout: NAME'; valid: {', '.join(choices)}")
    return names
