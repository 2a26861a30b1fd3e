"""Reach the machine on which assay runs, as a node."""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from assay.execution.hosts.base import BaseTransport, Channel
from assay.foundation.errors import HostError

_LINE_LIMIT_BYTES = 1 << 20
"""Maximum length of a line of output, in bytes."""


class _LocalChannel:
    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr

    async def write(self, data: bytes) -> None:
        self._stdin.write(data)
        await self._stdin.drain()

    def close_stdin(self) -> None:
        self._stdin.close()

    async def read_stdout(self, limit: int) -> bytes:
        return await self._stdout.read(limit)

    async def read_line(self) -> bytes:
        return await self._stdout.readline()

    async def read_stderr(self, limit: int) -> bytes:
        return await self._stderr.read(limit)

    async def wait(self) -> int:
        return await self._process.wait()

    def abandon(self) -> None:
        # Closes this end of the pipes even if a grandchild holds the other ends open, and kills the process if it still
        # runs. asyncio has no public name for it.
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001


class LocalTransport(BaseTransport):
    """Runs commands as children of this process, each in a new session."""

    async def _open(self, command: Sequence[str]) -> Channel:
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, limit=_LINE_LIMIT_BYTES
            )
        except OSError as error:
            raise HostError(f"no process can be started: {error}", where=f"{self.name}: sh") from error
        return _LocalChannel(process)

    async def forward(self, host: str, port: int) -> tuple[str, int]:
        """Return the address itself: this machine reaches it directly."""
        return host, port
