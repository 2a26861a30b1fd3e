"""Define the contract of a transport: run or start a command, spawn a daemon, copy files, forward a port.

In: argument vectors, never shell text; bytes; paths on the node. Out: :class:`CommandResult`, a :class:`RemoteProcess`,
a pid, bytes. Timeouts are in seconds. Every failure is a :class:`assay.foundation.errors.HostError` whose ``where``
reads ``node: command``. One contract suite tests every implementation.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command. ``exit_status`` is negative for a signal: ``-9`` for SIGKILL."""

    argv: tuple[str, ...]
    exit_status: int
    stdout: bytes
    stderr: bytes


class RemoteProcess(Protocol):
    """A long-running command in the foreground. Its stdin reaches EOF when assay or the connection dies.

    Its stdout must be read to the end, or it may stall on a full pipe; its stderr is read in the background.
    """

    @property
    def pid(self) -> int:
        """Process id on the node; also the id of its process group."""

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """Lines as they arrive, with their line ends. Raises HostError when the connection is lost."""

    @property
    def stderr_tail(self) -> str:
        """The end of stderr so far."""

    @property
    def exit_status(self) -> int | None:
        """The exit status; None until :meth:`wait` or :meth:`terminate` returned."""

    def close_stdin(self) -> None:
        """Close stdin. Does nothing when the process has ended."""

    async def wait(self, timeout_s: float) -> int:
        """Wait for the end and return the exit status. Raises HostError on a timeout."""

    async def terminate(self) -> None:
        """End the process group with SIGTERM, and after 2 s with SIGKILL. Returns when it has ended."""


class Transport(Protocol):
    """A connection to one node. All methods raise HostError when the node is out of reach."""

    @property
    def name(self) -> str:
        """The node's name in the cluster."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes = b"",
        check: bool = True,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        """Run a command to its end. A timeout or a cancellation kills its process group on the node first.

        A missing program ends with status 127, as in a shell. Raises HostError on a timeout, and with
        ``check`` on a status other than 0, with the end of stderr.
        """

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> RemoteProcess:
        """Start a command in the foreground, connected to this process."""

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        log: str,
        pid_file: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> int:
        """Start a daemon in a new session, which outlives the connection, and return its pid at once.

        Its stdin is /dev/null, its output is appended to ``log``, its pid written to ``pid_file``; the directories of
        both are created. Raises HostError when the program is missing.
        """

    async def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file, completely or not at all. Its directory is created."""

    async def read_file(self, path: str) -> bytes:
        """Return a file's content. Raises HostError when it can't be read."""

    async def put_tree(self, local: Path, remote: str) -> None:
        """Copy the content of directory ``local`` into directory ``remote``, which is created."""

    async def forward(self, host: str, port: int) -> tuple[str, int]:
        """Return a (local address, port) that reaches ``host:port`` through this node."""

    async def close(self) -> None:
        """Close the connection. Daemons keep running; foreground processes see EOF."""

    def abandon(self) -> None:
        """Drop the connection at once, for a node that does not answer: pending and later calls fail. Does nothing for
        this machine.
        """
