"""Write cluster files with one node type, one master, and a few workers, and price books of rented machines."""

from __future__ import annotations

from collections.abc import Mapping

HDD = "{kind: hdd, count: 2, read: 120MB/s, write: 120MB/s, iops: 120, capacity: 500GB}"
SSD = "{kind: ssd, count: 2, read: 500MB/s, write: 460MB/s, capacity: 480GB}"
LAB = "lab: {scale: 1/20}"
SIMULATED = "provider: simulated"
SIMULATED_DEVICES = {
    "hdd": "{kind: hdd, count: 2, read: 120MB/s, write: 115MB/s, capacity: 1TB}",
    "ssd": "{kind: ssd, read: 500MB/s, write: 450MB/s, iops: 50000, capacity: 1TB}",
}
_MACHINES = """  master: {type: worker, roles: [master]}
  worker: {type: worker, roles: [worker], count: WORKERS}
"""
_HOSTS = """  head: {type: worker, roles: [master], addresses: [10.0.0.1]}
  data: {type: worker, roles: [worker], addresses: [10.0.0.2, 10.0.0.3]}
"""


def cluster_text(
    devices: Mapping[str, str], *, header: str = LAB, cores: int = 6, memory: str = "16GB", workers: int = 3
) -> str:
    """Return the text of a cluster file.

    Args:
        devices: Description of each device of the node type, by name, in the syntax of cluster files.
        header: The line that selects the provider. Without it, the file describes three real hosts named ``head``,
            ``data1`` and ``data2``.
        cores: Cores of every node.
        memory: Memory of every node.
        workers: Number of workers, next to one master. Ignored without a header.
    """
    described = "".join(f"      {name}: {text}\n" for name, text in devices.items())
    nodes = _MACHINES.replace("WORKERS", str(workers)) if header else _HOSTS
    provider = f"{header}\n" if header else ""
    machine = f"    cores: {cores}\n    memory: {memory}\n    nic: 10Gbit/s\n    devices:\n{described}"
    return f"cluster: c\n{provider}node_types:\n  worker:\n{machine}nodes:\n{nodes}"


def rented_prices(master: str, **workers: str) -> str:
    """Return a price book of rented machines in dollars per hour; a worker's type is written ``m6id_2xlarge``."""
    types = ((name.replace("_", "."), name.replace("_", "-"), price) for name, price in workers.items())
    items = [
        f'  - {{name: {name}, price: "${price}", per: node-hour, node_type: {key}}}\n' for name, key, price in types
    ]
    return (
        "prices: rented\ncurrency: USD\ndate: 2026-11-27\nsource: made up\nitems:\n"
        + "".join(items)
        + f'  - {{name: master, price: "${master}", per: master-hour}}\n'
        "  - {name: disks and network, price: $0, per: cluster-hour, covers: [devices, network]}\n"
    )
