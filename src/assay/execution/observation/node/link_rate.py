"""Send to another host for a given time, or receive, and print bytes and seconds. Needs no installation.

In, as JSON in argv[1]: ``seconds``: duration; ``word``: first bytes of the sender, so that other connections are
rejected; for a sender also ``host`` and ``port``. Without these it listens on a port chosen by the kernel. Out, one
JSON object per line: the receiver prints its port, then the bytes it received and seconds; the sender prints the bytes
it sent and seconds. The script always ends by itself.
"""

import json
import socket
import sys
import time
from typing import Any, Dict, Tuple

CHUNK_BYTES = 1 << 20
"""Size of each send and of each receive, in bytes."""
WAIT_S = 8.0
"""Maximum wait for the other side, and for a connection, in seconds."""


def print_line(values: Dict[str, Any]) -> None:
    """Print a JSON object as a line and flush."""
    print(json.dumps(values), flush=True)


def receive(connection: socket.socket, deadline: float) -> Tuple[int, float]:
    """Return received bytes, and the seconds until the last byte."""
    buffer = bytearray(CHUNK_BYTES)
    received_bytes, started_s, last_s = 0, time.monotonic(), time.monotonic()
    while time.monotonic() < deadline:
        length = connection.recv_into(buffer)
        if not length:
            break
        received_bytes, last_s = received_bytes + length, time.monotonic()
    return received_bytes, last_s - started_s


def listen(seconds: float, token: bytes) -> None:
    """Accept one sender that sends ``token``."""
    server = socket.socket()
    server.bind(("", 0))
    server.listen(4)
    server.settimeout(WAIT_S)
    print_line({"port": server.getsockname()[1]})
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        connection, _ = server.accept()
        connection.settimeout(WAIT_S)
        received_data = b""
        while len(received_data) < len(token):
            part = connection.recv(len(token) - len(received_data))
            if not part:
                break
            received_data += part
        if received_data == token:
            received_bytes, took_s = receive(connection, time.monotonic() + seconds + WAIT_S)
            print_line({"bytes": received_bytes, "seconds": took_s})
            return
        connection.close()


def send(host: str, port: int, seconds: float, token: bytes) -> None:
    """Send for the given time."""
    chunk = bytes(CHUNK_BYTES)
    connection = socket.create_connection((host, port), timeout=WAIT_S)
    connection.sendall(token)
    sent_bytes, began_s = 0, time.monotonic()
    while time.monotonic() - began_s < seconds:
        connection.sendall(chunk)
        sent_bytes += len(chunk)
    connection.close()
    print_line({"bytes": sent_bytes, "seconds": time.monotonic() - began_s})


def main() -> None:
    """Listen or send."""
    options = json.loads(sys.argv[1])
    token = options["word"].encode("ascii")
    try:
        if options.get("port"):
            send(options["host"], options["port"], options["seconds"], token)
        else:
            listen(options["seconds"], token)
    except OSError as error:
        print_line({"error": str(error)})


if __name__ == "__main__":
    main()
