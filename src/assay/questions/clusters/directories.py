"""Choose the number of directories on each device of a worker, and predict how the devices fill.

In: a cluster, its baseline if there is one, and the devices for HDFS and for intermediate data. Out: a
:class:`DirectoryPlan`. Bytes are per worker, at full scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from assay.analysis.devices.directories import (
    Bandwidth,
    DeviceFill,
    DirectorySplit,
    DirectoryUse,
    available_space,
    bandwidths,
    fill,
    split,
)
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes, format_percent
from assay.model import Cluster, Device, DeviceBaseline
from assay.specs.fields import unknown
from assay.store import Repository

REPLICATION_USUAL = 3


@dataclass(frozen=True, slots=True)
class DirectoryRequest:
    """The devices to split, and the data that they hold."""

    hdfs: tuple[str, ...] | None = None
    """Names of devices; None: all. The same for ``intermediate``."""
    intermediate: tuple[str, ...] | None = None
    replication: int | None = None
    """Replicas in HDFS; None: three, or the number of workers if that is less."""
    intermediate_ratio: float = 1.0
    """Bytes of intermediate data for each byte of data."""
    data_bytes: float | None = None
    directories_max: int = 16
    """Maximum number of directories on one device."""
    difference: float = 0.10
    """Maximum relative difference of the bandwidths per directory."""


@dataclass(frozen=True, slots=True)
class DirectoryPlan:
    """The directories of each device, and how the devices fill."""

    bandwidths_from: str
    devices: tuple[Device, ...]
    rates: Mapping[str, Bandwidth]
    hdfs: DirectorySplit
    intermediate: DirectorySplit
    difference: float
    replication: int
    ratio: float
    data_bytes: float | None
    fill: DeviceFill
    used: Mapping[str, float]
    warnings: tuple[str, ...]


def newest_baseline(repository: Repository, cluster: str) -> Path | None:
    """Return the file of the newest baseline among the runs on ``cluster``; None without one."""
    runs = [run for run in repository.runs(environment=False) if run.cluster == cluster and run.baseline_id]
    newest = max(runs, key=lambda run: run.started_at, default=None)
    return repository.bundle_path(newest.run_id) / "baseline.json" if newest else None


def read_baseline(path: Path, cluster: str) -> DeviceBaseline:
    """Return the baseline in a file. Raises SpecificationError if it is not a baseline, or not of ``cluster``."""
    try:
        baseline = msgspec.json.decode(path.read_bytes(), type=DeviceBaseline)
    except OSError as error:
        raise SpecificationError(f"the baseline can't be read: {error.strerror}", where=str(path)) from None
    except msgspec.MsgspecError as error:
        raise SpecificationError(
            f"this is not a baseline: {error}", where=str(path), hint="write one with: assay baseline CLUSTER --json"
        ) from None
    if baseline.cluster != cluster:
        raise SpecificationError(f"this is a baseline of {baseline.cluster!r}, not of {cluster!r}", where=str(path))
    return baseline


def _chosen_devices(option: str, requested_names: Sequence[str] | None, devices: Sequence[Device]) -> Sequence[str]:
    device_names = [device.name for device in devices]
    if requested_names is None:
        return device_names
    for word in requested_names:
        if word not in device_names:
            raise SpecificationError(unknown("device", word, device_names), where=option)
        if requested_names.count(word) > 1:
            raise SpecificationError(f"device {word!r} is given twice", where=option)
    if not requested_names:
        raise SpecificationError(f"a device is needed; valid: {', '.join(device_names)}", where=option)
    return requested_names


def directory_plan(cluster: Cluster, baseline: DeviceBaseline | None, request: DirectoryRequest) -> DirectoryPlan:
    """Split the devices of a worker in proportion to their bandwidth, from the baseline or else the specification."""
    devices = cluster.workers[0].type.devices
    rates = bandwidths(cluster, baseline)
    hdfs, intermediate = (
        split(
            {name: rates[name].bytes_per_s for name in _chosen_devices(f"--{part}", names, devices)},
            error=request.difference,
            directories_max=request.directories_max,
        )
        for part, names in (("hdfs", request.hdfs), ("intermediate", request.intermediate))
    )
    replication = request.replication or min(REPLICATION_USUAL, len(cluster.workers))
    uses = [
        DirectoryUse(hdfs.directories, replication),
        DirectoryUse(intermediate.directories, request.intermediate_ratio),
    ]
    capacities = {d.name: float(d.capacity_bytes) for d in devices if any(d.name in u.directories for u in uses)}
    fill_result = fill(capacities, uses)
    source = (
        f"the baseline of {baseline.measured_at}" if baseline else "the specification, because no baseline was measured"
    )
    plan = DirectoryPlan(
        bandwidths_from=source if baseline else f"{source} (assay baseline, or a run's)",
        devices=tuple(d for d in devices if d.name in capacities),
        rates=rates,
        hdfs=hdfs,
        intermediate=intermediate,
        difference=request.difference,
        replication=replication,
        ratio=request.intermediate_ratio,
        data_bytes=request.data_bytes,
        fill=fill_result,
        used=fill_result.used_bytes(request.data_bytes or 0.0, capacities, uses),
        warnings=(),
    )
    return replace(
        plan, warnings=(*_imbalance_warnings(plan), *_filling_warnings(plan), *_policy_warnings(plan, cluster))
    )


def _imbalance_warnings(plan: DirectoryPlan) -> list[str]:
    """Return warnings about bandwidths that still differ, or that were not measured."""
    warnings = [
        f"{part}: with this maximum of directories, bandwidths per directory still differ by "
        f"{format_percent(directories.imbalance)}; raise --directories-max"
        for part, directories in (("hdfs", plan.hdfs), ("intermediate", plan.intermediate))
        if directories.imbalance > plan.difference + 1e-9
    ]
    unmeasured_devices = [device.name for device in plan.devices if not plan.rates[device.name].measured]
    if unmeasured_devices and len(unmeasured_devices) < len(plan.devices):
        warnings.append(f"the baseline lacks {', '.join(unmeasured_devices)}: the specified bandwidth is used")
    return warnings


def _filling_warnings(plan: DirectoryPlan) -> list[str]:
    """Return warnings about devices that fill before others, and about data that do not fit."""
    warnings = []
    order = list(plan.fill.full_after_bytes.items())
    first = {name for name, at in order if at <= order[0][1] * (1 + 1e-9)} if order else set()
    if first and len(first) < len(plan.devices):
        first_full_bytes, capacity_bytes = order[0][1], plan.fill.room_bytes
        verb = "fills" if len(first) == 1 else "fill"
        fills = f"{', '.join(sorted(first))} {verb} first, after {format_bytes(first_full_bytes)}"
        others_continue = capacity_bytes > first_full_bytes * (1 + 1e-9)
        consequence = (
            f"after that the others take all data, at their speed, up to {format_bytes(capacity_bytes)}"
            if others_continue
            else "then HDFS or intermediate data have no space left, even if other devices have some"
        )
        warnings.append(f"{fills} of data per node; {consequence}")
    if plan.data_bytes is not None and plan.data_bytes > plan.fill.room_bytes:
        room_text = format_bytes(plan.fill.room_bytes)
        warnings.append(f"{format_bytes(plan.data_bytes)} per node do not fit: there is room for {room_text}")
    return warnings


def _policy_warnings(plan: DirectoryPlan, cluster: Cluster) -> list[str]:
    """Return a warning where HDFS's AvailableSpaceVolumeChoosingPolicy would undo the split."""
    policy = available_space(plan.devices, plan.hdfs.directories, cluster.scale)
    if not policy.preferred:
        return []
    total = sum(plan.hdfs.directories.values())
    share_of_split = sum(plan.hdfs.directories[name] for name in policy.preferred) / total
    share_of_policy = sum(policy.shares[name] for name in policy.preferred)
    return [
        "HDFS's AvailableSpaceVolumeChoosingPolicy (dfs.datanode.fsdataset.volume.choosing.policy) would undo the "
        f"split: {', '.join(policy.preferred)} with more free space would get {format_percent(share_of_policy)} of the "
        f"blocks instead of {format_percent(share_of_split)}"
    ]
