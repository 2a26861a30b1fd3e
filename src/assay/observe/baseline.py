"""What each bare device and link of a cluster can do, beside what its specification says: fio and iperf3 on the hosts.

In: a cluster whose devices have directories, and a transport for each node. Out: a
:class:`~assay.model.baseline.Baseline` in bytes/s, requests/s and bits/s. Devices are measured all at the same time, as
they are in use: first each is written for some three seconds, then read, then read at random, past the page cache. Links
are measured from the master to the first worker, then from every worker to the next, all at once, as in a shuffle.
Random reads of flash devices are left out in a lab, where they would measure the machine's CPU. The test file is removed;
it spans a small part of the device, so a real disk's random reads are short-stroked.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from assay.errors import FormatError, HostError
from assay.formats.fio import FioReport, parse_fio
from assay.formats.iperf3 import Iperf3Report, parse_iperf3
from assay.hosts.transport import Transport
from assay.model.baseline import Baseline, Measurement
from assay.model.cluster import Cluster, Device, DeviceKind, Node, Placement

WRITE_S = 3.0
READ_S = 3
RANDOM_S = 2
LINK_S = 2
DISK_TIMEOUT_S = 180.0
LINK_TIMEOUT_S = 30.0
COMMAND_TIMEOUT_S = 30.0
IPERF3_PORT = 5201
SEQUENTIAL_REQUEST_BYTES = 512 * 1024
FILE_BYTES_MIN = 4 * 2**20
FILE_SHARE_MAX = 0.1
FOLDER = ".assay-baseline"
_NOT_FOUND = 127


async def measure_baseline(
    cluster: Cluster, transports: Mapping[str, Transport], *, progress: Callable[[str], None] = lambda _: None
) -> Baseline:
    """Measure every device that has a directory, and the links between different hosts.

    Raises HostError when a host lacks fio or iperf3, a directory can't be written, or a measurement takes too long.
    """
    progress(f"baseline: devices of {cluster.name}")
    found = await _all(_measure_devices(cluster, node, transports[node.name]) for node in cluster.nodes)
    tools: dict[str, str] = {}
    measurements: list[Measurement] = []
    for versions, values in found:
        tools |= versions
        measurements += values
    for pairs in _link_rounds(cluster):
        progress(f"baseline: links {', '.join(f'{a.name}→{b.name}' for a, b in pairs)}")
        for (sender, receiver), report in zip(
            pairs, await _all(_measure_link(a, b, transports) for a, b in pairs), strict=True
        ):
            rate = min(sender.type.nic.rate_bits_per_s, receiver.type.nic.rate_bits_per_s) * cluster.scale
            tools["iperf3"] = report.version.removeprefix("iperf ")
            measurements.append(Measurement(sender.name, f"{sender.name}→{receiver.name}", "link_bits_per_s",
                                            report.received_bits_per_s, rate))  # fmt: skip
    return Baseline(
        baseline_id=str(uuid.uuid4()), cluster=cluster.name, measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tools=tools, measurements=tuple(measurements),
    )  # fmt: skip
