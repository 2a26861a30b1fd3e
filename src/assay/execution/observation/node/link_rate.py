"""Send to another host for a moment, or take what it sends, and tell how fast that was; nothing has to be installed.

In, as JSON in argv[1]: ``seconds``: how long; ``word``: what the sender says first, so that no one else is taken; and,
to send, ``host`` and ``port``. Without these it listens at a port of the kernel's choosing. Out, one JSON object a
line: the port, then bytes and seconds of what arrived; the sender prints its own. It ends by itself in any case.
"""

import json
import socket
import sys
import time
from typing import Any, Dict, Tuple

CHUNK_BYTES = 1 << 20
WAIT_S = 8.0
"""For the other side to come, and for a connection."""


def print_line(values: Dict[str, Any]) -> None:
    """Print a line now."""
    print(json.dumps(values), flush=True)


def taken(connection: socket.socket, until: float) -> Tuple[int, float]:
    """Return bytes and seconds, from the first byte to the last that came until then."""
    buffer = bytearray(CHUNK_BYTES)
    count, began, last = 0, time.monotonic(), time.monotonic()
    while time.monotonic() < until:
        got = connection.recv_into(buffer)
        if not got:
            break
        count, last = count + got, time.monotonic()
    return count, last - began


def listen(seconds: float, word: bytes) -> None:
    """Take one sender that says ``word``."""
    server = socket.socket()
    server.bind(("", 0))
    server.listen(4)
    server.settimeout(WAIT_S)
    print_line({"port": server.getsockname()[1]})
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        connection, _ = server.accept()
        connection.settimeout(WAIT_S)
        heard = b""
        while len(heard) < len(word):
            more = connection.recv(len(word) - len(heard))
            if not more:
                break
            heard += more
        if heard == word:
            count, took_s = taken(connection, time.monotonic() + seconds + WAIT_S)
            print_line({"bytes": count, "seconds": took_s})
            return
        connection.close()


def send(host: str, port: int, seconds: float, word: bytes) -> None:
    """Send for so long."""
    chunk = bytes(CHUNK_BYTES)
    connection = socket.create_connection((host, port), timeout=WAIT_S)
    connection.sendall(word)
    count, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        connection.sendall(chunk)
        count += len(chunk)
    connection.close()
    print_line({"bytes": count, "seconds": time.monotonic() - began})


def main() -> None:
    """Do the one or the other."""
    options = json.loads(sys.argv[1])
    word = options["word"].encode("ascii")
    try:
        if options.get("port"):
            send(options["host"], options["port"], options["seconds"], word)
        else:
            listen(options["seconds"], word)
    except OSError as error:
        print_line({"error": str(error)})


if __name__ == "__main__":
    main()
