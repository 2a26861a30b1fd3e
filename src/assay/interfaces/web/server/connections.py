"""Limit connections: their number, in total and per address, and the duration of each part of a request.

uvicorn limits only the time between two requests (``timeout_keep_alive``). This module adds two parts:

- :class:`ConnectionLimiter` replaces the listening socket. It counts a connection from ``accept``, including the TLS
  handshake, until its descriptor is closed. At the limit it closes the connection with the earliest deadline. A
  connection has no deadline while the server works on its request; if this holds for all, a new connection gets 503.
  Idle clients therefore cannot exhaust the server's descriptors.
- :class:`TimeoutProtocol` sets the deadlines: the client must send its header, keep sending its body, and read the
  answer in time. Time that the server takes does not count.

Deadlines are seconds on the event loop's clock.
"""

import asyncio
import contextlib
import errno
import logging
import os
import resource
import socket
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from ipaddress import IPv6Address, ip_address
from typing import Any, Self

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_SWEEP_S = 0.5
"""Time between two checks of all deadlines, in seconds."""
_CLOSING_MAX = 64
"""Maximum number of connections that are being closed, in addition to the permitted connections."""
_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_OTHER_DESCRIPTORS = 192
"""Number of descriptors reserved for files of bundles, the index and threads."""
_DESCRIPTOR_ERRORS = (errno.EMFILE, errno.ENFILE)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on the number of connections, in total and per address, and on the duration of each part of a request."""

    connections: int = 500
    per_address: int = 100
    header_s: float = 20.0
    """Maximum time from the connection or the last answer to the end of the TLS handshake or the header, in seconds."""
    idle_s: float = 20.0
    """Maximum time without a received byte of the body, or without the client reading the answer, in seconds."""
    body_bytes_per_s: float = 1000.0
    """Minimum mean rate of a body after ``idle_s``, in bytes per second."""

    def within_descriptors(self) -> Self:
        """Return these limits, with ``connections`` reduced to the number that the process has descriptors for."""
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if descriptors == resource.RLIM_INFINITY:
            descriptors = 1 << 20
        connections_max = min(descriptors - _OTHER_DESCRIPTORS - _CLOSING_MAX, descriptors // 2)
        connections = max(4, min(self.connections, connections_max))
        per_address = max(2, min(self.per_address, connections * 3 // 4))
        return replace(self, connections=connections, per_address=per_address)


class Connection(socket.socket):
    """An accepted connection.

    ``deadline`` returns the time on the event loop's clock at which to end the connection, in seconds; None while the
    server works on its request.
    """

    address: str
    deadline: Callable[[], float | None]
    is_ending = False
    on_close: "Callable[[Connection], None] | None" = None

    def close(self) -> None:
        """Close the descriptor, and notify the limiter."""
        on_close, self.on_close = self.on_close, None
        if on_close is not None:
            on_close(self)
        super().close()

    def __del__(self) -> None:
        self.close()

    def end(self) -> None:
        """Shut the connection down; the event loop then closes it."""
        self.is_ending = True
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


class ConnectionLimiter(socket.socket):
    """A listening socket that takes over the descriptor of ``listener``. Only the event loop's thread uses it."""

    def __init__(self, listener: socket.socket, limits: ConnectionLimits) -> None:
        super().__init__(listener.family, listener.type, listener.proto, fileno=listener.detach())
        self.limits = limits
        self._connections: dict[int, Connection] = {}
        self._spare_descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._sweeping = False

    def connection(self, descriptor: int) -> Connection | None:
        """Return the connection with this descriptor."""
        return self._connections.get(descriptor)

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept the next permitted connection. Raises BlockingIOError, like a socket, if no connection is waiting."""
        while len(self._connections) < self.limits.connections + _CLOSING_MAX:
            try:
                accepted_socket, address = super().accept()
            except OSError as error:
                if error.errno not in _DESCRIPTOR_ERRORS:
                    raise
                self._close_next()
                continue
            connection = Connection(
                accepted_socket.family, accepted_socket.type, accepted_socket.proto, fileno=accepted_socket.detach()
            )
            connection.address = _client_network(address[0])
            if self._make_room(connection.address):
                self._add(connection)
                return connection, address
            _log.warning("refused a connection: the maximum number of requests is being answered")
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.send(_REFUSAL)
            connection.close()
        raise BlockingIOError(errno.EAGAIN, "too many connections are still being closed")

    def _add(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.limits.header_s
        connection.deadline = lambda: deadline
        connection.on_close = self._remove
        self._connections[connection.fileno()] = connection
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(_SWEEP_S, self._sweep, loop)

    def _remove(self, connection: Connection) -> None:
        self._connections.pop(connection.fileno(), None)

    def _make_room(self, address: str) -> bool:
        """End a connection if a new connection from ``address`` exceeds a limit; return False if that fails."""
        open_connections = [connection for connection in self._connections.values() if not connection.is_ending]
        connections_from_address = [connection for connection in open_connections if connection.address == address]
        if len(connections_from_address) >= self.limits.per_address:
            return _end_earliest(connections_from_address)
        if len(open_connections) < self.limits.connections:
            return True
        counts = Counter(connection.address for connection in open_connections)
        count_max = max(counts.values())
        connections_of_busiest = [
            connection for connection in open_connections if counts[connection.address] == count_max
        ]
        return _end_earliest(connections_of_busiest) or _end_earliest(open_connections)

    def _close_next(self) -> None:
        """Accept the next connection with the spare descriptor, and close it. Raises BlockingIOError if that fails."""
        _log.warning("closed a new connection: this process has no file descriptor left")
        _end_earliest(self._connections.values())
        os.close(self._spare_descriptor)
        try:
            super().accept()[0].close()
        except OSError as error:
            raise BlockingIOError(errno.EAGAIN, "no descriptor") from error
        finally:
            self._spare_descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self._connections.values()):
            deadline = None if connection.is_ending else connection.deadline()
            if deadline is not None and deadline <= now:
                connection.end()
        self._sweeping = bool(self._connections)
        if self._sweeping:
            loop.call_later(_SWEEP_S, self._sweep, loop)

    def close(self) -> None:
        """Stop listening."""
        descriptor, self._spare_descriptor = self._spare_descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
        super().close()


class TimeoutProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with deadlines. A subclass sets ``limiter``: the socket that accepts connections."""

    limiter: ConnectionLimiter

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._part_began_s = self._last_received_s = self.loop.time()
        self._part_bytes = 0
        self._in_body = False
        self._write_paused_s: float | None = None
        self._closing_began_s: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first header."""
        super().connection_made(transport)
        connection = self.limiter.connection(transport.get_extra_info("socket").fileno())
        if connection is not None:
            connection.deadline = self._deadline

    def data_received(self, data: bytes) -> None:
        """Count the bytes of the header or of the body."""
        super().data_received(data)
        self._last_received_s = self.loop.time()
        in_body = self.conn.their_state is h11.SEND_BODY
        if in_body != self._in_body:
            self._in_body, self._part_bytes, self._part_began_s = in_body, 0, self._last_received_s
        self._part_bytes += len(data)

    def on_response_complete(self) -> None:
        """Start the deadline of the next header."""
        self._in_body, self._part_bytes = False, 0
        self._part_began_s = self._last_received_s = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the deadline for the client to read the answer."""
        self._write_paused_s = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Stop the deadline for the client to read the answer: the client read a part of it."""
        self._write_paused_s = None
        super().resume_writing()

    def _deadline(self) -> float | None:
        """Return the time at which to end the connection; None while the server works on its request."""
        limits = self.limiter.limits
        if self.transport.is_closing():
            self._closing_began_s = self._closing_began_s or self.loop.time()
            return self._closing_began_s + limits.idle_s
        if self._write_paused_s is not None:
            return self._write_paused_s + limits.idle_s
        if self.conn.their_state is h11.IDLE:
            return self._part_began_s + limits.header_s
        if self.conn.their_state is not h11.SEND_BODY:
            return None
        if self.flow.read_paused:  # the server has not yet processed what it received
            self._last_received_s = self.loop.time()
            self._part_began_s = self._last_received_s - self._part_bytes / limits.body_bytes_per_s
            return None
        rate_deadline = self._part_began_s + limits.idle_s + self._part_bytes / limits.body_bytes_per_s
        return min(rate_deadline, self._last_received_s + limits.idle_s)


def protocol_for(limiter: ConnectionLimiter) -> type[TimeoutProtocol]:
    """Return the protocol class for the connections that ``limiter`` accepts."""
    return type("LimitedProtocol", (TimeoutProtocol,), {"limiter": limiter})


def _end_earliest(connections: Collection[Connection]) -> bool:
    """End the connection with the earliest deadline; return False if none has a deadline."""
    deadlines = [
        (deadline, connection)
        for connection in connections
        if not connection.is_ending and (deadline := connection.deadline()) is not None
    ]
    if not deadlines:
        return False
    min(deadlines, key=lambda pair: pair[0])[1].end()
    _log.warning("ended a connection that sent no complete request: the maximum number of connections is open")
    return True


def _client_network(address: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped) if ip.ipv4_mapped else ip.exploded[:19]
    return str(ip)
