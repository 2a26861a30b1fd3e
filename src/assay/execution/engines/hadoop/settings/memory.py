"""Check whether DataNodes can keep blocks in memory, as HDFS's storage policy LAZY_PERSIST requires, and how many
bytes.

Requirements on every worker, from HDFS's "Memory Storage Support": a tmpfs, Hadoop's native library (a DataNode locks
the memory with mlock and refuses to start without it), and a limit on locked memory that leaves room for blocks. In: a
deployment. Out: the deployment with the memory that it may use, in bytes; or an EngineError with the requirements that
a worker does not meet.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from assay.execution.engines.hadoop.settings.configuration import MEMORY_MOUNT, Deployment
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError

SHARE = 0.5
"""Maximum share of the tmpfs's free space for blocks; the node needs memory for other purposes, too."""
BYTES_MIN = 64 * 2**20
"""Minimum memory for blocks on each worker, in bytes."""
_TIMEOUT_S = 30.0
"""Maximum time of a command on a worker, in seconds."""
# Kind of file system, free KiB in it, limit on locked memory in KiB or "unlimited", and whether the library is there.
_PROBE = (
    'stat -f -c %T "$1"; df -k --output=avail "$1" | tail -n 1; ulimit -l; '
    'if test -e "$2/libhadoop.so"; then echo native; else echo none; fi'
)


def usable_bytes(answer: str) -> tuple[int, list[str]]:
    """Return a worker's memory for blocks according to the probe's output, and the missing requirements as text."""
    kind, free_kib, limit, library_kind = [*answer.split(), "", "", "", ""][:4]
    missing_requirements = []
    if kind != "tmpfs":
        missing_requirements.append(f"{MEMORY_MOUNT} is not a tmpfs")
    if library_kind != "native":
        missing_requirements.append(
            "Hadoop's native library (lib/native/libhadoop.so) is missing, which a DataNode needs to lock memory"
        )
    available_bytes = int(int(free_kib) * 1024 * SHARE) if free_kib.isdecimal() else 0
    lock_limit_bytes = int(limit) * 1024 if limit.isdecimal() else None
    if lock_limit_bytes is None and limit != "unlimited":
        missing_requirements.append("the limit on locked memory (ulimit -l) is not known")
    elif lock_limit_bytes is not None and lock_limit_bytes < BYTES_MIN:
        missing_requirements.append(f"the limit on locked memory (ulimit -l) is {limit} KiB")
    elif available_bytes < BYTES_MIN:
        missing_requirements.append(f"{MEMORY_MOUNT} has too little room")
    return available_bytes if lock_limit_bytes is None else min(available_bytes, lock_limit_bytes), missing_requirements


async def with_block_memory(
    deployment: Deployment, transports: Mapping[str, Transport], native_directory: str
) -> Deployment:
    """Return ``deployment`` with memory for blocks. Raises EngineError if a worker lacks it."""
    workers = deployment.cluster.workers
    command = ["sh", "-c", _PROBE, "sh", MEMORY_MOUNT, native_directory]
    answers = await asyncio.gather(
        *(transports[node.name].run(command, timeout_s=_TIMEOUT_S, check=False) for node in workers)
    )
    block_memory = [usable_bytes(answer.stdout.decode(errors="replace")) for answer in answers]
    for node, (_, missing_requirements) in zip(workers, block_memory, strict=True):
        if missing_requirements:
            raise EngineError(
                f"the storage policy LAZY_PERSIST is impossible here: {'; '.join(missing_requirements)}",
                where=node.name,
                hint="use a Hadoop with its native library (hadoop_home in the cluster file) and raise memlock in "
                "/etc/security/limits.conf, or choose HOT, ONE_SSD or ALL_SSD",
            )
    options = f"{deployment.java_options} -Djava.library.path={native_directory}".strip()
    return replace(deployment, java_options=options, memory_bytes=min(size for size, _ in block_memory))


async def free_blocks(deployment: Deployment, transports: Mapping[str, Transport]) -> None:
    """Free the memory of blocks."""
    for node in deployment.cluster.workers:
        if folders := deployment.memory_directories(node):
            await transports[node.name].run(["rm", "-rf", *folders], timeout_s=_TIMEOUT_S, check=False)
