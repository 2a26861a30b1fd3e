"""Check whether a price book still prices a cluster after a change of its hardware.

In: a price book, and a cluster before and after changes. Out: the parts of the changed cluster that the book lacks,
with the reason why; empty if it prices the cluster.

A book prices the described hardware. More of a part is priced if the part has a separate price (per node, worker,
device or GB) above 0: a price of 0 says that another item pays for the described number. Another processor, memory,
link or disk is priced only if the book names it. A price of a whole cluster does not apply to another number of nodes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.analysis.cost.parts import Counts
from assay.analysis.cost.prices import DEVICE_UNITS, bill_of_materials, covered_parts
from assay.model import NETWORK_FACTOR, WORKERS_FACTOR, Cluster, Device, Layout, LineItem, PriceBook
from assay.text import plural

_WHOLE_CLUSTER = ("cluster", "device-set")
"""Units that are paid once, for any number of workers."""
NETWORK_PART = "network per node"
"""Name of the part for another network. Its price is the network's extra cost per node."""
WORKER_PART = "worker"
"""Name of the part for workers that a price of a whole cluster does not cover."""
WORKER_CHOICE, MEMORY_CHOICE = "worker", "memory"
"""Choices of a hardware catalogue that an item can name with ``when``: the type of worker, and its memory."""
_BY_PART = "price the parts: per worker or node, per device, per port"


@dataclass(frozen=True, slots=True)
class PricedCluster:
    """The nodes in use in one configuration, and their priced parts."""

    cluster: Cluster
    layout: Layout
    network: str | None
    """The network that the plan selects; None: the nodes' own links."""
    counts: Counts


@dataclass(frozen=True, slots=True)
class MissingPrice:
    """A part of a changed cluster that a price book lacks."""

    name: str
    """The priced part: ``worker``, ``network per node``."""
    count: int
    """Number of these parts that the change adds; negative for removed parts."""
    count_text: str
    """The number in words: ``9 more``, ``13 nodes, 12 of them workers``; or the numbers in the book and the cluster."""
    reason: str
    """What the book prices instead."""
    price: float | None = None
    """Stated price of one part, in the book's currency; None: unknown."""


def why_unpriced(book: PriceBook, before: PricedCluster, after: PricedCluster) -> str:
    """Return why ``book`` does not price ``after``, given that it prices ``before``; empty if it does.

    Raises SpecificationError if the book has no bill for ``after`` at all.
    """
    return reason_of(book, missing_prices_of(book, before, after))


def reason_of(book: PriceBook, parts: tuple[MissingPrice, ...]) -> str:
    """Return why ``book`` does not price the parts; empty without parts."""
    reasons = "; it ".join(part.reason for part in parts)
    return f"price book {book.name!r} {reasons}" if reasons else ""


def missing_prices_of(book: PriceBook, before: PricedCluster, after: PricedCluster) -> tuple[MissingPrice, ...]:
    """Return the parts of ``after`` that ``book`` lacks, given that it prices ``before``.

    Raises SpecificationError if the book has no bill for ``after`` at all.
    """
    items = [line.item for line in bill_of_materials(book, after.counts, after.layout.name)]
    if prices_new_types(book, before, after):
        return ()
    items_before = [line.item for line in bill_of_materials(book, before.counts, before.layout.name)]
    parts = (
        _other_machine(items, before.cluster, after.cluster),
        _other_network(items, before, after),
        _other_size(items, before, after),
        _other_devices([*items, *items_before], before, after),
    )
    return tuple(part for part in parts if part is not None)


def network_price(before: PricedCluster, after: PricedCluster, reason: str) -> MissingPrice:
    """Return the missing price of the network of ``after``, for each node, in addition to that of ``before``."""
    nodes = len(after.cluster.nodes)
    link_bits_per_s = before.cluster.workers[0].type.nic.rate_bits_per_s
    if before.network is not None:
        link_bits_per_s = before.cluster.link_bits_per_s(before.network) / before.cluster.scale
    text = (
        f"{plural(nodes, 'node')}, {len(after.cluster.workers)} of them workers; in addition to the "
        f"{link_bits_per_s / 1e9:g} Gbit/s that the price book includes"
    )
    return MissingPrice(NETWORK_PART, nodes, text, reason)


def _added(count: int) -> str:
    return f"{abs(count)} {'more' if count >= 0 else 'fewer'}"


def prices_new_types(book: PriceBook, before: PricedCluster, after: PricedCluster) -> bool:
    """Return whether the workers have types that ``before`` lacks, and ``book`` names each of them.

    It then prices them as they are, with their disks and links.
    """
    new_types = {node.type.name for node in after.cluster.workers} - {node.type.name for node in before.cluster.nodes}
    return bool(new_types) and new_types <= named_types(book)


def named_types(book: PriceBook) -> set[str]:
    """Return the node types that the book prices by name."""
    of_nodes = {item.node_type for item in book.items if item.unit == "node" and item.node_type is not None}
    return of_nodes.union(*(item.when.get(WORKER_CHOICE, ()) for item in book.items))


def _other_machine(items: list[LineItem], before: Cluster, after: Cluster) -> MissingPrice | None:
    prices_memory = any(MEMORY_CHOICE in item.when for item in items)
    types_before = {node.type.name: node.type for node in before.nodes}
    for type_after in {node.type.name: node.type for node in after.nodes}.values():
        type_before = types_before.get(type_after.name)
        if type_before is not None and prices_memory:
            type_before = replace(type_before, memory_bytes=type_after.memory_bytes)
        if type_before is None or (type_before.cores, type_before.memory_bytes, type_before.cpu_speed) != (
            type_after.cores,
            type_after.memory_bytes,
            type_after.cpu_speed,
        ):
            reason = f"prices the described nodes of type {type_after.name}, not nodes with other processors or memory"
            count = sum(node.type.name == type_after.name for node in after.nodes)
            return MissingPrice(f"upgrade of a {type_after.name}", count, plural(count, "node"), reason)
    return None


def _other_network(items: list[LineItem], before: PricedCluster, after: PricedCluster) -> MissingPrice | None:
    links = [
        (
            state.cluster.racks,
            state.cluster.link_bits_per_s(state.network),
            {node.type.nic for node in state.cluster.nodes},
        )
        for state in (before, after)
    ]
    if links[0] == links[1] or (before.network != after.network and any(NETWORK_FACTOR in item.when for item in items)):
        return None
    reason = "prices the described network, not another one"
    if after.network is not None and after.network != before.network:
        reason = (
            f"prices the described network, not {after.network}: add an item with when: "
            f"{{{NETWORK_FACTOR}: [{after.network}]}}"
        )
    return network_price(before, after, reason)


def missing_price_of_size(book: PriceBook, state: PricedCluster) -> MissingPrice | None:
    """Return the workers that a price of a whole cluster does not cover; None if it is for this number of workers.

    Raises SpecificationError if the book has no bill for the cluster.
    """
    items = [line.item for line in bill_of_materials(book, state.counts, state.layout.name)]
    return _other_size(items, state, state, "measured")


def _other_size(
    items: list[LineItem], before: PricedCluster, after: PricedCluster, cluster_word: str = "changed"
) -> MissingPrice | None:
    """Return the added workers if a price of the whole cluster covers parts of nodes for another number of workers.

    That number is the one that the price states, or else the number before the changes. ``cluster_word`` names
    ``after`` in words.
    """
    whole_cluster_items = [
        item for item in items if item.unit in _WHOLE_CLUSTER and WORKERS_FACTOR not in item.when and _costs(item)
    ]
    if not whole_cluster_items:
        return None
    workers = len(after.cluster.workers)
    stated_workers = next((item.workers for item in whole_cluster_items if item.workers is not None), None)
    sizes = [Counter((node.type.name, node.roles) for node in state.cluster.nodes) for state in (before, after)]
    if workers == stated_workers or (stated_workers is None and sizes[0] == sizes[1]):
        return None
    priced_per_part = _parts_covered_by([item for item in items if item not in whole_cluster_items], items)
    needed_parts = {"workers"} if "devices" in priced_per_part else {"workers", *after.counts.layout_devices}
    if needed_parts <= priced_per_part:
        return None
    names = ", ".join(item.name for item in whole_cluster_items)
    size_text = "" if stated_workers is None else f" with {plural(stated_workers, 'worker')}"
    reason = f"prices a whole cluster{size_text} ({names}), not one with {plural(workers, 'worker')}: {_BY_PART}"
    added = workers - (len(before.cluster.workers) if stated_workers is None else stated_workers)
    text = _added(added)
    if stated_workers is not None:
        priced_workers = plural(stated_workers, "worker")
        text = f"the price book prices {priced_workers}, the {cluster_word} cluster has {workers}"
    return MissingPrice(WORKER_PART, added, text, reason)


def device_part(kind: str) -> str:
    """Return the name of the part for added or removed disks of a kind."""
    return f"{kind} device"


def _other_devices(items: list[LineItem], before: PricedCluster, after: PricedCluster) -> MissingPrice | None:
    """Return the first kind of disks that are added, removed or changed without a price; None if all have one.

    A swap of disks has the price of the kind that has one, unless it adds more disks without a price than it removes.
    """
    kinds_priced_singly = _parts_covered_by(
        [item for item in items if item.unit in DEVICE_UNITS and _costs(item)], items
    )
    kinds_priced_singly |= _parts_covered_by([item for item in items if item.layouts], items)
    kinds_priced_by_capacity = _parts_covered_by([item for item in items if item.unit == "GB"], items)
    devices_before, devices_after = (
        {(node.type.name, device.name): device for node in state.cluster.nodes for device in node.type.devices}
        for state in (before, after)
    )
    added, removed = _new_kinds(after, devices_before), _new_kinds(before, devices_after)
    unpriced_added, unpriced_removed = (
        [kind for kind in kinds if not kinds_priced_singly & {kind, "devices"}] for kinds in (added, removed)
    )
    is_swap = len(removed) >= len(added) and len(unpriced_removed) < len(removed)
    kind, word = "", ""
    if unpriced_added and not is_swap:
        kind, word = unpriced_added[0], "more"
    elif unpriced_removed and len(unpriced_added) == len(added):
        kind, word = unpriced_removed[0], "less"
    if kind:
        number = _device_count(after, kind) - _device_count(before, kind)
        reason = f"has no price for one {word} {kind} device: {_BY_PART}"
        return MissingPrice(device_part(kind), number, _added(number), reason)
    if (unused := _unused_added(after, devices_before)) is not None:
        return unused
    for key, device in devices_after.items():
        device_before, kind = devices_before.get(key), str(device.kind)
        if device_before is None or device_before == device or device.name not in after.layout.devices():
            continue
        is_same = _without_capacity(device_before) == _without_capacity(device)
        if not is_same or not kinds_priced_by_capacity & {kind, "devices"}:
            reason = f"prices the described {kind} devices, not devices with other figures"
            count = _device_count(after, kind)
            return MissingPrice(f"upgrade of an {kind} device", count, plural(count, "device"), reason)
    return None


def _new_kinds(state: PricedCluster, other_devices: Mapping[tuple[str, str], Device]) -> list[str]:
    """Return the kinds of disks that the layout uses and that ``other_devices`` lacks, by node type and name."""
    used_names = state.layout.devices()
    return [
        str(device.kind)
        for node in state.cluster.workers
        for device in node.type.devices
        if device.name in used_names and (node.type.name, device.name) not in other_devices
    ]


def _unused_added(after: PricedCluster, devices_before: Mapping[tuple[str, str], Device]) -> MissingPrice | None:
    """Return the first kind of added disks that the layout does not use: the book prices the disks of the layout."""
    used_names = after.layout.devices()
    kinds = [
        str(device.kind)
        for node in after.cluster.workers
        for device in node.type.devices
        if device.name not in used_names and (node.type.name, device.name) not in devices_before
    ]
    if not kinds:
        return None
    reason = f"prices the disks of the layout {after.layout.name}, not added {kinds[0]} devices that it does not use"
    number = kinds.count(kinds[0])
    return MissingPrice(device_part(kinds[0]), number, f"{_added(number)}, which the layout does not use", reason)


def _device_count(state: PricedCluster, kind: str) -> int:
    """Return the number of devices of a kind that the layout uses, on all workers."""
    used_names = state.layout.devices()
    devices = [device for node in state.cluster.workers for device in node.type.devices if device.name in used_names]
    return sum(str(device.kind) == kind for device in devices)


def _costs(item: LineItem) -> bool:
    """Return whether an item costs anything. A price of 0 says that another item pays for the part."""
    return bool(item.amount or item.high)


def _parts_covered_by(items: list[LineItem], applicable_items: list[LineItem]) -> set[str]:
    return set().union(*(covered_parts(item, applicable_items) for item in items))


def _without_capacity(device: Device) -> Device:
    return replace(device, capacity_bytes=0)
