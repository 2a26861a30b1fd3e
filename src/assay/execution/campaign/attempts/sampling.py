"""Drop and count caches on every node before a job, and run samplers on every node during it.

In: transports and the devices and folders to observe. Out: :class:`CacheState` values, and the samplers' raw files.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.execution.hosts.transport import Transport
from assay.execution.observation.caches import drop_caches
from assay.execution.observation.sampling import Sampler, SamplerOptions
from assay.foundation.block_devices import block_devices
from assay.foundation.cancellation import end_tasks, finish
from assay.model import CacheState, Cluster, CodedWarning, Node, WarningCode
from assay.store.campaigns.host_samples import HostSamplesFile

_CACHE_TIMEOUT_S = 120.0
"""Maximum time for dropping and counting a node's caches, in seconds."""
STOP_S = 60.0
"""Maximum time for ending all samplers, in seconds. Ending a sampler takes at most twice its ``stop_timeout_s``."""
PUBLISH_INTERVAL_S = 2.0
"""Time between two writes of the nodes' latest samples, in seconds."""


def sampler_options(node: Node, cgroup: Mapping[str, str] | None) -> SamplerOptions:
    """Return the sampler's options for a node: its described devices, and in a lab its control groups."""
    disks = {device.name: device.directory for device in node.type.devices if device.directory}
    return SamplerOptions(disks=disks, cgroup=cgroup)


def unobserved_workers(cluster: Cluster) -> tuple[CodedWarning, ...]:
    """Return a warning about workers that assay may not log in to; they were not observed."""
    login_names = {node.name for node in cluster.login_nodes}
    names = [node.name for node in cluster.workers if node.name not in login_names]
    if not names:
        return ()
    message = "not observed, because assay logs in to the edge node only: devices, links, memory and caches of "
    return (CodedWarning(WarningCode.TRACE, message + ", ".join(names)),)


async def drop_all_caches(
    cluster: Cluster, transports: Mapping[str, Transport], directories: Mapping[str, Sequence[str]]
) -> tuple[CacheState, ...]:
    """Drop every node's page cache, and count the cached bytes of the data in ``directories`` before and after.

    If assay may not log in to some hosts, it drops nothing: an edge node's cache holds no data.
    """
    if len(cluster.login_nodes) < len(cluster.nodes):
        return ()

    async def drop(name: str) -> CacheState:
        return await drop_caches(transports[name], directories.get(name, ()), timeout_s=_CACHE_TIMEOUT_S)

    return tuple(await asyncio.gather(*map(drop, transports)))


@dataclass(slots=True)
class Samplers:
    """The running samplers of all nodes."""

    by_node: Mapping[str, Sampler]
    raw_samples: dict[str, bytes] | None = None
    """Raw samples of each node; None until the samplers have ended."""

    async def stop(self) -> dict[str, bytes]:
        """End the samplers and return each node's raw samples; a second call returns the same."""
        if self.raw_samples is None:
            raw_samples = await asyncio.gather(*(sampler.stop() for sampler in self.by_node.values()))
            self.raw_samples = dict(zip(self.by_node, raw_samples, strict=True))
        return self.raw_samples


@asynccontextmanager
async def sampling(
    transports: Mapping[str, Transport],
    options: Mapping[str, SamplerOptions],
    store_samples: Callable[[Mapping[str, bytes]], None],
) -> AsyncIterator[Samplers]:
    """Run a sampler on every node until the block ends, also with an error, and pass the samples to
    ``store_samples``."""
    names = list(transports)
    starts = (Sampler.start(transports[name], options[name]) for name in names)
    results = await asyncio.gather(*starts, return_exceptions=True)
    samplers = Samplers({n: result for n, result in zip(names, results, strict=True) if isinstance(result, Sampler)})
    error = next((result for result in results if isinstance(result, BaseException)), None)
    if error:
        await samplers.stop()
        raise error
    try:
        yield samplers
    finally:
        store_samples(await finish(samplers.stop(), "ending the samplers", STOP_S))


@asynccontextmanager
async def publishing(
    samplers: Samplers, directories: Mapping[str, Sequence[str]], file: HostSamplesFile | None
) -> AsyncIterator[None]:
    """Write each node's latest sample to ``file`` every :data:`PUBLISH_INTERVAL_S` until the block ends, and remove it.

    ``directories``: each node's directories on measured devices. Write nothing if the file is on one of these devices.
    """
    if file is None or await asyncio.to_thread(_is_measured, file.folder, samplers, directories):
        yield
        return
    publisher = asyncio.create_task(_publish(samplers, file))
    try:
        yield
    finally:
        await end_tasks(publisher)
        file.remove()


def _is_measured(folder: Path, samplers: Samplers, directories: Mapping[str, Sequence[str]]) -> bool:
    """Return whether ``folder`` is on a measured device of a node that is this machine."""
    local_nodes = [name for name, sampler in samplers.by_node.items() if sampler.hostname == socket.gethostname()]
    devices = block_devices(folder)
    return any(devices & block_devices(Path(path)) for name in local_nodes for path in directories.get(name, ()))


async def _publish(samplers: Samplers, file: HostSamplesFile) -> None:
    while True:
        await asyncio.sleep(PUBLISH_INTERVAL_S)
        latest_samples = [sampler.latest_sample() for sampler in samplers.by_node.values()]
        if samples := [sample for sample in latest_samples if sample]:
            await asyncio.to_thread(file.write, samples)
