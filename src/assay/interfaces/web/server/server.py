"""Run the application with uvicorn behind a connection limiter and a rate-limited log.

In: the application, a listening socket and connection limits. Out: a uvicorn server and the socket that it accepts on.
"""

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from assay.interfaces.web.server.connections import ConnectionLimiter, ConnectionLimits, protocol_for
from assay.interfaces.web.server.log import RateLimitedHandler

HEADER_BYTES_MAX = 65_536
"""Maximum size of a request's header, in bytes."""
KEEP_ALIVE_S = 5
"""Maximum time between two requests on a connection, in seconds."""
BACKLOG = 128
"""Maximum number of connections that the kernel queues, and that the event loop accepts at a time."""


def server(
    app: FastAPI,
    listener: socket.socket,
    limits: ConnectionLimits,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    log_level: str = "warning",
) -> tuple[uvicorn.Server, ConnectionLimiter]:
    """Return the server and the socket to run it on. The socket takes over the descriptor of ``listener``."""
    limiter = ConnectionLimiter(listener, limits.within_descriptors())
    config = uvicorn.Config(
        app,
        http=protocol_for(limiter),
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
    return uvicorn.Server(config), limiter


@contextmanager
def rate_limited_log() -> Iterator[None]:
    """Write warnings and errors logged inside the block to stderr, with a rate limit for each kind of message."""
    handler, root = RateLimitedHandler(sys.stderr), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        with suppress(OSError):
            handler.close()
