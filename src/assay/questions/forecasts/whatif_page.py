"""What can be asked of measured runs with sliders: which runs there are, and what each control stands at.

In: a repository, or one anchor with the changes so far. Out: places to ask from, and :class:`Control` values in the
names that ``assay whatif --set`` takes. The answer itself is :mod:`assay.questions.forecasts.whatif`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.statistics import RunTable
from assay.execution.engines.hadoop.settings.containers import MAP_MEMORY, containers_per_node
from assay.execution.planning.plan_files.changed_plan import Change, altered, only_run
from assay.foundation.errors import AssayError, RepositoryError
from assay.model import CONTAINERS, Device, Origin, Run, RunStatus
from assay.questions.forecasts.learning import profile_of
from assay.questions.forecasts.whatif import Anchor, Ask, Measured, anchored, measured_of
from assay.questions.runs.runs import selected
from assay.specs.layouts import fitting_codes
from assay.store import Repository

RUNS_MAX = 1000
"""Of how many measured runs, the newest, places are listed."""
_MORE = 8
"""A control ends at so many times what it stands at."""


@dataclass(frozen=True, slots=True)
class AskedFrom:
    """Runs that a question can be anchored on: ``run_id`` is the first of them."""

    run_id: str
    workload: str
    configuration: str
    plan: str
    n: int


@dataclass(frozen=True, slots=True)
class Control:
    """One thing to set: ``name`` and ``unit`` make what ``--set NAME=VALUEunit`` takes."""

    name: str
    title: str
    group: str
    """``cluster``, ``work`` or ``disks``."""
    own: str
    """What was measured, and ``now``: what it stands at."""
    now: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    """Instead of a number."""
    least: float = 1.0
    most: float = 1.0
    whole: bool = True


def places_to_ask_from(store: Repository, table: RunTable) -> tuple[AskedFrom, ...]:
    """Return the measured runs whose plans are kept here, by workload and configuration, the newest first."""
    found = []
    for runs in _by_campaign(_measured(store, table)):
        try:
            found += measured_of(store, runs)
        except AssayError:  # its plan is elsewhere: nothing of it can be asked
            continue
    return tuple(
        AskedFrom(one.runs[0].run_id, one.workload, one.configuration, one.plan.name, len(one.runs)) for one in found
    )


def anchor_of(store: Repository, table: RunTable, run_id: str, ask: Ask) -> Anchor:
    """Return the anchor of the runs that are like one: same campaign, workload and configuration.

    What the workloads cost is learned from that campaign's runs in this configuration alone. Raises RepositoryError
    where there is no such run.
    """
    every = _measured(store, table)
    one = next((run for run in every if run.run_id.startswith(run_id)), None) if run_id else None
    if one is None:
        raise RepositoryError(
            f"there is no valid measured run {run_id[:40]!r} whose plan is kept here",
            where=str(store.root),
            hint="what was measured anchors the answer; `assay runs` lists what there is",
        )
    alike = [run for run in every if run.campaign_id == one.campaign_id and run.levels == one.levels]
    [measured] = measured_of(store, [run for run in alike if run.workload == one.workload])
    return anchored(measured, profile_of(store, alike, "these runs"), ask)


def controls_of(anchor: Anchor, changes: Sequence[Change]) -> tuple[Control, ...]:
    """Return everything that can be slid, chosen or stepped."""
    own = _stands(anchor.measured, ())
    try:
        now = _stands(anchor.measured, changes)
    except AssayError:  # what is asked can't be: the controls stand where they were asked to
        now = own
    asked = dict(changes)
    found = []
    for name, control in own.items():
        text = asked.get(name, now.get(name, control).now)
        text = text.removesuffix(control.unit).strip() if control.unit else text
        choices = now.get(name, control).choices
        found.append(
            Control(
                name,
                control.title,
                control.group,
                control.own,
                text,
                control.unit,
                tuple(dict.fromkeys([*choices, text])) if choices else (),
                control.least,
                control.most,
                control.whole,
            )
        )
    return tuple(found)


def _measured(store: Repository, table: RunTable) -> list[Run]:
    wanted = (("origin", Origin.MEASURED), ("status", RunStatus.VALID))
    if not len(table) or any(str(level) not in table.columns[name].levels for name, level in wanted):
        return []
    known = selected(table, [f"{name}={level}" for name, level in wanted])
    return store.runs_at(known, range(max(0, len(known) - RUNS_MAX), len(known)))[::-1]


def _by_campaign(runs: Sequence[Run]) -> list[list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.campaign_id, []).append(run)
    return list(found.values())


def _stands(measured: Measured, changes: Sequence[Change]) -> dict[str, Control]:
    """Return the controls at what a configuration with these changes has."""
    plan = altered(measured.plan, measured.levels, measured.workload, changes)
    run = only_run(plan)
    configuration, cluster = run.configuration, plan.cluster
    worker = cluster.workers[0].type
    link = cluster.link_bits_per_s(configuration.network) if configuration.network else worker.nic.rate_bits_per_s
    if configuration.network:
        link /= cluster.scale
    layout, fitting = configuration.layout.name, _codes(fitting_codes(worker))
    layouts = tuple(dict.fromkeys([*fitting, *measured.plan.layouts]))
    at_once = float(containers_per_node(configuration.parameters, MAP_MEMORY))
    controls = [
        Control("layout", "Storage layout", "disks", layout, layout, "", layouts),
        *(one for group, device in _groups(worker.devices).items() for one in _disk(group, *device)),
        _number("workers.count", "Workers", "cluster", float(configuration.workers or len(cluster.workers)), ""),
        _number("nic", "Network per node", "cluster", link / 1e9, "Gbit/s", whole=False),
        _number("worker.cores", "Cores of a worker", "cluster", float(worker.cores), ""),
        _number("worker.cpu.speed", "Speed of a core", "cluster", worker.cpu_speed, "", whole=False),
        *(
            [_number(CONTAINERS, "Containers on a worker", "work", at_once, "")]
            if CONTAINERS in plan.rules.words
            else []
        ),
        _number("data", "Data", "work", run.workload.data_bytes / 1e9, "GB", whole=False),
    ]
    return {control.name: control for control in controls}


def _codes(texts: Sequence[str]) -> list[str]:
    """Return layout codes one by one, of ranges such as ``HD2-HD5`` too."""
    found = []
    for text in texts:
        first, dash, last = text.partition("-")
        stem = first.rstrip("0123456789")
        found += [f"{stem}{n}" for n in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)] if dash else [text]
    return found


def _groups(devices: Sequence[Device]) -> Mapping[str, tuple[Device, int]]:
    """Return each kind of disk by its name without number, with how many there are."""
    found: dict[str, tuple[Device, int]] = {}
    for device in devices:
        group = device.name.rstrip("0123456789")
        found[group] = (device, found.get(group, (device, 0))[1] + 1)
    return found


def _disk(group: str, device: Device, count: int) -> list[Control]:
    name = f"worker.devices.{group}"
    return [
        _number(f"{name}.count", f"{group}: how many", "disks", float(count), ""),
        _number(f"{name}.read", f"{group}: reads", "disks", device.read_bytes_per_s / 1e6, "MB/s", whole=False),
        _number(f"{name}.write", f"{group}: writes", "disks", device.write_bytes_per_s / 1e6, "MB/s", whole=False),
    ]


def _number(name: str, title: str, group: str, value: float, unit: str, *, whole: bool = True) -> Control:
    text = f"{value:.6g}"
    least = 1.0 if whole else value / _MORE
    return Control(name, title, group, text, text, unit, (), float(f"{least:.3g}"), max(least, value * _MORE), whole)
