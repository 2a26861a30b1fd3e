"""What every way of reaching a node offers: run a command, start one, spawn a daemon, move files, forward a port.

In: argument vectors, never shell text; bytes; paths on the node. Out: :class:`CommandResult`, a :class:`RemoteProcess`,
a pid, bytes. Timeouts are in seconds. Whatever goes wrong is a :class:`assay.foundation.errors.HostError` whose
``where`` reads ``node: command``. One contract suite holds for every implementation.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. ``exit_status`` is negative when a signal ended it: ``-9`` for SIGKILL."""

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
        """Lines with their line ends as they come. Raises HostError when the connection is lost."""

    @property
    def stderr_tail(self) -> str:
        """The last of what it has written to stderr so far."""

    @property
    def exit_status(self) -> int | None:
        """None until :meth:`wait` or :meth:`terminate` has seen the end."""

    def close_stdin(self) -> None:
        """Let its stdin reach EOF. Does no harm when it has ended already."""

    async def wait(self, timeout_s: float) -> int:
        """Wait for the end and return the exit status. Raises HostError when it has not ended by then."""

    async def terminate(self) -> None:
        """End its whole process group: SIGTERM, and SIGKILL for what is left 2 s later. Returns when it is gone."""


class Transport(Protocol):
    """One node, and how it is reached. All methods raise HostError when it can't be reached any more."""

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

        A program that is not there ends with status 127, as in a shell. Raises HostError on a timeout, and with
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
        """Start a daemon in a session of its own, which outlives the connection, and return its pid at once.

        Its stdin is /dev/null, its output is appended to ``log``, its pid written to ``pid_file``; the directories of
        both are made. Raises HostError when the program is not there.
        """

    async def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file: complete or not at all. Its directory is made."""

    async def read_file(self, path: str) -> bytes:
        """Return a file's content. Raises HostError when it can't be read."""

    async def put_tree(self, local: Path, remote: str) -> None:
        """Copy what is in the directory ``local`` into the directory ``remote``, which is made."""

    async def forward(self, host: str, port: int) -> tuple[str, int]:
        """Return a (local address, port) that reaches ``host:port`` as this node sees it."""

    async def close(self) -> None:
        """Close the connection. Daemons continue, foreground processes see EOF."""

    def abandon(self) -> None:
        """Drop the connection at once, as of a node that does not answer: whatever waits for it fails, and so does all
        that is asked from now on. Nothing happens where the node is this machine.
        """
