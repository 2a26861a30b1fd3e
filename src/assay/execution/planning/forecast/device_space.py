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
class SpreadBytes:
    """Bytes that are spread evenly over directories. ``directories``: number of directories by device."""

    directories: Mapping[str, int]
    bytes: float

    def bytes_on(self, device: str) -> float:
        """Return the bytes on ``device``, summed over all workers."""
        return self.bytes * self.directories.get(device, 0) / sum(self.directories.values())


@dataclass(frozen=True, slots=True)
class SpaceClaim:
    """The space that one data set takes on the first ``workers`` workers."""

    description: str
    file_system: str
    workers: int
    hdfs: tuple[SpreadBytes, ...]
    intermediate: SpreadBytes | None = None

    def bytes_on(self, device: str) -> float:
        """Return the bytes on ``device`` of one used worker."""
        parts = (*self.hdfs, *([self.intermediate] if self.intermediate else []))
        return sum(part.bytes_on(device) for part in parts) / self.workers


@dataclass(frozen=True, slots=True)
class DeviceUsage:
    """A device of a worker and the bytes on it: stored data by file system, and the largest temporary data."""

    device: str
    capacity_bytes: float
    stored_bytes: Mapping[str, float]
    temporary_bytes: float
    temporary_description: str

    @property
    def needed_bytes(self) -> float:
        """The largest number of bytes needed at the same time."""
        return sum(self.stored_bytes.values()) + self.temporary_bytes


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

    stored: tuple[SpaceClaim, ...]
    temporary: tuple[SpaceClaim, ...]


def device_usages(claims: Claims, capacities: Mapping[str, float]) -> list[DeviceUsage]:
    """Return the fill of each device on a worker that all ``claims`` use, for example the first worker."""
    usages: list[DeviceUsage] = []
    for device, capacity_bytes in capacities.items():
        stored_bytes: dict[str, float] = {}
        for claim in claims.stored:
            if claim_bytes := claim.bytes_on(device):
                stored_bytes[claim.file_system] = stored_bytes.get(claim.file_system, 0.0) + claim_bytes
        largest_claim = max(claims.temporary, key=lambda claim: claim.bytes_on(device), default=None)
        temporary_bytes = largest_claim.bytes_on(device) if largest_claim else 0.0
        temporary_name = (
            f"{largest_claim.description} on {largest_claim.file_system}" if largest_claim and temporary_bytes else ""
        )
        usages.append(DeviceUsage(device, capacity_bytes, stored_bytes, temporary_bytes, temporary_name))
    return usages


def shortage(claims: Claims, capacities: Mapping[str, float]) -> Shortage | None:
    """Return data that can't fit, regardless of how HDFS spreads them; None if all may fit. Intermediate data do not
    count.

    For each set of devices on the first workers, all data that can be stored only there must fit (Hall's condition).
    Data that do not fit even alone are skipped: their first run fails at once, not after hours.
    """
    parts = [(claim, part) for claim in (*claims.stored, *claims.temporary) for part in claim.hdfs if part.bytes > 0]
    targets = dict.fromkeys((frozenset(part.directories), claim.workers) for claim, part in parts)
    if targets:
        targets[frozenset().union(*(devices for devices, _ in targets)), max(count for _, count in targets)] = None
    for devices, workers in sorted(targets, key=lambda target: (len(target[0]), target[1])):
        stored_bytes = [_bytes_only_on(claim, devices, workers) for claim in claims.stored]
        temporary_bytes = max((_bytes_only_on(claim, devices, workers) for claim in claims.temporary), default=0.0)
        needed_bytes = sum(stored_bytes) + temporary_bytes
        room_bytes = workers * sum(capacities[device] for device in devices)
        needs_sharing = sum(bytes_ > 0 for bytes_ in (*stored_bytes, temporary_bytes)) > 1
        if needs_sharing and needed_bytes > room_bytes:
            return Shortage(tuple(name for name in capacities if name in devices), workers, needed_bytes, room_bytes)
    return None


def _bytes_only_on(claim: SpaceClaim, devices: frozenset[str], workers: int) -> float:
    if claim.workers > workers:
        return 0.0
    return sum(part.bytes for part in claim.hdfs if devices.issuperset(part.directories))


def claims_of(plan: Plan, runs: Iterable[PlannedRun]) -> Claims:
    """Return the space that ``runs`` need; an input that several runs use counts once."""
    stored: dict[tuple[str, str], SpaceClaim] = {}
    temporary: dict[tuple[str, str], SpaceClaim] = {}
    for run in {run.key[:2]: run for run in runs}.values():
        stored.update(_stored_claims(run, plan))
        for claim in _temporary_claims(run, plan):
            previous_claim = temporary.get((claim.file_system, claim.description))
            if previous_claim is None or _total(claim) > _total(previous_claim):
                temporary[claim.file_system, claim.description] = claim
    return Claims(tuple(stored.values()), tuple(temporary.values()))


def _total(claim: SpaceClaim) -> float:
    return sum(part.bytes for part in (*claim.hdfs, *([claim.intermediate] if claim.intermediate else [])))


def _stored_claims(run: PlannedRun, plan: Plan) -> Iterator[tuple[tuple[str, str], SpaceClaim]]:
    layout, workers = run.configuration.layout, _workers(run, plan)
    for dataset in datasets_after(run, plan):
        hdfs = _hdfs(layout, plan, dataset.data_bytes, dataset.copies)
        yield dataset.key, SpaceClaim(f"{dataset.name}'s data", dataset.key[0], workers, hdfs)


def _temporary_claims(run: PlannedRun, plan: Plan) -> Iterator[SpaceClaim]:
    """Yield the space that the run needs during its execution, and the space for sorting its input."""
    layout, workers = run.configuration.layout, _workers(run, plan)
    file_system = plan.rules.file_system(run.configuration, plan.cluster)
    size, datasets = size_of(run, plan), datasets_after(run, plan)
    workload = workloads()[run.workload.name]
    rules = plan.rules_of(run.configuration)
    data_bytes, flow, moved_share = workload.data_bytes(size), workload.flow, workload.data_moved(size, rules.name)
    # An iteration's output is deleted when the next output is written.
    output_share = min(moved_share.written, 2 * flow.written)
    if datasets and not datasets[-1].made_before:
        output_share = 0
    hdfs = _hdfs(layout, plan, data_bytes * output_share, workload.output_copies(size))
    shuffled_bytes = rules.intermediate_bytes(data_bytes * flow.shuffled, data_bytes * moved_share.shuffled)
    if output_share or shuffled_bytes:
        yield SpaceClaim(
            run.workload.key, file_system, workers, hdfs, SpreadBytes(_counts(layout.intermediate), shuffled_bytes)
        )
    for dataset in datasets:
        if dataset.is_sorted:
            description = f"making the input of {run.workload.key}"
            # Hadoop sorts it if the provider includes Hadoop.
            sorting_bytes = plan.rules.intermediate_bytes(dataset.data_bytes, dataset.data_bytes)
            yield SpaceClaim(
                description, file_system, workers, (), SpreadBytes(_counts(layout.intermediate), sorting_bytes)
            )


def _workers(run: PlannedRun, plan: Plan) -> int:
    return run.configuration.workers or len(plan.cluster.workers)


def _counts(directories: Iterable[Directories]) -> dict[str, int]:
    return {part.device: part.count for part in directories}


def _hdfs(layout: Layout, plan: Plan, data_bytes: float, copies: int) -> tuple[SpreadBytes, ...]:
    """Return the directories that store the copies."""
    shares = plan.rules.spread(layout, plan.cluster.workers[0].type, copies)
    return tuple(SpreadBytes(_counts(directories), data_bytes * count) for directories, count in shares)


def refusal(plan: Plan, remaining_runs: Iterable[PlannedRun]) -> str | None:
    """Return why a call that makes all of ``remaining_runs`` runs out of space; None if the runs may fit.

    A local cluster is never refused, because its devices may be larger than described. Outputs count only if runs are
    repeated: all inputs exist by the second repetition.
    """
    runs = list(remaining_runs)
    if plan.cluster.placement is Placement.LOCAL:
        return None
    claims = claims_of(plan, runs)
    if len({run.repetition for run in runs}) < 2:
        claims = Claims(claims.stored, ())
    missing_space = shortage(claims, _capacities(plan.cluster, largest=True))
    if missing_space is None:
        return None
    return (
        f"the plan does not fit on its devices: {format_bytes(missing_space.capacity_bytes)} on "
        f"{_list_text(missing_space.devices)} of {missing_space.workers} workers{_scale_text(plan.cluster)}, and the "
        f"inputs that its layouts keep there take {format_bytes(missing_space.needed_bytes)}, all copies and the "
        "largest output included"
    )


def warnings(plan: Plan, runs: Iterable[PlannedRun]) -> list[str]:
    """Return a warning for each device that gets full: by how much and with which data."""
    usages = device_usages(claims_of(plan, runs), _capacities(plan.cluster, largest=False))
    devices_by_need: dict[str, list[str]] = {}
    for usage in usages:
        if usage.needed_bytes > usage.capacity_bytes * FULL_SHARE:
            devices_by_need.setdefault(_need_text(usage, plan.cluster), []).append(usage.device)
    lines = [f"no room: {_list_text(devices)} of a worker {need}" for need, devices in devices_by_need.items()]
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
        "also the inputs of earlier plans; docs/explanation/campaigns.md "
        "says how to remove them"
    )


def _need_text(usage: DeviceUsage, cluster: Cluster) -> str:
    stored_bytes = sum(usage.stored_bytes.values())
    items_by_size = sorted(usage.stored_bytes.items(), key=lambda item: -item[1])
    listed_parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in items_by_size[:_LISTED_MAX])
    more_text = f", {len(items_by_size) - _LISTED_MAX} more" if len(items_by_size) > _LISTED_MAX else ""
    stored_text = (
        f"inputs that stay take {format_bytes(stored_bytes)} ({listed_parts}{more_text})"
        if stored_bytes
        else "no inputs stay"
    )
    temporary_text = (
        f", {usage.temporary_description} up to {format_bytes(usage.temporary_bytes)} more while it runs"
        if usage.temporary_description
        else ""
    )
    needed_text, capacity_text = format_bytes(usage.needed_bytes), format_bytes(usage.capacity_bytes)
    return (
        f"would have to hold {needed_text} but has {capacity_text}{_scale_text(cluster)}: {stored_text}{temporary_text}"
    )


def _scale_text(cluster: Cluster) -> str:
    return " at the lab's scale" if cluster.placement is Placement.LAB else ""


def _list_text(devices: Sequence[str]) -> str:
    more_text = f" and {len(devices) - _LISTED_MAX} more" if len(devices) > _LISTED_MAX else ""
    return ", ".join(devices[:_LISTED_MAX]) + more_text


def _capacities(cluster: Cluster, *, largest: bool) -> dict[str, float]:
    """Return each device's capacity after the lab's scale: the smallest, or largest, of any worker."""
    capacities: dict[str, float] = {}
    for node in cluster.workers:
        for device in node.type.devices:
            capacity_bytes = device.capacity_bytes * cluster.scale
            previous_bytes = capacities.get(device.name, capacity_bytes)
            capacities[device.name] = (
                max(capacity_bytes, previous_bytes) if largest else min(capacity_bytes, previous_bytes)
            )
    return capacities
