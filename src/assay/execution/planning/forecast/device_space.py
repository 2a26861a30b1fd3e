"""Check whether a plan fits on its devices: every layout keeps its inputs, and layouts share devices. Pure.

In: claims (bytes of all copies on all workers after the lab's scale, with their directories) and a worker's capacities
in bytes. Out: the fill of each device of a worker, if bytes spread evenly over workers and directories as HDFS and YARN
intend; and data that can't fit, regardless of how they spread. Inputs are kept (docs/adr, decision 4), so all of them
count. Outputs and intermediate data exist only during their run, so only the largest counts. The engine's rules state
how much uncompressed intermediate data exists at the same time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.execution.planning.forecast.inputs import datasets_after, size_of
from assay.execution.planning.order import PlannedRun
from assay.foundation.units import format_bytes
from assay.model import Cluster, Directories, Layout, Placement, Plan
from assay.workloads.catalogue import workloads

FULL_SHARE = 0.98
"""Maximum fill of a device, as a share. HDFS checksums add 0.8 %, and NodeManagers reject a disk that is 99 % full."""
_LISTED_MAX = 4
"""Maximum number of devices, or of file systems, that a message lists."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes that are spread evenly over directories. ``directories``: number of directories by device."""

    directories: Mapping[str, int]
    bytes: float

    def on(self, device: str) -> float:
        """Return the bytes on ``device``, summed over all workers."""
        return self.bytes * self.directories.get(device, 0) / sum(self.directories.values())


@dataclass(frozen=True, slots=True)
class SpaceClaim:
    """The space that one data set takes on the first ``workers`` workers."""

    what: str
    file_system: str
    workers: int
    hdfs: tuple[Part, ...]
    intermediate: Part | None = None

    def on(self, device: str) -> float:
        """Return the bytes on ``device`` of one used worker."""
        parts = (*self.hdfs, *([self.intermediate] if self.intermediate else []))
        return sum(part.on(device) for part in parts) / self.workers


@dataclass(frozen=True, slots=True)
class DeviceUsage:
    """A device of a worker and the bytes on it: stored data by file system, and the largest temporary data."""

    device: str
    capacity_bytes: float
    kept_bytes: Mapping[str, float]
    passing_bytes: float
    passing: str

    @property
    def needed_bytes(self) -> float:
        """The largest number of bytes needed at the same time."""
        return sum(self.kept_bytes.values()) + self.passing_bytes


@dataclass(frozen=True, slots=True)
class Shortage:
    """HDFS data, with all replicas, that do not fit on the only devices that may hold them."""

    devices: tuple[str, ...]
    workers: int
    needed_bytes: float
    capacity_bytes: float


@dataclass(frozen=True, slots=True)
class Claims:
    """The space that a plan's runs need: for data kept between runs, and for temporary data of each run."""

    kept: tuple[SpaceClaim, ...]
    passing: tuple[SpaceClaim, ...]


def filled(claims: Claims, capacities: Mapping[str, float]) -> list[DeviceUsage]:
    """Return the fill of each device on a worker that all ``claims`` use, for example the first worker."""
    devices_filled: list[DeviceUsage] = []
    for device, capacity_bytes in capacities.items():
        kept: dict[str, float] = {}
        for claim in claims.kept:
            if on := claim.on(device):
                kept[claim.file_system] = kept.get(claim.file_system, 0.0) + on
        most = max(claims.passing, key=lambda claim: claim.on(device), default=None)
        passing_bytes = most.on(device) if most else 0.0
        what = f"{most.what} on {most.file_system}" if most and passing_bytes else ""
        devices_filled.append(DeviceUsage(device, capacity_bytes, kept, passing_bytes, what))
    return devices_filled


def shortage(claims: Claims, capacities: Mapping[str, float]) -> Shortage | None:
    """Return data that can't fit, regardless of how HDFS spreads them; None if all may fit. Intermediate data do not
    count.

    For each set of devices on the first workers, all data that can be stored only there must fit (Hall's condition).
    Data that do not fit even alone are skipped: their first run fails at once, not after hours.
    """
    parts = [(claim, part) for claim in (*claims.kept, *claims.passing) for part in claim.hdfs if part.bytes > 0]
    targets = dict.fromkeys((frozenset(part.directories), claim.workers) for claim, part in parts)
    if targets:
        targets[frozenset().union(*(devices for devices, _ in targets)), max(count for _, count in targets)] = None
    for devices, workers in sorted(targets, key=lambda target: (len(target[0]), target[1])):
        kept = [_inside(claim, devices, workers) for claim in claims.kept]
        passing = max((_inside(claim, devices, workers) for claim in claims.passing), default=0.0)
        needed_bytes = sum(kept) + passing
        room_bytes = workers * sum(capacities[device] for device in devices)
        several = sum(bytes_ > 0 for bytes_ in (*kept, passing)) > 1
        if several and needed_bytes > room_bytes:
            return Shortage(tuple(name for name in capacities if name in devices), workers, needed_bytes, room_bytes)
    return None


def _inside(claim: SpaceClaim, devices: frozenset[str], workers: int) -> float:
    if claim.workers > workers:
        return 0.0
    return sum(part.bytes for part in claim.hdfs if devices.issuperset(part.directories))


def claims_of(plan: Plan, runs: Iterable[PlannedRun]) -> Claims:
    """Return the space that ``runs`` need; an input that several runs use counts once."""
    kept: dict[tuple[str, str], SpaceClaim] = {}
    passing: dict[tuple[str, str], SpaceClaim] = {}
    for run in {run.key[:2]: run for run in runs}.values():
        kept.update(_kept_claims(run, plan))
        for claim in _passing_claims(run, plan):
            before = passing.get((claim.file_system, claim.what))
            if before is None or _total(claim) > _total(before):
                passing[claim.file_system, claim.what] = claim
    return Claims(tuple(kept.values()), tuple(passing.values()))


def _total(claim: SpaceClaim) -> float:
    return sum(part.bytes for part in (*claim.hdfs, *([claim.intermediate] if claim.intermediate else [])))


def _kept_claims(run: PlannedRun, plan: Plan) -> Iterator[tuple[tuple[str, str], SpaceClaim]]:
    layout, workers = run.configuration.layout, _workers(run, plan)
    for stored in datasets_after(run, plan):
        hdfs = _hdfs(layout, plan, stored.data_bytes, stored.copies)
        yield stored.key, SpaceClaim(f"{stored.name}'s data", stored.key[0], workers, hdfs)


def _passing_claims(run: PlannedRun, plan: Plan) -> Iterator[SpaceClaim]:
    """Yield the space that the run needs during its execution, and the space for sorting its input."""
    layout, workers = run.configuration.layout, _workers(run, plan)
    where = plan.rules.file_system(run.configuration, plan.cluster)
    size, stays = size_of(run, plan), datasets_after(run, plan)
    workload = workloads()[run.workload.name]
    rules = plan.rules_of(run.configuration)
    data_bytes, flow, moved = workload.data_bytes(size), workload.flow, workload.data_moved(size, rules.name)
    # An iteration's output is deleted when the next output is written.
    output = min(moved.written, 2 * flow.written)
    if stays and not stays[-1].made_before:
        output = 0
    hdfs = _hdfs(layout, plan, data_bytes * output, workload.output_copies(size))
    shuffled_bytes = rules.intermediate_bytes(data_bytes * flow.shuffled, data_bytes * moved.shuffled)
    if output or shuffled_bytes:
        yield SpaceClaim(run.workload.key, where, workers, hdfs, Part(_counts(layout.intermediate), shuffled_bytes))
    for kept_output in stays:
        if kept_output.is_sorted:
            what = f"making the input of {run.workload.key}"
            # Hadoop sorts it if the provider includes Hadoop.
            sorting = plan.rules.intermediate_bytes(kept_output.data_bytes, kept_output.data_bytes)
            yield SpaceClaim(what, where, workers, (), Part(_counts(layout.intermediate), sorting))


def _workers(run: PlannedRun, plan: Plan) -> int:
    return run.configuration.workers or len(plan.cluster.workers)


def _counts(directories: Iterable[Directories]) -> dict[str, int]:
    return {part.device: part.count for part in directories}


def _hdfs(layout: Layout, plan: Plan, data_bytes: float, copies: int) -> tuple[Part, ...]:
    """Return the directories that store the copies."""
    shares = plan.rules.spread(layout, plan.cluster.workers[0].type, copies)
    return tuple(Part(_counts(directories), data_bytes * count) for directories, count in shares)


def refusal(plan: Plan, left: Iterable[PlannedRun]) -> str | None:
    """Return why a call that makes all of ``left`` runs out of space; None if the runs may fit.

    A local cluster is never refused, because its devices may be larger than described. Outputs count only if runs are
    repeated: all inputs exist by the second repetition.
    """
    runs = list(left)
    if plan.cluster.placement is Placement.LOCAL:
        return None
    claims = claims_of(plan, runs)
    if len({run.repetition for run in runs}) < 2:
        claims = Claims(claims.kept, ())
    missing = shortage(claims, _capacities(plan.cluster, largest=True))
    if missing is None:
        return None
    return (
        f"the plan does not fit on its devices: {format_bytes(missing.capacity_bytes)} on "
        f"{_listed(missing.devices)} of {missing.workers} workers{_at_scale(plan.cluster)}, and the inputs that its "
        f"layouts keep there take {format_bytes(missing.needed_bytes)}, all copies and the largest output included"
    )


def warnings(plan: Plan, runs: Iterable[PlannedRun]) -> list[str]:
    """Return a warning for each device that gets full: by how much and with which data."""
    nearly_full = filled(claims_of(plan, runs), _capacities(plan.cluster, largest=False))
    alike: dict[str, list[str]] = {}
    for device in nearly_full:
        if device.needed_bytes > device.capacity_bytes * FULL_SHARE:
            alike.setdefault(_needs(device, plan.cluster), []).append(device.device)
    lines = [f"no room: {_listed(devices)} of a worker {need}" for need, devices in alike.items()]
    return [*lines, f"remedies: {remedy(plan.cluster)}"] if lines else []


def remedy(cluster: Cluster) -> str:
    """Return changes that may make a plan fit, as text."""
    if cluster.placement is Placement.LAB:
        return (
            "less data, fewer copies (dfs.replication), more capacity in the cluster file; or a call for each layout, "
            "with --only layout=NAME: a lab made for a call starts empty"
        )
    return (
        "less data, fewer copies (dfs.replication), or fewer layouts that share a device; inputs stay on the hosts, "
        "those of earlier plans too: docs/explanation/campaigns.md, Room, says how to remove them"
    )


def _needs(device: DeviceUsage, cluster: Cluster) -> str:
    kept = sum(device.kept_bytes.values())
    largest = sorted(device.kept_bytes.items(), key=lambda item: -item[1])
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in largest[:_LISTED_MAX])
    more = f", {len(largest) - _LISTED_MAX} more" if len(largest) > _LISTED_MAX else ""
    stay = f"inputs that stay take {format_bytes(kept)} ({parts}{more})" if kept else "no inputs stay"
    passing = (
        f", {device.passing} up to {format_bytes(device.passing_bytes)} more while it runs" if device.passing else ""
    )
    needed, has = format_bytes(device.needed_bytes), format_bytes(device.capacity_bytes)
    return f"would have to hold {needed} but has {has}{_at_scale(cluster)}: {stay}{passing}"


def _at_scale(cluster: Cluster) -> str:
    return " at the lab's scale" if cluster.placement is Placement.LAB else ""


def _listed(devices: Sequence[str]) -> str:
    more = f" and {len(devices) - _LISTED_MAX} more" if len(devices) > _LISTED_MAX else ""
    return ", ".join(devices[:_LISTED_MAX]) + more


def _capacities(cluster: Cluster, *, largest: bool) -> dict[str, float]:
    """Return each device's capacity after the lab's scale: the smallest, or largest, of any worker."""
    capacities: dict[str, float] = {}
    for node in cluster.workers:
        for device in node.type.devices:
            capacity_bytes = device.capacity_bytes * cluster.scale
            other = capacities.get(device.name, capacity_bytes)
            capacities[device.name] = max(capacity_bytes, other) if largest else min(capacity_bytes, other)
    return capacities
