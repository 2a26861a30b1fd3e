"""Find TCP ports that are free on this machine, for a cluster on the machine itself."""

import socket


def free_ports(count: int) -> list[int]:
    """Return ``count`` distinct ports that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in sockets]
    finally:
        for listener in sockets:
            listener.close()
