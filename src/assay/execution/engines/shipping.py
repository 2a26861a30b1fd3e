"""Provide a folder of jars on every host: use it in place if all hosts have it, else copy it to hosts that lack it.

In: the folder and transports. Out: the path of the jars, the same on every host.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

from assay.execution.engines.contract import ShowProgress
from assay.execution.hosts.transport import Transport

_COMMAND_TIMEOUT_S = 60.0
"""Maximum time of a check of the files on a host, in seconds."""
_CHECKSUM_OF_NAMES = 'cd "$1" 2>/dev/null && find . -name "*.jar" -exec basename {} \\; | LC_ALL=C sort | sha256sum'


async def ship_jars(transports: Mapping[str, Transport], folder: Path, target: str, show: ShowProgress) -> str:
    """Return the path of the jars, the same on every host: ``folder``, or ``target`` followed by a checksum."""
    checksum = _checksum(folder)

    async def hosts_without(path: str) -> list[Transport]:
        command = ["sh", "-c", _CHECKSUM_OF_NAMES, "sh", path]
        hosts = list(transports.values())
        answers = await asyncio.gather(*(t.run(command, timeout_s=_COMMAND_TIMEOUT_S, check=False) for t in hosts))
        return [t for t, a in zip(hosts, answers, strict=True) if not a.stdout.decode().startswith(checksum)]

    if not await hosts_without(str(folder)):
        return str(folder)
    target = f"{target}-{checksum[:8]}"
    for transport in await hosts_without(target):
        show(f"copying {folder.name} to {transport.name}")
        await transport.put_tree(folder, target)
    return target


def _checksum(folder: Path) -> str:
    jars = sorted(path.name for path in folder.rglob("*.jar"))
    return hashlib.sha256("".join(f"{jar}\n" for jar in jars).encode()).hexdigest()
