"""List the measured runs that a what-if question can start from, and the controls that change them.

In: a repository, or an anchor with the changes so far. Out: :class:`AnchorChoice` values, and :class:`Control` values
with the names that ``assay whatif --set`` takes. :mod:`assay.questions.forecasts.whatif.whatif` answers the question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.statistics import RunTable
from assay.execution.planning.plan_files.changed_plan import Change
from assay.foundation.errors import AssayError
from assay.model import CONTAINERS, Device, DeviceKind
from assay.questions.forecasts.measured import Measured, measured_of, measured_runs
from assay.questions.forecasts.whatif.whatif import Anchor
from assay.specs.layouts import fitting_codes
from assay.store import Repository
from assay.text import capitalised

_NOUNS = {DeviceKind.HDD: "hard disk", DeviceKind.SSD: "SSD", DeviceKind.NVME: "NVMe drive"}
_CONTROL_MULTIPLE_MAX = 8
"""Maximum of a control, as a multiple of its present value."""


@dataclass(frozen=True, slots=True)
class AnchorChoice:
    """Runs that a question can start from. ``run_id``: the first of them."""

    run_id: str
    workload: str
    configuration: str
    plan: str
    n: int


@dataclass(frozen=True, slots=True)
class Control:
    """One value to set. ``name`` and ``unit`` are those of ``--set NAME=VALUEunit``."""

    name: str
    title: str
    group: str
    """``cluster``, ``work`` or ``disks``."""
    measured: str
    """The measured value. ``now``: the present value."""
    now: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    """Possible values; empty for a number."""
    least: float = 1.0
    most: float = 1.0
    whole: bool = True


def anchor_choices(repository: Repository, table: RunTable, cluster: str = "") -> tuple[AnchorChoice, ...]:
    """Return the measured runs whose plans are stored, by campaign, workload and configuration, oldest first.

    ``cluster``: text of a cluster file to use instead of the stored files.
    """
    if not len(table):
        return ()
    groups, _ = measured_of(repository, measured_runs(repository, table), cluster)
    return tuple(
        AnchorChoice(group.runs[0].run_id, group.workload, group.configuration, group.plan.name, len(group.runs))
        for group in groups
    )


def controls_of(anchor: Anchor, changes: Sequence[Change]) -> tuple[Control, ...]:
    """Return the controls, with the present changes."""
    measured = _controls(anchor.measured, ())
    try:
        changed = _controls(anchor.measured, changes)
    except AssayError:  # impossible changes: the controls still show them
        changed = measured
    values = dict(changes)
    controls = []
    for name, control in measured.items():
        current_value = changed.get(name, control).now
        text = values.get(name, current_value)
        if not control.choices and name in changed and name in values and current_value != control.measured:
            text = current_value  # ``25GbE`` is 25 in a field of Gbit/s
        text = text.removesuffix(control.unit).strip() if control.unit else text
        choices = changed.get(name, control).choices
        controls.append(
            Control(
                name=name,
                title=control.title,
                group=control.group,
                measured=control.measured,
                now=text,
                unit=control.unit,
                choices=tuple(dict.fromkeys([*choices, text])) if choices else (),
                least=control.least,
                most=control.most,
                whole=control.whole,
            )
        )
    return tuple(controls)


def _controls(measured: Measured, changes: Sequence[Change]) -> dict[str, Control]:
    """Return the controls with the values of a configuration with these changes."""
    configuration_of_changes = measured.configured(changes)
    run, cluster = configuration_of_changes.run, configuration_of_changes.plan.cluster
    worker, configuration = cluster.workers[0].type, run.configuration
    layout, fitting_layouts = configuration.layout.name, _codes(fitting_codes(worker))
    layouts = tuple(dict.fromkeys([*fitting_layouts, *measured.plan.layouts]))
    containers = configuration_of_changes.containers
    data_title = "Data at full scale" if cluster.lab else "Data"
    controls = [
        Control("layout", "Storage layout", "disks", layout, layout, "", layouts),
        *_disks(worker.devices),
        _number("workers.count", "Workers", "cluster", float(configuration_of_changes.workers), ""),
        _number(
            "nic",
            "Network per node",
            "cluster",
            configuration_of_changes.link_bits_per_s / 1e9,
            "Gbit/s",
            is_whole_number=False,
        ),
        _number("worker.cores", "Cores of a worker", "cluster", float(worker.cores), ""),
        _number("worker.cpu.speed", "Speed of a core", "cluster", worker.cpu_speed, "", is_whole_number=False),
        *(
            [_number(CONTAINERS, "Containers on a worker", "work", float(containers), "")]
            if containers is not None
            else []
        ),
        _number("data", data_title, "work", run.workload.data_bytes / 1e9, "GB", is_whole_number=False),
    ]
    return {control.name: control for control in controls}


def _codes(texts: Sequence[str]) -> list[str]:
    """Return single layout codes; ``HD2-HD5`` becomes four."""
    codes = []
    for text in texts:
        first, dash, last = text.partition("-")
        stem = first.rstrip("0123456789")
        codes += [f"{stem}{n}" for n in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)] if dash else [text]
    return codes


def _groups(devices: Sequence[Device]) -> Mapping[str, tuple[Device, int]]:
    """Return each group of disks by its name without number, with the number of disks."""
    groups: dict[str, tuple[Device, int]] = {}
    for device in devices:
        group = device.name.rstrip("0123456789")
        groups[group] = (device, groups.get(group, (device, 0))[1] + 1)
    return groups


def _disks(devices: Sequence[Device]) -> list[Control]:
    """Return the controls of each group of disks. The group's name distinguishes several groups of one kind."""
    groups = _groups(devices)
    kinds = [device.kind for device, _ in groups.values()]
    controls = []
    for group, (device, count) in groups.items():
        name, noun = f"worker.devices.{group}", _NOUNS[device.kind]
        group_text = f" ({group})" if kinds.count(device.kind) > 1 else ""
        rates = (("read", device.read_bytes_per_s), ("write", device.write_bytes_per_s))
        controls.append(
            _number(f"{name}.count", f"{capitalised(noun)}s per worker{group_text}", "disks", float(count), "")
        )
        controls += [
            _number(
                f"{name}.{way}",
                capitalised(f"{noun} {way} rate{group_text}"),
                "disks",
                rate / 1e6,
                "MB/s",
                is_whole_number=False,
            )
            for way, rate in rates
        ]
    return controls


def _number(name: str, title: str, group: str, value: float, unit: str, *, is_whole_number: bool = True) -> Control:
    text = f"{value:.6g}"
    value_min = 1.0 if is_whole_number else value / _CONTROL_MULTIPLE_MAX
    return Control(
        name=name,
        title=title,
        group=group,
        measured=text,
        now=text,
        unit=unit,
        choices=(),
        least=float(f"{value_min:.3g}"),
        most=max(value_min, value * _CONTROL_MULTIPLE_MAX),
        whole=is_whole_number,
    )
