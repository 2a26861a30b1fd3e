"""The server itself: an application behind a door, on a socket that listens, until it is told to end."""

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from assay.interfaces.web.server.connection_limits import Door, Limits
from assay.interfaces.web.server.log import Counted
from assay.interfaces.web.server.timeouts import patient

HEADER_BYTES_MAX = 65_536
KEEP_ALIVE_S = 5
BACKLOG = 128
"""Connections that the kernel keeps until they are accepted, and that are accepted in one turn of the loop."""


def server(
    app: FastAPI,
    listener: socket.socket,
    limits: Limits,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    log_level: str = "warning",
) -> tuple[uvicorn.Server, Door]:
    """Return the server, to be run with the door as its socket; the door takes the listener's descriptor over."""
    door = Door(listener, limits.within_descriptors())
    config = uvicorn.Config(
        app,
        http=patient(door),
        ws="none",
        log_level=log_level,
        log_config=None,
        access_log=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        h11_max_incomplete_event_size=HEADER_BYTES_MAX,
    )
    return uvicorn.Server(config), door


@contextmanager
def counted_log() -> Iterator[None]:
    """Write what is logged at a warning's level and above to stderr, counted, inside the block."""
    handler, root = Counted(sys.stderr), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        with suppress(OSError):
            handler.close()
