"""Encode configurations as features for a learner.

In: a table of runs. Out: an :class:`Encoding`, learned once, which returns a matrix of features with one row for each
run. Each level is a feature of 1 or 0. Further features: the number of a numeric level (its logarithm if all are
positive), the number of devices of each kind of a layout, the hardware of a cluster (the values ``cluster.…``), and the
data size over the memory, cores and devices of the cluster. Columns that never differ, or that repeat another column,
are left out. The only column names with a special meaning are workload, cluster and layout.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, Codes, Floats, Ints, Mask, RunTable
from assay.model import Hardware
from assay.model.clusters.instance_type import InstanceType
from assay.model.clusters.layout_code import devices_of_text, parse_name

Features = NDArray[np.float32]
LEVELS_MAX = 60
"""Maximum number of levels of a factor that become features. The most frequent levels are selected."""
NUMBERS_AS_LEVELS_MAX = 16
"""Maximum number of levels of a numeric factor that each become a feature; with more, only the number is a feature."""
NAMES_SHARE, NAMES_RUNS_MIN = 0.5, 20
"""Texts are names of runs, not a factor, if they have more levels than this share of the runs, and at least 20 runs
exist."""
DEVICES = ("hdd", "ssd", "nvme", "remote")
DEVICES_ALL = "devices:all"
"""Feature for the number of devices of all kinds on all workers."""
HARDWARE = "cluster."
"""Prefix of the values that describe the hardware of a run's cluster. ``cluster.FACT=TEXT`` is 1 if the fact has this
text, else 0; other values are numbers."""
WORKERS, CORES, MEMORY = "cluster.workers", "cluster.cores", "cluster.memory_bytes"
INSTANCE_TYPE = f"{HARDWARE}instance_type="
"""Prefix of the features for the instance types of workers."""
TEXT_FACTS_MAX = 30
"""Maximum number of texts of a hardware fact that become features. The most frequent texts are selected."""
TRANSFER_FACTORS = ("workload", "cluster", "layout")
"""Factors for which the model can estimate a level that was never measured, from similar levels."""


@dataclass(frozen=True, slots=True)
class EncodedFactor:
    """One factor with its learned levels."""

    name: str
    levels: tuple[str, ...]
    """All learned levels, the most frequent first."""
    numeric: bool
    low: float
    high: float
    """Smallest and largest number; 0 if the levels are not numbers."""
    varied: bool
    """Whether it is a feature: it has at least two levels, and the workload does not determine it."""
    of_cluster: bool
    """Whether each cluster has exactly one level of it, so that a new cluster may have another."""

    @property
    def feature_levels(self) -> tuple[str, ...]:
        """The levels that are features."""
        levels_max = NUMBERS_AS_LEVELS_MAX if self.numeric else LEVELS_MAX
        return self.levels[:levels_max] if len(self.levels) <= levels_max or not self.numeric else ()


@dataclass(frozen=True, slots=True)
class Encoding:
    """The factors, and the known hardware values."""

    factors: tuple[EncodedFactor, ...]
    hardware: tuple[str, ...]
    hardware_medians: tuple[float, ...]
    """Median feature of each hardware value, assumed for a cluster whose hardware is not recorded."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each feature: the factor's name, or the name of the hardware value or device kind."""
        factor_names: list[str] = []
        for factor in self.factors:
            if factor.varied:
                factor_names += [factor.name] * (len(factor.feature_levels) + (2 if factor.numeric else 0))
        return (*factor_names, *(f"devices:{kind}" for kind in DEVICES), *self.hardware, *self._sums)

    @property
    def _sums(self) -> tuple[str, ...]:
        recorded_values = {WORKERS, CORES, MEMORY} & set(self.hardware)
        sums = [DEVICES_ALL] if WORKERS in recorded_values else []
        sums += [f"all {name}" for name in (CORES, MEMORY) if {WORKERS, name} <= recorded_values]
        has_data_size = any(factor.name == "data_bytes" and factor.varied for factor in self.factors)
        return (*sums, *(f"data per {name}" for name in sums)) if has_data_size else tuple(sums)

    def of_cluster(self) -> Mask:
        """Return which features describe clusters rather than the jobs that run on them."""
        names_of_cluster = {factor.name for factor in self.factors if factor.of_cluster}
        return np.array([name in names_of_cluster or HARDWARE in name or name == DEVICES_ALL for name in self.names])

    def factor(self, name: str) -> EncodedFactor | None:
        """Return a factor by its name; None if no run had it."""
        return next((factor for factor in self.factors if factor.name == name), None)

    def of(self, table: RunTable) -> Features:
        """Return the features of a table's runs. All level features of an unknown level are 0."""
        columns: list[Floats] = []
        for factor in self.factors:
            if factor.varied:
                columns += _factor_features(factor, table)
        devices = devices_of(table)
        columns += [np.where(np.isfinite(count), count, -1.0) for count in devices.values()]
        recorded_values = {name: _hardware_feature(name, table) for name in self.hardware}
        values_and_medians = zip(recorded_values.items(), self.hardware_medians, strict=True)
        hardware = {name: np.where(np.isfinite(value), value, median) for (name, value), median in values_and_medians}
        columns += hardware.values()
        columns += self._sum_features(table, hardware, devices)
        features = np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))
        return np.clip(features, -1e30, 1e30).astype(np.float32)

    def _sum_features(
        self, table: RunTable, hardware: Mapping[str, Floats], devices: Mapping[str, Floats]
    ) -> list[Floats]:
        sums: dict[str, Floats] = {}
        if WORKERS in hardware:
            sums[DEVICES_ALL] = hardware[WORKERS] + _log(np.nansum(np.stack(list(devices.values())), axis=0))
            sums |= {f"all {name}": hardware[WORKERS] + hardware[name] for name in (CORES, MEMORY) if name in hardware}
        data = _log(numbers(table, "data_bytes"))
        features = {**sums, **{f"data per {name}": data - value for name, value in sums.items()}}
        return [np.nan_to_num(features[name], nan=-1.0) for name in self._sums]


def hardware_values(clusters: Sequence[Hardware], instances: Mapping[str, InstanceType]) -> dict[str, Floats]:
    """Return the hardware values of clusters, by name; NaN if not recorded.

    ``instances``: instance types by name. They state what runs on rented workers did not record. The number of local
    disks is increased by 1, so that its logarithm exists for workers without disks.
    """
    hardware_and_types = [(hardware, instances.get(hardware.instance_type)) for hardware in clusters]
    recorded_values: dict[str, Sequence[float | None]] = {
        WORKERS: [hardware.workers for hardware in clusters],
        CORES: [hardware.cores or (instance.vcpus if instance else None) for hardware, instance in hardware_and_types],
        MEMORY: [
            hardware.memory_bytes or (instance.memory_bytes if instance else None)
            for hardware, instance in hardware_and_types
        ],
        f"{HARDWARE}clock_hz": [instance.clock_hz if instance else None for _, instance in hardware_and_types],
        f"{HARDWARE}network_bps": [
            instance.network_bits_per_s if instance else None for _, instance in hardware_and_types
        ],
        f"{HARDWARE}volume_bytes_per_s": [
            instance.volume_bytes_per_s if instance else None for _, instance in hardware_and_types
        ],
        f"{HARDWARE}local_disks": [
            1 + (instance.disks.count if instance.disks else 0) if instance else None
            for _, instance in hardware_and_types
        ],
    }
    values = {
        name: np.array([np.nan if n is None else float(n) for n in facts]) for name, facts in recorded_values.items()
    }
    for fact in ("instance_type", "provider", "service_type"):
        texts = [getattr(hardware, fact) for hardware in clusters]
        frequent_texts = [text for text, _ in Counter(filter(None, texts)).most_common(TEXT_FACTS_MAX)]
        for frequent_text in frequent_texts:
            values[f"{HARDWARE}{fact}={frequent_text}"] = np.array(
                [float(text == frequent_text) if text else np.nan for text in texts]
            )
    return {name: facts for name, facts in values.items() if np.isfinite(facts).any()}


def instance_types_of(table: RunTable) -> tuple[tuple[str, ...], Ints]:
    """Return the names of the hardware values of instance types, and each row's name as a number; -1 if it has none."""
    names = tuple(sorted(name for name in table.values if name.startswith(INSTANCE_TYPE)))
    codes = np.full(len(table), -1)
    for code, name in enumerate(names):
        codes[table.values[name] == 1.0] = code
    return names, codes


def _hardware_feature(name: str, table: RunTable) -> Floats:
    values = table.values.get(name, np.full(len(table), np.nan))
    return values if "=" in name else _log(values)


def _log(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), np.nan)


def number_of(text: str) -> float:
    """Return a level as a number; NaN if it is not a finite number."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def numbers(table: RunTable, name: str) -> Floats:
    """Return a column's levels as numbers; NaN if absent or not a number."""
    column = table.columns.get(name)
    if column is None:
        return np.full(len(table), np.nan)
    column_numbers: Floats = np.array([*(number_of(level) for level in column.levels), np.nan])[column.codes]
    return column_numbers


def devices_of(table: RunTable) -> dict[str, Floats]:
    """Return the number of devices of each kind on a worker, by run; NaN if unknown."""
    layout, recorded_devices = table.columns.get("layout"), table.columns.get(LAYOUT_DEVICES)
    counts = {kind: np.full(len(table), np.nan) for kind in DEVICES}
    if recorded_devices is not None:
        _fill(counts, recorded_devices.codes, [devices_of_text(level) for level in recorded_devices.levels])
    if layout is not None:
        codes = np.where(np.isnan(counts[DEVICES[0]]), layout.codes, ABSENT)
        _fill(counts, codes, [code.devices if (code := parse_name(level)) else None for level in layout.levels])
    return counts


def _fill(
    counts_to_fill: Mapping[str, Floats], codes: Codes, devices: Sequence[Mapping[str, int | None] | None]
) -> None:
    for code, counts in enumerate(devices):
        if counts:
            rows = codes == code
            for kind in DEVICES:
                count = counts.get(kind, 0)
                counts_to_fill[kind][rows] = 1.0 if count is None else count


def _factor_features(factor: EncodedFactor, table: RunTable) -> list[Floats]:
    column = table.columns.get(factor.name)
    if column is None:
        levels = np.full(len(table), "", dtype=object)
    else:
        levels = np.array([*column.levels, ""], dtype=object)[column.codes]
    features = [(levels == level).astype(np.float64) for level in factor.feature_levels]
    if factor.numeric:
        value = numbers(table, factor.name)
        number = _log(value) if factor.low > 0 else value
        features += [np.nan_to_num(number, nan=-1.0), np.isnan(number).astype(np.float64)]
    return features


def learned_encoding(table: RunTable) -> Encoding:
    """Return the encoding of a table's factors and hardware."""
    workloads = table.columns.get("workload")
    factors = []
    for name in distinguishing_factors(table):
        column = table.columns[name]
        counts = np.bincount(column.codes[column.codes != ABSENT], minlength=len(column.levels))
        order = np.argsort(-counts, kind="stable")
        levels = tuple(column.levels[int(code)] for code in order if counts[code])
        if not levels:
            continue
        values = np.array([number_of(level) for level in levels])
        numeric = bool(np.isfinite(values).all()) and name not in TRANSFER_FACTORS
        has_several_levels = len(levels) + bool((column.codes == ABSENT).any()) > 1
        follows_workload = (
            workloads is not None and name not in TRANSFER_FACTORS and _follows(column.codes, workloads.codes)
        )
        clusters = table.columns.get("cluster")
        of_cluster = clusters is not None and name not in TRANSFER_FACTORS and _follows(column.codes, clusters.codes)
        low, high = (float(values.min()), float(values.max())) if numeric else (0.0, 0.0)
        factors.append(
            EncodedFactor(name, levels, numeric, low, high, has_several_levels and not follows_workload, of_cluster)
        )
    hardware = tuple(sorted(n for n, v in table.values.items() if n.startswith(HARDWARE) and bool((v > 0).any())))
    hardware_medians = tuple(float(np.nanmedian(_hardware_feature(name, table))) for name in hardware)
    return Encoding(tuple(factors), hardware, hardware_medians)


def distinguishing_factors(table: RunTable) -> list[str]:
    """Return the factors. Texts that differ in most runs are omitted, because they are names of runs."""
    names = []
    for name in table.factors:
        column = table.columns[name]
        levels = len(np.unique(column.codes))
        is_run_name = (
            levels > NAMES_SHARE * len(table) and name not in TRANSFER_FACTORS and len(table) >= NAMES_RUNS_MIN
        )
        if not is_run_name or all(np.isfinite(number_of(level)) for level in column.levels):
            names.append(name)
    return names


def _follows(codes: Codes, other_codes: Codes) -> bool:
    """Return whether each level of ``other_codes`` occurs with a single level of ``codes``."""
    pairs = len(np.unique(other_codes.astype(np.int64) * (int(codes.max(initial=0)) + 2) + codes + 1))
    return pairs == len(np.unique(other_codes))
