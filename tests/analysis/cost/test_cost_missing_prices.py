"""Test that a price book prices only the hardware that it describes."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from assay.analysis.cost.missing_prices import PricedCluster, why_unpriced
from assay.analysis.cost.parts import Counts
from assay.model import (
    Cluster,
    Device,
    DeviceKind,
    Directories,
    Layout,
    LineItem,
    Nic,
    Node,
    NodeType,
    Placement,
    PriceBook,
    Racks,
    Role,
)


def _device(name: str, kind: DeviceKind = DeviceKind.HDD, **fields: object) -> Device:
    return replace(Device(name, kind, 1e8, 1e8, None, None, 10**12), **fields)  # type: ignore[arg-type]


SERVER = NodeType("server", 8, 64 * 10**9, (_device("hdd1"), _device("hdd2")), Nic(1e10))


def _priced(
    kind: NodeType = SERVER, workers: int = 3, network: str | None = None, **cluster_fields: object
) -> PricedCluster:
    nodes = [Node("m", kind, frozenset({Role.MASTER}))]
    nodes += [Node(f"w{number}", kind, frozenset({Role.WORKER})) for number in range(workers)]
    layout = Layout(
        "all disks", tuple(Directories(device.name) for device in kind.devices), (Directories(kind.devices[0].name),)
    )
    device_counts: dict[str, int] = {}
    for device in kind.devices:
        device_counts[str(device.kind)] = device_counts.get(str(device.kind), 0) + 1
    counts = Counts(
        nodes=workers + 1,
        masters=1,
        workers=workers,
        layout_devices=device_counts,
        device_names={device.name: str(device.kind) for device in kind.devices},
        node_types={"server": workers + 1},
        capacity_bytes=sum(device.capacity_bytes for device in kind.devices),
        levels={"network": network} if network else {},
    )
    cluster = replace(Cluster("c", Placement.SSH, tuple(nodes)), **cluster_fields)  # type: ignore[arg-type]
    return PricedCluster(cluster, layout, network, counts)


def _item(per: str, device: str | None = None, **fields: object) -> LineItem:
    return LineItem(per, Decimal(100), per, device, **fields)  # type: ignore[arg-type]


WHOLE = (_item("cluster-hour"),)
PARTS = (_item("node-hour"), _item("device-hour", "hdd"))
BY_GB = (_item("node-hour"), _item("GB-hour", "hdd"))
SWITCH = (_item("cluster-hour", covers=("network",)), _item("worker-hour"), _item("master-hour"), *PARTS[1:])
ONCE = (_item("node-hour"), _item("device-set-hour", "hdd"))
NETWORKS = (
    *PARTS,
    _item("port-hour", when={"network": ("10Gbit/s",)}),
    _item("port-hour", when={"network": ("25Gbit/s",)}),
)


def _with_devices(*devices: Device) -> NodeType:
    return replace(SERVER, devices=devices)


@pytest.mark.parametrize(
    ("items", "after", "words"),
    [
        (WHOLE, _priced(), ""),
        (WHOLE, _priced(workers=12), "prices a whole cluster (cluster-hour), not one with 12 workers"),
        (WHOLE, _priced(workers=2), "prices a whole cluster"),
        (PARTS, _priced(workers=12), ""),
        (BY_GB, _priced(workers=12), ""),
        (SWITCH, _priced(workers=12), ""),
        (ONCE, _priced(workers=12), "prices a whole cluster (device-set-hour)"),
        (PARTS, _priced(replace(SERVER, cores=16)), "not nodes with other processors or memory"),
        (PARTS, _priced(replace(SERVER, memory_bytes=10**12)), "not nodes with other processors or memory"),
        (PARTS, _priced(replace(SERVER, cpu_speed=2.0)), "not nodes with other processors or memory"),
        (PARTS, _priced(replace(SERVER, nic=Nic(2.5e10))), "prices the described network"),
        (PARTS, _priced(racks=Racks(2, 1e10)), "prices the described network"),
        (PARTS, _priced(network="25Gbit/s"), "not 25Gbit/s: add an item with when: {network: [25Gbit/s]}"),
        (WHOLE, _priced(workers=12, network="25Gbit/s"), "network: [25Gbit/s]}; it prices a whole cluster"),
        (NETWORKS, _priced(network="25Gbit/s"), ""),
        (PARTS, _priced(_with_devices(_device("hdd1"), _device("hdd2"), _device("hdd3"))), ""),
        (WHOLE, _priced(_with_devices(_device("hdd1"), _device("hdd2"), _device("hdd3"))), "one more hdd device"),
        (PARTS, _priced(_with_devices(_device("hdd1", read_bytes_per_s=3e8), _device("hdd2"))), "the described hdd"),
        (PARTS, _priced(_with_devices(_device("hdd1", capacity_bytes=2), _device("hdd2"))), "the described hdd"),
        (BY_GB, _priced(_with_devices(_device("hdd1", capacity_bytes=2), _device("hdd2"))), ""),
        (PARTS, _priced(_with_devices(_device("hdd1"))), ""),
    ],
)
def test_a_price_book_prices_only_described_hardware(
    items: tuple[LineItem, ...], after: PricedCluster, words: str
) -> None:
    book = PriceBook("test", "USD", "2026-01-01", "made up", items)
    reason = why_unpriced(book, _priced(network="10Gbit/s" if items is NETWORKS else None), after)
    assert words in reason
    assert bool(words) == bool(reason)
