"""Format the titles of workloads, columns, levels, runs, scales, origins and versions."""

import re
from collections.abc import Iterable, Mapping

from assay.foundation.units import format_bytes
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, PARAMETER_TITLES, Meaning, Origin, Run, parameters_with
from assay.text.codes import layout_text, network_text
from assay.text.language import plural
from assay.text.numbers import NO_VALUE
from assay.workloads.catalogue import known_name, workloads

COLUMN_TITLES = {
    "workload": "Workload",
    "layout": "Storage layout",
    "device_class": "Storage class",
    "network": "Network",
    "cluster": "Cluster",
    "status": "Status",
    "origin": "Origin",
    "cold": "Caches",
    "anomaly": "Outlier",
    "plan": "Plan",
    "campaign_id": "Campaign",
    "duration_s": "Time (s)",
    "started_unix_s": "Started (UTC)",
    "data_bytes": "Data",
    "lab_scale": "Lab scale",
    "engine": "Engine",
    "engine_version": "Engine version",
    "disks": "Disks per worker",
    "workers": "Workers",
    "containers": "Containers per worker",
    "layout_devices": "Devices of the layout",
    "duration_low_s": "Lower end of the time (s)",
    "duration_high_s": "Upper end of the time (s)",
    **PARAMETER_TITLES,
}
_SOURCE_TITLES = {"bayes": "Bayes", "hivebench_agregation": "Hive aggregation", "hivebench_join": "Hive join"}
"""Titles of HiBench's workloads in ALOJA's tables (with its spelling) that assay does not run."""
_NONE = "none"
"""The level of a factor that a configuration does not have."""
_RUN_ID_LENGTH = 13
"""Length of the displayed part of an id, in characters."""
_BINARY_SIZES = parameters_with(Meaning.BLOCK_SIZE, Meaning.BUFFER_SIZE)
"""Parameters whose sizes are shown in binary units."""


def workload_title(name: str, context: str = "") -> str:
    """Return a workload's title, with ``context`` in brackets to distinguish workloads of the same name.

    A workload that assay neither runs nor knows from ALOJA has the name from its plan or source.
    """
    workload = workloads().get(known_name(name))
    title = workload.title if workload else _SOURCE_TITLES.get(name, name)
    return f"{title} ({context})" if context else title


def scale_text(scale: float) -> str:
    """Return a lab's scale as a fraction: ``1/20``."""
    return f"1/{1 / scale:g}" if scale < 1 else "1"


def data_text(data_bytes: float, lab_scale: float | None) -> str:
    """Return a run's data size. For a lab, the size at full scale comes first: ``4 GB (200 MB in the lab, 1/20)``."""
    if lab_scale is None:
        return format_bytes(data_bytes)
    full_size = format_bytes(data_bytes / lab_scale)
    return f"{full_size} ({format_bytes(data_bytes)} in the lab, {scale_text(lab_scale)})"


def origin_text(origin: Origin, lab_scale: float | None) -> str:
    """Return where a number comes from: ``measured in a lab at scale 1/20``."""
    return f"{origin.value} in a lab at scale {scale_text(lab_scale)}" if lab_scale is not None else origin.value


def origins_text(pairs: Iterable[tuple[Origin, float | None]]) -> str:
    """Return every distinct origin, joined."""
    return "; ".join(dict.fromkeys(origin_text(origin, scale) for origin, scale in pairs)) or NO_VALUE


def assay_version(run: Run) -> str:
    """Return the version of assay that made the run, or a dash when it is not recorded."""
    return run.recorded.assay_version or NO_VALUE


def workload_named(text: str, names: Iterable[str]) -> str:
    """Return the workload in ``names`` whose name or title equals ``text``, ignoring case.

    Other texts are returned unchanged.
    """
    distinct_names = list(dict.fromkeys(names))
    if text in distinct_names:
        return text
    folded_text = text.casefold()
    folded_name = known_name(text).casefold()
    matching_names = [
        n
        for n in distinct_names
        if n.casefold() in (folded_text, folded_name) or folded_text == workload_title(n).casefold()
    ]
    return matching_names[0] if len(matching_names) == 1 else text


def run_id_text(run_id: str) -> str:
    """Return the displayed part of the id of a run or campaign."""
    return run_id[:_RUN_ID_LENGTH]


def column_title(name: str) -> str:
    """Return a column's title, or its name if it has none. The title of columns such as ``sort.suite`` is ``suite``."""
    return COLUMN_TITLES.get(name, "suite" if name.endswith(".suite") else name)


def level_text(name: str, level: str) -> str:
    """Return a column's level as shown to users."""
    if name == "workload":
        return workload_title(level)
    if name == LAYOUT_FACTOR:
        return layout_text(level)
    if name == NETWORK_FACTOR:
        return network_text(level)
    if name == "campaign_id":
        return run_id_text(level)
    if name == "lab_scale":
        return scale_text(float(level)) if re.fullmatch(r"[0-9.]+", level) else f"{level}: full size"
    if name == "data_bytes" and level.isdecimal():
        return format_bytes(int(level))
    if name in _BINARY_SIZES:
        return _binary(int(level)) if level.isdecimal() else re.sub(r"^(\d+)([KMG]i?B)$", r"\1 \2", level)
    return level.rpartition(".")[2] if name.endswith(".codec") else level


def settings_text(levels: Mapping[str, str]) -> str:
    """Return factors with their levels as text, without factors that the configuration lacks."""
    return ", ".join(
        f"{column_title(name)} {level_text(name, level)}" for name, level in levels.items() if level != _NONE
    )


def levels_text(levels: Mapping[str, str]) -> str:
    """Return levels in words without the names of their factors: ``1 SSD (SSD), InfiniBand, m1000-01``."""
    return ", ".join(level_text(name, level) for name, level in levels.items())


def setting_text(setting: str) -> str:
    """Return ``dfs.blocksize 67108864`` as shown to users: ``HDFS block size 64 MiB``."""
    name, _, level = setting.partition(" ")
    return f"{column_title(name)} {level_text(name, level)}"


def _binary(size: int) -> str:
    """Return a size in the largest binary unit of which it is a whole multiple: ``64 MiB``."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >> shift and not size % (1 << shift):
            return f"{size >> shift} {unit}"
    return format_bytes(size)


def origin_badge(name: str, lab_scale: str | float | None) -> str:
    """Return the origin of numbers in short: ``measured, lab 1/20``."""
    return f"{name}, lab {scale_text(float(lab_scale))}" if lab_scale else name


def outlier_runs_text(number: int) -> str:
    """Return how many runs are outliers, as the beginning of a sentence."""
    subject = plural(number, "run is an outlier of its", "runs are outliers of their")
    return f"{subject} configuration (`assay anomalies` says why)"
