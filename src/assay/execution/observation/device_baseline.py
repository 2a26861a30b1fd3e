"""Measure each device and link of a cluster with fio and iperf3, and compare it with its specification.

In: a cluster whose devices have directories, and a transport for each node. Out: a
:class:`~assay.model.clusters.device_baseline.DeviceBaseline` in bytes/s, requests/s and bits/s.

All devices are measured at the same time, as jobs use them. fio writes a file for a few seconds, then reads it
sequentially, then with eight streams that each read a different part, then at random. Only the streams use the page
cache. File systems are synced before the writes and before the reads, because writing pending metadata would distort
these short measurements. A lab does not measure random reads of throttled flash, because they would measure the
machine's CPU; on modelled flash they use larger requests and a smaller queue depth. The test file is removed. It spans
a small part of the device, so the seeks of a disk are short.

Each value is compared with the device's description, with two exceptions. In a lab with modelled disks, the expected
value is computed from the model's numbers (:mod:`assay.analysis.devices.rates`). For the streams and random reads of a
real HDD, it is computed too, because it depends on the distance between the parts that are read.

Links are measured from the master to the first worker, then from every worker to the next, all at once as in a shuffle.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from assay.analysis.devices import rates as device_rates
from assay.analysis.devices.rates import BaselineSettings, ExpectedRates
from assay.execution.hosts.transport import RemoteProcess, Transport
from assay.foundation.cancellation import end_tasks, finish
from assay.foundation.errors import FormatError, HostError
from assay.foundation.units import format_bytes, format_percent
from assay.model import Cluster, Device, DeviceBaseline, DeviceKind, Disks, Measurement, Node, Placement, request_bytes
from assay.store.formats.bare.fio import FioDirection, FioReport, parse_fio
from assay.store.formats.bare.iperf3 import Iperf3Report, parse_iperf3

FILE_S = 4.0
"""Duration of one sequential write at the device's described rate, in seconds. It determines the test file's size."""
RANDOM_S = 2
"""Duration of random reads, in seconds."""
STREAMS = 8
"""Number of concurrent readers of a device."""
STREAM_READ_BYTES = 64 * 1024
"""Read size of each stream, in bytes, equal to a DataNode's at any scale."""
HOST_READAHEAD_BYTES = 128 * 1024
"""Linux's default readahead window, in bytes. A lab sets its own."""
LINK_S = 1
"""Duration of one measurement of a link, in seconds."""
DISK_TIMEOUT_S = 180.0
"""Maximum time of each run of fio or sync, in seconds."""
LINK_TIMEOUT_S = 30.0
"""Maximum time of one measurement of a link, in seconds."""
COMMAND_TIMEOUT_S = 30.0
"""Maximum time of every other command on a host, in seconds."""
IPERF3_PORT = 5201
SEQUENTIAL_REQUEST_BYTES = 512 * 1024
"""Size of sequential reads and writes, in bytes."""
FILE_BYTES_MIN = 4 * 2**20
"""Minimum size of a test file before rounding, in bytes."""
FILE_SHARE_MAX = 0.1
"""Maximum size of a test file as a share of a device's capacity, and of a real disk's free space."""
RANDOM_REQUEST_BYTES = 4096
"""Size of random reads, in bytes."""
FLASH_DEPTH = 32
"""Queue depth of random reads on real flash."""
LAB_FLASH_REQUEST_BYTES = 16 * 1024
"""Size of random reads on modelled flash, in bytes."""
LAB_FLASH_DEPTH = 4
"""Queue depth of random reads on modelled flash, low enough for two cores and twelve devices."""
FIO_CLOCK_S = 0.001
"""Resolution of run times in fio's output, in seconds."""
FOLDER = ".assay-baseline"
"""Folder of the test files below a device's directory. It is removed after the measurement."""
EXIT_NO_COMMAND = 127
"""Exit status of a shell that does not find a program."""
Pair = tuple[Node, Node]
T = TypeVar("T")


async def measure_baseline(
    cluster: Cluster, transports: Mapping[str, Transport], *, progress: Callable[[str], None] = lambda _: None
) -> DeviceBaseline:
    """Measure every device that has a directory, and the links between different hosts.

    Raises HostError if a host lacks fio or iperf3, a directory is not writable, or a measurement takes too long.
    """
    progress(f"baseline: devices of {cluster.name}")
    nodes = [node for node in cluster.nodes if any(device.directory for device in node.type.devices)]
    node_results = await _gather_all(_measure_devices(cluster, node, transports[node.name]) for node in nodes)
    tools = {name: version for versions, _ in node_results for name, version in versions.items()}
    measurements = [measurement for _, values in node_results for measurement in values]
    for pairs in _link_rounds(cluster):
        progress("baseline: links " + ", ".join(f"{sender.name}→{receiver.name}" for sender, receiver in pairs))
        reports = await _gather_all(_measure_link(pair, transports) for pair in pairs)
        tools["iperf3"] = reports[0].version.removeprefix("iperf ")
        measurements += [_link_measurement(cluster, pair, report) for pair, report in zip(pairs, reports, strict=True)]
    return DeviceBaseline(
        baseline_id=str(uuid.uuid4()),
        cluster=cluster.name,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tools=tools,
        measurements=tuple(measurements),
    )


async def _gather_all(awaitables: Iterable[Awaitable[T]]) -> list[T]:
    """Run all awaitables concurrently. If one fails, cancel the others before raising."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        await end_tasks(*tasks)
        raise


async def _measure_devices(
    cluster: Cluster, node: Node, transport: Transport
) -> tuple[dict[str, str], list[Measurement]]:
    devices = [device for device in node.type.devices if device.directory]
    folders = [f"{device.directory}/{FOLDER}" for device in devices]
    is_throttled = cluster.lab is not None and cluster.lab.disks is not Disks.MODEL
    random_devices = [device for device in devices if device.kind is DeviceKind.HDD or not is_throttled]
    await transport.run(["rm", "-rf", "--", *folders], timeout_s=COMMAND_TIMEOUT_S)  # files of a killed baseline
    try:
        await transport.run(["mkdir", "-p", "--", *folders], timeout_s=COMMAND_TIMEOUT_S)
        await _check_free_space(cluster, devices, folders, transport)
        await _sync(transport, folders)
        writes = await _fio(transport, [_job("write", device, cluster) for device in devices])
        await _sync(transport, folders)
        jobs = [
            *(_job("read", device, cluster) for device in devices),
            *(_job("streams", device, cluster, is_first=device is devices[0]) for device in devices),
            *(_job("randread", device, cluster, is_first=device is random_devices[0]) for device in random_devices),
        ]
        reads = await _fio(transport, jobs)
    finally:
        with contextlib.suppress(HostError):
            removal = transport.run(["rm", "-rf", "--", *folders], timeout_s=COMMAND_TIMEOUT_S)
            await finish(removal, "removing the test files", 2 * COMMAND_TIMEOUT_S)
    values = [value for device in devices for value in _device_measurements(cluster, node, device, writes, reads)]
    return {"fio": reads.version.removeprefix("fio-")}, values


async def _check_free_space(
    cluster: Cluster, devices: Sequence[Device], folders: Sequence[str], transport: Transport
) -> None:
    """Raise HostError if a test file would exceed its share of the free space on a real host's disk."""
    if cluster.lab is not None:
        return
    df = ["df", "-B1", "--output=avail", "--", *folders]
    result = await transport.run(df, timeout_s=COMMAND_TIMEOUT_S, check=False)
    free_sizes = [int(word) for word in result.stdout.split() if word.isdigit()]
    for device, free_bytes in zip(devices, free_sizes, strict=False):  # empty if df is too old for --output
        file_bytes = _settings_for(device, cluster).span_bytes
        if file_bytes > free_bytes * FILE_SHARE_MAX:
            raise HostError(
                f"a test file of {format_bytes(file_bytes)} would take more than {format_percent(FILE_SHARE_MAX)} of "
                f"the free space ({format_bytes(free_bytes)})",
                where=f"{transport.name}: {device.directory}",
                hint=f"free disk space, or describe slower devices: the file is as large as {FILE_S:g} s of writing",
            )


async def _sync(transport: Transport, folders: Sequence[str]) -> None:
    """Sync file systems, including metadata. Otherwise the kernel would write seconds later, during a measurement."""
    result = await transport.run(["sync", "-f", "--", *folders], timeout_s=DISK_TIMEOUT_S, check=False)
    if result.exit_status:  # coreutils before 8.24 have no sync -f
        await transport.run(["sync"], timeout_s=DISK_TIMEOUT_S)


def _device_measurements(
    cluster: Cluster, node: Node, device: Device, writes: FioReport, reads: FioReport
) -> Iterator[Measurement]:
    expected_rates = _expected_rates(device, cluster)

    def measurement(metric: str, value: float, expected_value: float | None, *, is_modelled: bool) -> Measurement:
        return Measurement(
            node.name, device.name, metric, value, expected_value, is_modelled and expected_value is not None
        )

    read_rate = reads.job(f"read.{device.name}").read.bytes_per_s
    write_rate = writes.job(f"write.{device.name}").write.bytes_per_s
    rates_modelled, places_modelled = expected_rates.rates_modelled, expected_rates.places_modelled
    yield measurement(
        "sequential_read_bytes_per_s", read_rate, expected_rates.read_bytes_per_s, is_modelled=rates_modelled
    )
    yield measurement(
        "sequential_write_bytes_per_s", write_rate, expected_rates.write_bytes_per_s, is_modelled=rates_modelled
    )
    streams = [job.read for job in reads.jobs if job.name == f"streams.{device.name}"]
    yield measurement(
        "streams_8_read_bytes_per_s",
        _total_bytes_per_s(streams),
        expected_rates.streams_bytes_per_s,
        is_modelled=places_modelled,
    )
    for job in reads.jobs:
        if job.name == f"randread.{device.name}":
            yield measurement(
                "random_read_iops", job.read.iops, expected_rates.random_read_iops, is_modelled=places_modelled
            )


def _expected_rates(device: Device, cluster: Cluster) -> ExpectedRates:
    if cluster.lab is None:
        return device_rates.host_rates(device, _settings_for(device, cluster))
    if cluster.lab.disks is Disks.MODEL:
        return device_rates.model_rates(device, cluster.scale, _settings_for(device, cluster))
    return device_rates.described_rates(device, cluster.scale)


def _total_bytes_per_s(streams: Sequence[FioDirection]) -> float:
    """Return the total throughput of streams until the last stream ended.

    The sum of their rates can be too high: when streams have ended, the others run faster.
    """
    longest_s = max((stream.runtime_s for stream in streams), default=0.0)
    return sum(stream.io_bytes for stream in streams) / max(longest_s, FIO_CLOCK_S)


def _settings_for(device: Device, cluster: Cluster) -> BaselineSettings:
    """Return the settings for measuring ``device``: file size in whole requests, streams, and random reads."""
    scale = cluster.scale
    requested_bytes = max(FILE_BYTES_MIN, device.write_bytes_per_s * scale * FILE_S)
    # The kernel doubles the readahead window because fio announces sequential reads.
    readahead_bytes = HOST_READAHEAD_BYTES
    if cluster.lab:
        readahead_bytes = request_bytes(device, scale, cluster.lab.disks or Disks.THROTTLE)
    # Each stream's part holds whole requests. Otherwise fio would rewrite the file before reading it.
    request_of_all_streams_bytes = STREAMS * SEQUENTIAL_REQUEST_BYTES
    file_bytes_max = int(min(requested_bytes, device.capacity_bytes * scale * FILE_SHARE_MAX))
    requests = max(1, file_bytes_max // request_of_all_streams_bytes)
    random_request_bytes, random_depth = RANDOM_REQUEST_BYTES, FLASH_DEPTH
    if device.kind is DeviceKind.HDD:
        random_depth = 1
    elif cluster.placement is Placement.LAB:
        random_request_bytes, random_depth = LAB_FLASH_REQUEST_BYTES, LAB_FLASH_DEPTH
    return BaselineSettings(
        requests * request_of_all_streams_bytes, STREAMS, 2 * readahead_bytes, random_request_bytes, random_depth
    )


def _job(kind: str, device: Device, cluster: Cluster, *, is_first: bool = False) -> list[str]:
    """Return fio's options for a job. ``is_first``: whether it starts a stage, and so waits for the jobs before it."""
    settings = _settings_for(device, cluster)
    options = [f"--name={kind}.{device.name}", f"--filename={device.directory}/{FOLDER}/data"]
    if kind == "streams":
        part_bytes = settings.span_bytes // settings.streams
        # Reads use the page cache. fio drops the file from it first, and tells the kernel that it reads in order.
        options += [
            "--rw=read",
            f"--bs={STREAM_READ_BYTES}",
            "--direct=0",
            "--ioengine=psync",
            f"--numjobs={settings.streams}",
            f"--size={part_bytes // 2}",
            f"--offset_increment={part_bytes}",
        ]
    elif kind == "randread":
        options += [
            f"--size={settings.span_bytes}",
            "--rw=randread",
            f"--bs={settings.random_request_bytes}",
            f"--iodepth={settings.random_depth}",
            "--time_based",
            f"--runtime={RANDOM_S}",
        ]
    else:
        options += [f"--size={settings.span_bytes}", f"--rw={kind}", f"--bs={SEQUENTIAL_REQUEST_BYTES}", "--iodepth=4"]
    if kind == "write":
        options += ["--end_fsync=1"]  # flush the drive's cache too
    return [*options, "--stonewall"] if is_first else options


async def _fio(transport: Transport, jobs: Sequence[Sequence[str]]) -> FioReport:
    common_options = [
        "fio",
        "--output-format=json",
        "--thread",
        "--ioengine=libaio",
        "--direct=1",
        "--fallocate=native",
    ]
    argv = [*common_options, *(option for job in jobs for option in job)]
    result = await transport.run(argv, timeout_s=DISK_TIMEOUT_S, check=False)
    if result.exit_status == EXIT_NO_COMMAND:
        raise _missing_program("fio", transport)
    if result.exit_status:
        raise HostError(
            _error_lines(result.stderr or result.stdout),
            where=f"{transport.name}: fio",
            hint="devices must be writable directories on a file system with direct I/O",
        )
    return parse_fio(result.stdout)


def _missing_program(program: str, transport: Transport) -> HostError:
    return HostError(
        f"{program} is not installed", where=transport.name, hint=f"on that host: apt-get install {program}"
    )


def _error_lines(output: bytes) -> str:
    return " / ".join(output.decode(errors="replace").strip().splitlines()[-3:]) or "it failed without output"


def _link_rounds(cluster: Cluster) -> list[list[Pair]]:
    """Return the pairs of concurrent measurements: master to first worker, then each worker to the next in a ring."""
    workers = [node for node in cluster.workers if node.address]
    ring = list(zip(workers, [*workers[1:], *workers[:1]], strict=True)) if len(workers) > 1 else []
    master_pairs = [(cluster.master, worker) for worker in workers[:1] if cluster.master.address]
    rounds = [[pair for pair in pairs if pair[0].name != pair[1].name] for pairs in (master_pairs, ring)]
    return [pairs for pairs in rounds if pairs]


def _link_measurement(cluster: Cluster, pair: Pair, report: Iperf3Report) -> Measurement:
    rate = min(node.type.nic.rate_bits_per_s for node in pair) * cluster.scale
    subject = f"{pair[0].name}→{pair[1].name}"
    return Measurement(pair[0].name, subject, "link_bits_per_s", report.received_bits_per_s, rate)


async def _measure_link(pair: Pair, transports: Mapping[str, Transport]) -> Iperf3Report:
    sender, receiver = (transports[node.name] for node in pair)
    address = pair[1].address
    host = address.host if address else pair[1].name
    server = await receiver.start(["iperf3", "--server", "--one-off", "--forceflush", "--port", str(IPERF3_PORT)])
    try:
        async with asyncio.timeout(COMMAND_TIMEOUT_S):
            await _wait_until_listening(server, receiver)
        result = await sender.run(
            ["iperf3", "--client", host, "--port", str(IPERF3_PORT), "--time", str(LINK_S), "--json"],
            timeout_s=LINK_TIMEOUT_S,
            check=False,
        )
    finally:
        await server.terminate()
    if result.exit_status == EXIT_NO_COMMAND:
        raise _missing_program("iperf3", sender)
    try:
        return parse_iperf3(result.stdout)
    except FormatError as error:
        raise HostError(
            error.message,
            where=f"{sender.name}: iperf3 --client {host}",
            hint=f"is port {IPERF3_PORT} open between the hosts?",
        ) from error


async def _wait_until_listening(server: RemoteProcess, receiver: Transport) -> None:
    """Wait until the server reports that its port is open."""
    output = b""
    async for line in server.stdout:
        output += line
        if b"listening" in line:
            return
    if await server.wait(COMMAND_TIMEOUT_S) == EXIT_NO_COMMAND:
        raise _missing_program("iperf3", receiver)
    message = _error_lines(output + server.stderr_tail.encode())
    raise HostError(message, where=f"{receiver.name}: iperf3 --server", hint=f"is port {IPERF3_PORT} in use?")
