"""Check whether a price book still prices a cluster after a change of its hardware.

In: a price book, and a cluster before and after changes. Out: the parts of the changed cluster that the book lacks,
with the reason why; empty if it prices the cluster.

A book prices the described hardware. More of a part is priced if the part has a separate price (per node, worker,
device or GB). Another processor, link or disk is not priced. A price of a whole cluster does not apply to a cluster
with more nodes.
"""

from collections import Counter
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
    """The number in words: ``9 more``, ``13 nodes, 12 of them workers``; or what the book and the cluster have."""
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
    missing = "; it ".join(part.reason for part in parts)
    return f"price book {book.name!r} {missing}" if missing else ""


def missing_prices_of(book: PriceBook, before: PricedCluster, after: PricedCluster) -> tuple[MissingPrice, ...]:
    """Return the parts of ``after`` that ``book`` lacks, given that it prices ``before``.

    Raises SpecificationError if the book has no bill for ``after`` at all.
    """
    items = [line.item for line in bill_of_materials(book, after.counts, after.layout.name)]
    if prices_new_types(book, before, after):
        return ()
    parts = (
        _other_machine(before.cluster, after.cluster),
        _other_network(items, before, after),
        _other_size(items, before, after),
        _other_devices(items, before, after),
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
    return bool(new_types) and new_types <= {item.node_type for item in book.items if item.unit == "node"}


def _other_machine(before: Cluster, after: Cluster) -> MissingPrice | None:
    types_before = {node.type.name: node.type for node in before.nodes}
    for type_after in {node.type.name: node.type for node in after.nodes}.values():
        type_before = types_before.get(type_after.name)
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


def size_of_book(book: PriceBook, state: PricedCluster) -> MissingPrice | None:
    """Return how many workers the cluster has more than a price of a whole cluster covers; None for the same number.

    Raises SpecificationError if the book has no bill for the cluster.
    """
    items = [line.item for line in bill_of_materials(book, state.counts, state.layout.name)]
    return _other_size(items, state, state, "measured")


def _other_size(
    items: list[LineItem], before: PricedCluster, after: PricedCluster, cluster_word: str = "changed"
) -> MissingPrice | None:
    """Return the added workers if a price of the whole cluster covers parts of nodes, and is for another number.

    The price is for the number that it states, or else for the number before the changes. ``cluster_word`` names
    ``after`` in words.
    """
    whole_cluster_items = [item for item in items if item.unit in _WHOLE_CLUSTER and WORKERS_FACTOR not in item.when]
    workers = len(after.cluster.workers)
    stated_workers = next((item.workers for item in whole_cluster_items if item.workers is not None), None)
    sizes = [Counter((node.type.name, node.roles) for node in state.cluster.nodes) for state in (before, after)]
    if workers == stated_workers or (stated_workers is None and sizes[0] == sizes[1]):
        return None
    priced_per_part = _covered([item for item in items if item not in whole_cluster_items], items)
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


def _other_devices(items: list[LineItem], before: PricedCluster, after: PricedCluster) -> MissingPrice | None:
    devices_before = {
        (node.type.name, device.name): device for node in before.cluster.nodes for device in node.type.devices
    }
    kinds_priced_singly = _covered([item for item in items if item.unit in DEVICE_UNITS], items)
    kinds_priced_by_capacity = _covered([item for item in items if item.unit == "GB"], items)
    for node in after.cluster.workers:
        for device in node.type.devices:
            if device.name not in after.layout.devices():
                continue
            kind, device_before = str(device.kind), devices_before.get((node.type.name, device.name))
            if device_before is None and not kinds_priced_singly & {kind, "devices"}:
                reason = f"has no price for one more {kind} device: {_BY_PART}"
                added = _device_count(after, kind) - _device_count(before, kind)
                return MissingPrice(f"{kind} device", added, _added(added), reason)
            if device_before is None or device_before == device:
                continue
            if _without_capacity(device_before) != _without_capacity(device) or not kinds_priced_by_capacity & {
                kind,
                "devices",
            }:
                reason = f"prices the described {kind} devices, not devices with other figures"
                count = _device_count(after, kind)
                return MissingPrice(f"upgrade of an {kind} device", count, plural(count, "device"), reason)
    return None


def _device_count(state: PricedCluster, kind: str) -> int:
    """Return the number of devices of a kind that the layout uses, on all workers."""
    used_names = state.layout.devices()
    devices = [device for node in state.cluster.workers for device in node.type.devices if device.name in used_names]
    return sum(str(device.kind) == kind for device in devices)


def _covered(items: list[LineItem], applicable_items: list[LineItem]) -> set[str]:
    return set().union(*(covered_parts(item, applicable_items) for item in items))


def _without_capacity(device: Device) -> Device:
    return replace(device, capacity_bytes=0)
