"""How long a connection may take for each part of a request: uvicorn's HTTP/1.1 protocol, with an end to every wait.

uvicorn bounds the time between two requests (``timeout_keep_alive``) and nothing else. Here a header must be whole and
a body must keep coming in, an answer must be taken, and a connection that is being closed must close
(:class:`assay.interfaces.web.server.connection_limits.Limits` has the times). While the server itself is what is waited
for, nothing is counted.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.interfaces.web.server.connection_limits import Door, Guest, Limits


class Patient(H11Protocol):
    """One connection's protocol. ``door``, which knows its guests by their descriptors, is set by a subclass."""

    door: Door

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waited_from = self._moved = self.loop.time()
        self._bytes = 0
        self._in_body = False
        self._writing_from: float | None = None
        self._closing_from: float | None = None

    @property
    def _limits(self) -> Limits:
        return self.door.limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        guest = self.door.guest(transport.get_extra_info("socket").fileno())
        if isinstance(guest, Guest):
            guest.patience = self._ends

    def data_received(self, data: bytes) -> None:
        """Count what comes in, for the part of the request that it belongs to."""
        super().data_received(data)
        self._moved = self.loop.time()
        in_body = self.conn.their_state is h11.SEND_BODY
        if in_body != self._in_body:
            self._in_body, self._bytes, self._waited_from = in_body, 0, self._moved
        self._bytes += len(data)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._in_body, self._bytes = False, 0
        self._waited_from = self._moved = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to wait for whoever takes the answer."""
        self._writing_from = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on: some of the answer was taken."""
        self._writing_from = None
        super().resume_writing()

    def _ends(self) -> float | None:
        """Return when the patience with this connection ends; None while it is the server that takes its time."""
        limits = self._limits
        if self.transport.is_closing():
            self._closing_from = self._closing_from or self.loop.time()
            return self._closing_from + limits.idle_s
        if self._writing_from is not None:
            return self._writing_from + limits.idle_s
        if self.conn.their_state is h11.IDLE:
            return self._waited_from + limits.header_s
        if self.conn.their_state is not h11.SEND_BODY:
            return None
        if self.flow.read_paused:
            self._moved = self.loop.time()  # the server has not taken yet what came
            self._waited_from = self._moved - self._bytes / limits.body_bytes_per_s
            return None
        slow = self._waited_from + limits.idle_s + self._bytes / limits.body_bytes_per_s
        return min(slow, self._moved + limits.idle_s)


def patient(door: Door) -> type[Patient]:
    """Return the protocol of the connections that come in by ``door``."""
    return type("PatientAtDoor", (Patient,), {"door": door})
