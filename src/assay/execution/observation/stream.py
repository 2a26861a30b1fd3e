"""Run a script on a node that sends lines until it is stopped, or until the connection or assay dies.

In: a transport, the script's options. Out: a :class:`NodeStream` that has reported at least once; subclasses interpret
its lines. Times are in seconds.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from assay.execution.hosts.transport import RemoteProcess, Transport
from assay.execution.observation.scripts import command, script_error
from assay.foundation.errors import HostError

START_TIMEOUT_S = 20.0
"""Maximum wait for a script's first line, in seconds."""


class NodeStream(ABC):
    """A running script on a node. :meth:`start_script` starts it."""

    script: ClassVar[str]
    """Name of the script in ``observation/node``."""
    title: ClassVar[str]
    """Title of the script in messages."""
    stop_timeout_s: ClassVar[float]

    def __init__(self, transport: Transport, process: RemoteProcess) -> None:
        self.transport = transport
        self._process = process
        self._received = asyncio.Event()
        """Set by each line, and at the end."""
        self._reading = asyncio.create_task(self._read())

    @property
    @abstractmethod
    def has_reported(self) -> bool:
        """Whether usable output has arrived."""

    @abstractmethod
    def take(self, line: bytes) -> bool:
        """Process a line; return whether it was expected."""

    @abstractmethod
    def handle_end(self, error: HostError | None) -> None:
        """Handle the end of output: the script ended, or the connection was lost."""

    @classmethod
    async def start_script(cls, transport: Transport, options: Mapping[str, Any]) -> Self:
        """Start the script; return after the first line. Raises HostError if there is none."""
        stream = cls(transport, await transport.start(command(cls.script, options)))
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await stream._received.wait()
        except BaseException as error:
            await stream.end()
            if isinstance(error, TimeoutError):
                raise HostError(f"{cls.title} printed nothing", where=f"{transport.name}: {cls.script}") from error
            raise
        if not stream.has_reported:
            with contextlib.suppress(HostError):
                await stream._process.wait(cls.stop_timeout_s)
            status = stream._process.exit_status
            raise script_error(
                cls.script, transport.name, -1 if status is None else status, stream._process.stderr_tail
            )
        return stream

    async def _read(self) -> None:
        try:
            async for line in self._process.stdout:
                if self.take(line):
                    self._received.set()
            self.handle_end(None)
        except HostError as error:
            self.handle_end(error)
        finally:
            self._received.set()

    async def end(self) -> None:
        """Stop the script. Never raises: it ends with its connection in any case."""
        self._process.close_stdin()
        try:
            async with asyncio.timeout(self.stop_timeout_s):
                await asyncio.shield(self._reading)
                await self._process.wait(self.stop_timeout_s)
        except (HostError, TimeoutError):
            with contextlib.suppress(HostError, TimeoutError):
                async with asyncio.timeout(self.stop_timeout_s):
                    await self._process.terminate()
        finally:
            self._reading.cancel()
