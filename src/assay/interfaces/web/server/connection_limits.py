"""Who is let in: how many connections there are in all and from one address, and how long each may keep others waiting.

A :class:`Door` stands in the place of the listening socket. A connection is a guest from the moment it is accepted, TLS
handshake included, until its descriptor is closed. A guest whose patience is over (a moment on the loop's clock, in
seconds) is ended. When there are too many, the one whose patience ends first goes; guests whose request is being
answered have no such moment, and when there are only those, the new one is refused. So somebody who opens connections
and says nothing ends his own, and never runs the server out of descriptors.
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

_SWEEP_S = 0.5
_LEAVING_MAX = 64
"""As many may be on their way out beside those that are counted."""
_REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_OTHER_DESCRIPTORS = 192
"""What the server opens beside connections: files of bundles, the index, threads."""
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how long each part of a request may take (seconds)."""

    connections: int = 500
    per_address: int = 100
    header_s: float = 20.0
    """From the connection, or the last answer, to the end of the request's header; a TLS handshake has as long."""
    idle_s: float = 20.0
    """Without a byte of a body that the server waits for, or without taking a byte of the answer."""
    body_bytes_per_s: float = 1000.0
    """What a body must come in with on average, after ``idle_s``."""

    def within_descriptors(self) -> Self:
        """Return these limits, with no more connections than the process has descriptors for."""
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = most if most != resource.RLIM_INFINITY else 1 << 20
        connections = max(4, min(self.connections, room - _OTHER_DESCRIPTORS - _LEAVING_MAX, room // 2))
        per_address = max(2, min(self.per_address, connections * 3 // 4))
        return replace(self, connections=connections, per_address=per_address)


class Guest(socket.socket):
    """One connection. ``patience`` returns when it is to end, or None while the server works for it."""

    address: str
    patience: Callable[[], float | None]
    leaving = False
    leave: "Callable[[Guest], None] | None" = None

    def close(self) -> None:
        """Close the descriptor, and leave."""
        leave, self.leave = self.leave, None
        if leave is not None:
            leave(self)
        super().close()

    def __del__(self) -> None:
        self.close()

    def end(self) -> None:
        """Let the loop find that the connection has ended."""
        self.leaving = True
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


class Door(socket.socket):
    """The listening socket; it takes over ``listener``'s descriptor. Only the event loop's thread uses it."""

    def __init__(self, listener: socket.socket, limits: Limits) -> None:
        super().__init__(listener.family, listener.type, listener.proto, fileno=listener.detach())
        self.limits = limits
        self._guests: dict[int, Guest] = {}
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._sweeping = False

    def guest(self, descriptor: int) -> Guest | None:
        """Return the guest with this descriptor."""
        return self._guests.get(descriptor)

    def accept(self) -> tuple[socket.socket, Any]:
        """Let the next one in who may come. Raises BlockingIOError when nobody waits, as a socket does."""
        while len(self._guests) < self.limits.connections + _LEAVING_MAX:
            try:
                accepted, address = super().accept()
            except OSError as error:
                if error.errno not in _NO_DESCRIPTOR:
                    raise
                self._turn_away()
                continue
            guest = Guest(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
            guest.address = _party(address[0])
            if self._make_room(guest.address):
                self._enter(guest)
                return guest, address
            _log.warning("a connection was refused: as many requests are being answered as may be at once")
            guest.setblocking(False)
            with contextlib.suppress(OSError):
                guest.send(_REFUSED)
            guest.close()
        raise BlockingIOError(errno.EAGAIN, "those who leave have not left yet")

    def _enter(self, guest: Guest) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self.limits.header_s
        guest.patience = lambda: ends
        guest.leave = self._left
        self._guests[guest.fileno()] = guest
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(_SWEEP_S, self._sweep, loop)

    def _left(self, guest: Guest) -> None:
        self._guests.pop(guest.fileno(), None)

    def _make_room(self, address: str) -> bool:
        """End whoever must go so that one more from ``address`` may come; say whether that was possible."""
        here = [guest for guest in self._guests.values() if not guest.leaving]
        own = [guest for guest in here if guest.address == address]
        if len(own) >= self.limits.per_address:
            return _end_first(own)
        if len(here) < self.limits.connections:
            return True
        counts = Counter(guest.address for guest in here)
        most = max(counts.values())
        return _end_first([guest for guest in here if counts[guest.address] == most]) or _end_first(here)

    def _turn_away(self) -> None:
        """Take the next one's connection with the last descriptor, and close it. Raises BlockingIOError without one."""
        _log.warning("a connection was turned away: this process has no descriptor left")
        _end_first(self._guests.values())
        os.close(self._spare)
        try:
            super().accept()[0].close()
        except OSError as error:
            raise BlockingIOError(errno.EAGAIN, "no descriptor") from error
        finally:
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for guest in list(self._guests.values()):
            ends = None if guest.leaving else guest.patience()
            if ends is not None and ends <= now:
                guest.end()
        self._sweeping = bool(self._guests)
        if self._sweeping:
            loop.call_later(_SWEEP_S, self._sweep, loop)

    def close(self) -> None:
        """Stop listening."""
        spare, self._spare = self._spare, -1
        if spare >= 0:
            os.close(spare)
        super().close()


def _end_first(guests: Collection[Guest]) -> bool:
    """End the guest whose patience ends first; False when the server works for all of them."""
    ends = [(end, guest) for guest in guests if not guest.leaving and (end := guest.patience()) is not None]
    if not ends:
        return False
    min(ends, key=lambda pair: pair[0])[1].end()
    _log.warning("a connection that sent no whole request was ended: there are as many as may be at once")
    return True


def _party(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped) if found.ipv4_mapped else found.exploded[:19]
    return str(found)
