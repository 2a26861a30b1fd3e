"""Determine which runs may be compared: levels of a factor, and groups of runs that are equal in everything else.

In: runs. Out: factor names with their levels, and groups. A factor is ``layout``, an engine parameter
(``dfs.blocksize``), or ``WORKLOAD.option`` (``terasort.reduces``). Origins are never in one group.
"""

from collections.abc import Iterable, Sequence

from assay.model import (
    ENGINE_FACTOR,
    LAYOUT_FACTOR,
    TARGETS,
    Meaning,
    Run,
    devices_of_text,
    devices_text,
    parameters_with,
)
from assay.model.clusters import layout_code
from assay.workloads.catalogue import workloads
from assay.workloads.workload import wave_options_of

LAYOUT_PARAMETERS = frozenset(parameters_with(Meaning.DIRECTORIES))
"""Engine parameters that follow from the layout: they differ whenever the layout does."""
FACTOR_SYNONYMS = {
    **dict.fromkeys(("disk", "disks", "storage", "drives", "ssd", "hdd"), LAYOUT_FACTOR),
    **dict.fromkeys(("net", "nic", "link", "ethernet", "infiniband"), "network"),
    **dict.fromkeys(("benchmark", "bench", "job", "program"), "workload"),
    "version": "engine_version",
    "codec": "compression",
}
"""Common words for factors, which error messages map to the factor's name."""
LAYOUT_DEVICES = "layout_devices"
NETWORK_KIND = "network_kind"
SIZE_OPTIONS = (".suite", ".datasize", ".scale")
"""Workload options that state the amount of data, in sources that do not record bytes."""

RESERVED = frozenset(
    {
        "workload",
        "data_bytes",
        "cluster",
        "lab_scale",
        "engine",
        "engine_version",
        "layout",
        "origin",
        "status",
        "cold",
        "plan",
        "campaign_id",
        "anomaly",
        LAYOUT_DEVICES,
        NETWORK_KIND,
    }
)
"""Properties of every run. A factor of the same name is kept as ``level:NAME``."""


_FIELD_FACTORS = (LAYOUT_FACTOR, ENGINE_FACTOR)
"""Factors that are fields of every run, whether its plan varies them or not."""
DEPENDENT_PROPERTIES = {ENGINE_FACTOR: ("engine_version",)}
"""Factor to the properties that differ whenever it does, and need not be equal in a comparison by it."""


def in_order(run: Run) -> tuple[object, ...]:
    """Return the sort key of a run: its start time. Runs without a start time come last, in the order of their file."""
    return not run.started_at, run.started_at, run.campaign_id, run.position, run.run_id


def level_of(run: Run, factor: str) -> str | None:
    """Return the run's level of ``factor``, or None when the factor does not apply to it."""
    if factor in _FIELD_FACTORS:
        return run.layout if factor == LAYOUT_FACTOR else run.engine
    if factor in run.parameters:
        return run.parameters[factor]
    workload, dot, option = factor.partition(".")
    if dot:  # an option of another workload does not apply to this run
        return run.workload_parameters.get(option) if workload == _program(run) else None
    return run.levels.get(factor)


def _program(run: Run) -> str:
    """Return the workload's name, which differs from ``run.workload`` if the plan gave it a label."""
    return run.workload_parameters.get("program", run.workload)


def levels_of(runs: Sequence[Run], factor: str) -> list[str]:
    """Return the levels of ``factor`` in the order in which runs first had them."""
    levels = (level_of(run, factor) for run in sorted(runs, key=in_order))
    return list(dict.fromkeys(level for level in levels if level is not None))


def layout_devices(run: Run) -> str | None:
    """Return the devices that the run's layout has on each worker (see ``layout_code.devices_text``); None: unknown.

    Recorded devices have priority; without them, the devices follow from the layout's code.
    """
    if recorded := run.recorded.layout_devices:
        return devices_text(recorded)
    code = layout_code.parse_name(run.layout)
    return devices_text(code.devices) if code else None


def layouts_on_hard_disks(devices: Iterable[tuple[str | None, str | None]]) -> frozenset[str]:
    """Return the layouts that only use local hard disks, from pairs of a layout and its devices."""
    kinds_by_layout: dict[str, set[str]] = {}
    for layout, text in devices:
        if layout is not None and text is not None:
            kinds_by_layout.setdefault(layout, set()).update(devices_of_text(text))
    return frozenset(layout for layout, device_kinds in kinds_by_layout.items() if device_kinds == {layout_code.HDD})


def factors_of(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return every factor with at least two levels in ``runs``; what follows from the layout is not a factor."""
    names: dict[str, None] = {LAYOUT_FACTOR: None}
    for run in runs:
        names.update(dict.fromkeys(name for name in run.levels if level_of(run, name) is not None))
        names_of_run = [*run.parameters, *(f"{_program(run)}.{option}" for option in run.workload_parameters)]
        names.update(
            dict.fromkeys(name for name in names_of_run if name not in LAYOUT_PARAMETERS | determined_parameters(run))
        )
    levels_by_name = {name: levels_of(runs, name) for name in names}
    return {name: levels for name, levels in levels_by_name.items() if len(levels) > 1}


def determined_parameters(run: Run) -> set[str]:
    """Return the parameters and options that the run's levels and waves determine."""
    names = {name for word, targets in TARGETS.items() if word in run.levels for name in targets}
    if "waves" in run.workload_parameters:
        program = workloads().get(_program(run))
        options = program.wave_options if program else wave_options_of(run.workload_parameters)
        names |= {f"{_program(run)}.{option}" for option in options}
    return names


def matching_factors(run: Run, factor: str) -> dict[str, str]:
    """Return everything that must be equal for a fair comparison by ``factor``, as text by name.

    Parameters that follow from a short name (the memory of ``containers``) and the number of tasks that follows from
    ``waves`` are left out.
    """
    derived_names = (LAYOUT_PARAMETERS if factor == LAYOUT_FACTOR else frozenset()) | determined_parameters(run)
    texts = {
        "workload": run.workload,
        "cluster": run.cluster,
        "engine": run.engine,
        "engine_version": run.engine_version,
        "layout": run.layout,
        "origin": str(run.origin),
        "data_bytes": str(run.data_bytes),
        "lab_scale": str(run.lab_scale),
    }
    levels = {name: level for name, level in run.levels.items() if name not in _FIELD_FACTORS and "." not in name}
    texts |= {f"level:{name}" if name in RESERVED else name: level for name, level in levels.items()}
    texts |= {name: value for name, value in run.parameters.items() if name not in derived_names}
    options = {f"{_program(run)}.{option}": value for option, value in run.workload_parameters.items()}
    texts |= {name: value for name, value in options.items() if name not in derived_names}
    texts.pop(factor, None)
    return {name: text for name, text in texts.items() if name not in DEPENDENT_PROPERTIES.get(factor, ())}
