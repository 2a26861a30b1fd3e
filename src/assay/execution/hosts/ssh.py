"""Reach a node by SSH, with asyncssh, which is imported for the first connection.

In: an :class:`assay.model.clusters.cluster.Address`. Out: an :class:`SshTransport`. One connection per node carries all
commands; it is checked every 10 s and dropped after 30 s without an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import socket
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.execution.hosts.base import BaseTransport, Channel
from assay.foundation.errors import HostError
from assay.model import Address
from assay.model.clusters.host_address import parse_host_address

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHClientProcess

KEEPALIVE_INTERVAL_S = 10
"""Time between two checks of a connection, in seconds."""
KEEPALIVE_COUNT = 3
"""Number of unanswered checks after which a connection is dropped."""
OPEN_TIMEOUT_S = 20.0
"""Maximum time for opening a session, in seconds."""
OPEN_ATTEMPTS = 40
"""Maximum number of attempts at opening a session."""
OPEN_RETRY_S = 0.05
"""Pause between two attempts at opening a session, in seconds."""
CLOSE_TIMEOUT_S = 5.0
"""Maximum time for closing a connection, in seconds."""
_T = TypeVar("_T")


async def connect_ssh(name: str, address: Address, *, connect_timeout_s: float = 10) -> SshTransport:
    """Connect to a node with the user's known hosts, SSH agent, keys and configuration.

    ``address`` may name another key and known-hosts file. Raises HostError if the host does not answer, refuses the
    connection or the login, or has an unknown key.
    """
    if address.jump is None:
        return SshTransport(name, await _open_connection(name, address, connect_timeout_s))
    jump = await _open_connection(f"{name}: jump", _jump_of(address), connect_timeout_s)
    try:
        connection = await _open_connection(name, address, connect_timeout_s, jump)
    except BaseException:
        jump.close()
        raise
    return SshTransport(name, connection, jump)


def _jump_of(address: Address) -> Address:
    """Return the address of the jump host, which uses the same key."""
    try:
        jump = parse_host_address(str(address.jump))
    except ValueError as error:
        raise HostError(str(error), where=f"jump {address.jump}") from error
    return replace(address, host=jump.host, port=jump.port or 22, user=jump.user or address.user, jump=None)


async def _open_connection(
    name: str, address: Address, timeout_s: float, jump: SSHClientConnection | None = None
) -> SSHClientConnection:
    import asyncssh  # imported here to keep start-up short

    options: dict[str, Any] = {}
    if address.user is not None:
        options["username"] = address.user
    if address.key is not None:
        options["client_keys"] = [address.key]
    if address.known_hosts is not None:
        options["known_hosts"] = address.known_hosts
    try:
        return await asyncssh.connect(
            address.host,
            address.port,
            tunnel=jump or (),
            connect_timeout=timeout_s,
            keepalive_interval=KEEPALIVE_INTERVAL_S,
            keepalive_count_max=KEEPALIVE_COUNT,
            preferred_auth="publickey",
            **options,
        )
    except (OSError, ValueError, asyncssh.Error, asyncssh.KeyImportError) as error:
        raise _connect_error(name, address, timeout_s, error) from error


def _connect_error(name: str, address: Address, timeout_s: float, error: Exception) -> HostError:
    """Return ``error`` as a HostError with a hint."""
    import asyncssh

    target = f"{address.user}@{address.host}" if address.user else address.host
    port, ssh_command = f"{address.host} port {address.port}", f"ssh -p {address.port} {target}"
    if isinstance(error, socket.gaierror):
        message, hint = (
            f"no host has the name {address.host!r}",
            "check the address in the cluster file, and the name service",
        )
    elif isinstance(error, TimeoutError):
        message, hint = (f"{port} does not answer within {timeout_s:g} s", "check that it is up")
    elif isinstance(error, ConnectionRefusedError):
        message = f"{address.host} refuses port {address.port}"
        hint = "check that sshd runs there and listens on this port"
    elif isinstance(error, asyncssh.HostKeyNotVerifiable):
        message, hint = _host_key_message(address, ssh_command)
    elif isinstance(error, asyncssh.PermissionDenied):
        message, hint = (
            f"{address.host} refused the login of {address.user or 'this user'}",
            (f"assay logs in with a key or an SSH agent, never with a password; make `{ssh_command}` work without one"),
        )
    elif isinstance(error, asyncssh.ChannelOpenError):
        message, hint = (f"{port} can't be reached from the jump host: {error}", f"try `{ssh_command}` there")
    elif isinstance(error, asyncssh.KeyImportError | FileNotFoundError | PermissionError):
        message, hint = (
            f"the key or known-hosts file can't be used: {error}",
            ("check `key` and `known_hosts` of the address; put a key with a passphrase into an SSH agent"),
        )
    elif isinstance(error, asyncssh.Error | ConnectionResetError):
        message, hint = (
            f"{port} does not speak SSH as expected: {error}",
            ("check the port, and sshd's MaxStartups when many log in at once"),
        )
    else:
        message, hint = f"{port} can't be reached: {error}", f"try `{ssh_command}`"
    return HostError(message, where=f"{name}: ssh", hint=hint)


def _host_key_message(address: Address, ssh_command: str) -> tuple[str, str]:
    import asyncssh

    file = address.known_hosts or "~/.ssh/known_hosts"
    keys: Sequence[object] = ()
    with contextlib.suppress(OSError, ValueError, asyncssh.Error):
        keys = asyncssh.match_known_hosts(str(Path(file).expanduser()), address.host, "", address.port)[0]
    if keys:
        return f"the host key of {address.host} is not the one in {file}", (
            "find out why before you trust it: the machine was reinstalled, or another machine answers. "
            f"Then `ssh-keygen -R '[{address.host}]:{address.port}'` and log in once by hand"
        )
    return (
        f"the host key of {address.host} is not known in {file}",
        f"log in once with `{ssh_command}` and accept the key",
    )


async def _await_translated(awaitable: Awaitable[_T]) -> _T:
    """Await, and turn asyncssh's errors for a lost connection into ConnectionError."""
    import asyncssh

    try:
        return await awaitable
    except (asyncssh.DisconnectError, asyncssh.ChannelOpenError) as error:
        raise ConnectionError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _SshChannel:
    process: SSHClientProcess[bytes]

    async def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        await _await_translated(self.process.stdin.drain())

    def close_stdin(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.write_eof()

    async def read_stdout(self, limit: int) -> bytes:
        return await _await_translated(self.process.stdout.read(limit))

    async def read_line(self) -> bytes:
        return await _await_translated(self.process.stdout.readline())

    async def read_stderr(self, limit: int) -> bytes:
        return await _await_translated(self.process.stderr.read(limit))

    async def wait(self) -> int:
        await _await_translated(self.process.wait_closed())
        status = self.process.returncode
        if status is None:
            raise ConnectionError("closed without an exit status")
        return status

    def abandon(self) -> None:
        self.process.close()


class SshTransport(BaseTransport):
    """Runs commands in sessions of one SSH connection."""

    def __init__(self, name: str, connection: SSHClientConnection, jump: SSHClientConnection | None = None) -> None:
        super().__init__(name)
        self._connection = connection
        self._jump = jump
        self._forwards: dict[tuple[str, int], int] = {}
        self._forwarding = asyncio.Lock()

    async def _open(self, command: Sequence[str]) -> Channel:
        import asyncssh

        line = f"exec {shlex.join(command)}"  # exec replaces the login shell: the pid is the session leader's
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                return _SshChannel(await self._session(line))
        except asyncssh.ChannelOpenError as error:
            hint = "check the node" if self._connection.is_closed() else "raise MaxSessions in its sshd_config"
            raise HostError(f"sshd refused a session: {error.reason}", where=f"{self.name}: ssh", hint=hint) from error
        except (OSError, asyncssh.Error) as error:
            text = f"the connection was lost: {error or 'no answer'}"
            raise HostError(text, where=f"{self.name}: ssh", hint="check that the node is up") from error

    async def _session(self, line: str) -> SSHClientProcess[bytes]:
        """Open a session. If too many sessions are open, retry: sshd frees an ended session with a delay."""
        import asyncssh

        for _ in range(OPEN_ATTEMPTS - 1):
            try:
                return await self._connection.create_process(line, encoding=None)
            except asyncssh.ChannelOpenError:
                if self._connection.is_closed():
                    raise
            await asyncio.sleep(OPEN_RETRY_S)
        return await self._connection.create_process(line, encoding=None)

    async def forward(self, host: str, port: int) -> tuple[str, int]:
        """Return a port on 127.0.0.1 that reaches ``host:port`` through the node; it lasts until :meth:`close`."""
        import asyncssh

        async with self._forwarding:
            if self._connection.is_closed():
                raise HostError("the connection was lost", where=f"{self.name}: forward to {host}:{port}")
            if (host, port) not in self._forwards:
                try:
                    listener = await self._connection.forward_local_port("127.0.0.1", 0, host, port)
                except (OSError, asyncssh.Error) as error:
                    where = f"{self.name}: forward to {host}:{port}"
                    raise HostError(f"port forwarding failed: {error}", where=where) from error
                self._forwards[host, port] = listener.get_port()
        return "127.0.0.1", self._forwards[host, port]

    def abandon(self) -> None:
        """Drop the connection without notifying the host."""
        self._connection.abort()

    async def close(self) -> None:
        """Close the connection. Daemons keep running; foreground processes see EOF."""
        await super().close()
        self._connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._connection.wait_closed()
        if self._jump:
            self._jump.close()
