"""Implement the common part of local and SSH transports: everything except opening a command and forwarding a port.

In: a :class:`Channel` to a command, opened by :class:`assay.execution.hosts.local.LocalTransport` or
:class:`assay.execution.hosts.ssh.SshTransport`. Out: :class:`assay.execution.hosts.transport.Transport`. Times are in
seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tarfile
import tempfile
import weakref
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from assay.execution.hosts import shell
from assay.execution.hosts.transport import CommandResult, RemoteProcess
from assay.foundation.errors import CommandError, HostError, HostTimeoutError

FILE_TIMEOUT_S = 120.0
"""Maximum time for reading or writing a file on a node, in seconds."""
TREE_TIMEOUT_S = 900.0
"""Maximum time for copying a directory to a node, in seconds."""
SPAWN_TIMEOUT_S = 20.0
"""Maximum time for starting a daemon, in seconds."""
START_TIMEOUT_S = 20.0
"""Maximum wait for the pid of a started command, in seconds."""
KILL_TIMEOUT_S = 12.0
"""Time limit of a kill, in seconds: the script waits at most 7 s, the rest is for a slow connection."""
REAP_TIMEOUT_S = 2.0
"""Maximum wait for the exit status of a killed process, in seconds."""
CONCURRENT_COMMANDS = 6
"""Maximum number of concurrent commands. sshd's MaxSessions is 10: four are left for foreground processes and kills."""
_CHUNK_BYTES = 1 << 18
"""Bytes of a stream that are read or sent at a time."""
_STDERR_TAIL_BYTES = 1 << 16
"""Maximum number of bytes of stderr that are kept."""


class Channel(Protocol):
    """One command on a node and its three streams. A lost connection is a ConnectionError or an early EOF."""

    async def write(self, data: bytes) -> None:
        """Write to stdin and wait until the pipe has room."""

    def close_stdin(self) -> None:
        """Close stdin."""

    async def read_stdout(self, limit: int) -> bytes:
        """Return at most ``limit`` bytes; empty at the end."""

    async def read_line(self) -> bytes:
        """Return the next line of stdout; empty at the end."""

    async def read_stderr(self, limit: int) -> bytes:
        """Return at most ``limit`` bytes; empty at the end."""

    async def wait(self) -> int:
        """Return the exit status, negative for a signal. Raises ConnectionError if the connection is lost."""

    def abandon(self) -> None:
        """Close this end of the three streams."""


class ForegroundProcess:
    """A :class:`assay.execution.hosts.transport.RemoteProcess` over a channel."""

    def __init__(self, owner: BaseTransport, argv: Sequence[str], channel: Channel, token: str) -> None:
        self._owner = owner
        self._where = f"{owner.name}: {shell.describe(argv)}"
        self._channel = channel
        self._token = token
        self._stderr = b""
        self._pid: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._draining = asyncio.create_task(self._drain_stderr())
        self._status: int | None = None

    async def _drain_stderr(self, keep_bytes: int = _STDERR_TAIL_BYTES) -> None:
        try:
            while chunk := await self._channel.read_stderr(_CHUNK_BYTES):
                self._stderr += chunk
                if not self._pid.done():
                    pid, self._stderr = shell.split_pid(self._stderr, self._token)
                    if pid is not None:
                        self._pid.set_result(pid)
                else:
                    self._stderr = self._stderr[-keep_bytes:]
        except ConnectionError:
            pass
        finally:
            if not self._pid.done():
                self._pid.set_result(None)

    async def reported_pid(self, timeout_s: float) -> int | None:
        """Return the pid as soon as the node has reported it; None if the command ended or was lost before."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(self._pid)
        return None

    @property
    def pid(self) -> int:
        """Process id on the node; also the id of its process group."""
        pid = self._pid.result() if self._pid.done() else None
        if pid is None:
            raise HostError("the process did not start", where=self._where)
        return pid

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """Lines as they arrive, with their line ends."""
        return self._lines()

    async def _lines(self) -> AsyncIterator[bytes]:
        try:
            while line := await self._channel.read_line():
                yield line
        except ConnectionError as error:
            raise self.connection_error(error) from error

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB of stderr."""
        return self._stderr.decode(errors="replace")

    @property
    def exit_status(self) -> int | None:
        """The exit status; None until the process has ended."""
        return self._status

    def close_stdin(self) -> None:
        """Close stdin."""
        self._channel.close_stdin()

    async def wait(self, timeout_s: float) -> int:
        """Wait for the end and return the exit status."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._end()
        except TimeoutError as error:
            raise HostError(f"still runs after {timeout_s:g} s", where=self._where) from error

    async def _end(self) -> int:
        if self._status is None:
            try:
                status = await self._channel.wait()
            except ConnectionError as error:
                raise self.connection_error(error) from error
            await asyncio.shield(self._draining)
            self._status = status
        return self._status

    async def terminate(self) -> None:
        """End the process group. Raises HostError if one of its processes survives."""
        if self._status is not None:
            return
        try:
            if not await self._owner.kill(await self.reported_pid(START_TIMEOUT_S)):
                raise HostError(
                    "could not be ended: it survived SIGKILL, or the node is out of reach", where=self._where
                )
            with contextlib.suppress(HostError):  # a process that left the group may hold the pipes open
                await self.wait(REAP_TIMEOUT_S)
        finally:  # also if the caller's timeout cancels this
            self.abandon()

    async def communicate(self, stdin: Iterable[bytes]) -> tuple[int, bytes, bytes]:
        """Feed ``stdin``, read everything, and return status, stdout and the end of stderr."""
        output: list[bytes] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed(stdin))
            group.create_task(self._collect(output))
        return await self._end(), b"".join(output), self._stderr

    async def _feed(self, stdin: Iterable[bytes]) -> None:
        with contextlib.suppress(ConnectionError):  # a command need not read stdin
            for chunk in stdin:
                await self._channel.write(chunk)
        self._channel.close_stdin()

    async def _collect(self, output: list[bytes]) -> None:
        with contextlib.suppress(ConnectionError):  # wait() reports it
            while chunk := await self._channel.read_stdout(_CHUNK_BYTES):
                output.append(chunk)

    def abandon(self) -> None:
        """Close this end and ignore the process's further output."""
        self._draining.cancel()
        self._channel.abandon()

    def connection_error(self, error: Exception) -> HostError:
        """Return the error for a connection that was lost during this command."""
        text = f"the connection was lost ({error}); the command may still run there"
        return HostError(text, where=self._where, hint="check that the node is up and its network works")


class BaseTransport:
    """The base of all transports; subclasses add :meth:`_open` and :meth:`forward`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._slots = asyncio.Semaphore(CONCURRENT_COMMANDS)
        self._foreground: weakref.WeakSet[ForegroundProcess] = weakref.WeakSet()

    @property
    def name(self) -> str:
        """The node's name in the cluster."""
        return self._name

    async def _open(self, command: Sequence[str]) -> Channel:
        """Start ``command`` (an ``sh`` vector) as the leader of a new session. Raises HostError."""
        raise NotImplementedError

    async def _launch(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> ForegroundProcess:
        token = f"assay-{secrets.token_hex(8)}"
        try:
            command = shell.wrap(argv, token, env, cwd)
        except ValueError as error:
            raise HostError(f"can't be run: {error}", where=f"{self.name}: {shell.describe(argv)}") from error
        open_task = asyncio.create_task(self._open(command))
        try:
            channel = await asyncio.shield(open_task)
        except asyncio.CancelledError:  # the node may have started it, so end it there
            with contextlib.suppress(HostError, TimeoutError):
                async with asyncio.timeout(START_TIMEOUT_S):
                    channel = await open_task
                await ForegroundProcess(self, argv, channel, token).terminate()
            raise
        return ForegroundProcess(self, argv, channel, token)

    async def kill(self, pid: int | None) -> bool:
        """End process group ``pid`` on the node. Return whether all its processes have ended."""
        if pid is None:
            return True
        killer = None
        try:
            async with asyncio.timeout(KILL_TIMEOUT_S):
                killer = await self._launch(shell.kill_command(pid))
                status, _, _ = await killer.communicate(())
        except (HostError, TimeoutError):
            return False
        finally:
            if killer is not None:
                killer.abandon()
        return status == 0

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
        """Run a command to its end; see :meth:`assay.execution.hosts.transport.Transport.run`."""
        return await self._run(argv, _slices(stdin), timeout_s, check=check, env=env, cwd=cwd)

    async def _run(
        self,
        argv: Sequence[str],
        stdin: Iterable[bytes],
        timeout_s: float,
        *,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        where = f"{self.name}: {shell.describe(argv)}"
        async with self._slots:
            process = await self._launch(argv, env, cwd)
            try:
                async with asyncio.timeout(timeout_s):
                    status, stdout, stderr = await process.communicate(stdin)
            except TimeoutError as error:
                await process.terminate()
                raise HostTimeoutError(f"took longer than {timeout_s:g} s and was ended", where=where) from error
            except asyncio.CancelledError:
                with contextlib.suppress(HostError):
                    await process.terminate()
                raise
            finally:
                process.abandon()
        if check and status != 0:
            raise CommandError(_failure_message(status, stderr), where=where)
        return CommandResult(tuple(argv), status, stdout, stderr)

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> RemoteProcess:
        """Start a command in the foreground; see :meth:`assay.execution.hosts.transport.Transport.start`."""
        process = await self._launch(argv, env, cwd)
        try:
            pid = await process.reported_pid(START_TIMEOUT_S)
        except asyncio.CancelledError:
            with contextlib.suppress(HostError):
                await process.terminate()
            raise
        if pid is None:
            process.abandon()
            raise HostError(f"did not start: {process.stderr_tail.strip()}", where=f"{self.name}: {argv[0]}")
        self._foreground.add(process)
        return process

    async def close(self) -> None:
        """Let the foreground processes see EOF; daemons keep running."""
        for process in self._foreground:
            process.close_stdin()

    def abandon(self) -> None:
        """Do nothing: there is no connection to drop."""

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        log: str,
        pid_file: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> int:
        """Start a daemon; see :meth:`assay.execution.hosts.transport.Transport.spawn`."""
        command = shell.spawn_command(argv, log, pid_file)
        result = await self._run(command, (), SPAWN_TIMEOUT_S, check=False, env=env, cwd=cwd)
        if result.exit_status != 0:
            where = f"{self.name}: {shell.describe(argv)}"
            raise HostError(_failure_message(result.exit_status, result.stderr), where=where)
        return int(result.stdout)

    async def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file, completely or not at all."""
        await self._file_command(f"write {path}", shell.write_command(path, mode), _slices(data), FILE_TIMEOUT_S)

    async def read_file(self, path: str) -> bytes:
        """Return a file's content."""
        return await self._file_command(f"read {path}", ["cat", "--", path], (), FILE_TIMEOUT_S)

    async def put_tree(self, local: Path, remote: str) -> None:
        """Copy the content of ``local`` into ``remote``, through a temporary tar file on this machine."""
        with tempfile.TemporaryFile(prefix="assay-") as archive:
            try:
                await asyncio.to_thread(_pack, local, archive)
            except OSError as error:
                raise HostError(f"{local} can't be read: {error}", where=f"{self.name}: copy to {remote}") from error
            await self._file_command(f"copy to {remote}", shell.put_command(remote), _chunks(archive), TREE_TIMEOUT_S)

    async def _file_command(self, action: str, argv: Sequence[str], stdin: Iterable[bytes], timeout_s: float) -> bytes:
        result = await self._run(argv, stdin, timeout_s, check=False)
        if result.exit_status != 0:
            raise HostError(_failure_message(result.exit_status, result.stderr), where=f"{self.name}: {action}")
        return result.stdout


def _failure_message(status: int, stderr: bytes) -> str:
    tail = "\n".join(stderr.decode(errors="replace").strip().splitlines()[-10:])
    status_text = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
    return f"{status_text}: {tail}" if tail else status_text


def _slices(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _CHUNK_BYTES] for start in range(0, len(data), _CHUNK_BYTES))


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK_BYTES), b"")


def _pack(local: Path, archive: IO[bytes]) -> None:
    with tarfile.open(fileobj=archive, mode="w|") as tar:
        for entry in sorted(local.iterdir()):
            tar.add(entry, arcname=entry.name)
    archive.seek(0)
