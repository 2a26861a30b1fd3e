"""Read each disk for a second without the page cache, one after the other, and print the throughput. Writes nothing.

In, as JSON in argv[1]: ``disks``: their names; ``seconds``: duration per disk; ``bytes``: maximum per disk. Out: name
to bytes/s, and name to the reason if a disk can't be read. Needs root, or the group that may read block devices.
"""

import json
import mmap
import os
import sys
import time

BLOCK_BYTES = 1 << 20
"""Size of each read, in bytes."""


def rate(name: str, seconds: float, bytes_max: int) -> float:
    """Return the bytes/s of a sequential read from the start of the disk. Raises OSError."""
    buffer = mmap.mmap(-1, BLOCK_BYTES)
    file = os.open("/dev/" + name, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(file, [buffer], 0) if hasattr(os, "preadv") else os.readv(file, [buffer])
        read_bytes, started_s = 0, time.monotonic()
        while read_bytes < bytes_max and time.monotonic() - started_s < seconds:
            length = os.readv(file, [buffer])
            if length <= 0:
                break
            read_bytes += length
        return read_bytes / max(time.monotonic() - started_s, 1e-6)
    finally:
        os.close(file)
        buffer.close()


def main() -> None:
    """Print the throughput of all disks."""
    options = json.loads(sys.argv[1])
    rates, errors = {}, {}
    for name in options["disks"]:
        try:
            rates[name] = rate(name, options["seconds"], options["bytes"])
        except OSError as error:
            errors[name] = str(error)
    print(json.dumps({"rates": rates, "refused": errors}))


if __name__ == "__main__":
    main()
