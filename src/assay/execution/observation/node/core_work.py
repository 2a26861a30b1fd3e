"""Measure the CPU time of a core for fixed work: sorting, counting, checksums, compression.

In: ``{"rounds": n}``. Out: CPU seconds of each round by kind of work, as JSON. One thread; needs Python 3.6. The input
is SHA-256 of a counter, so its bytes are the same everywhere.
"""

import hashlib
import json
import sys
import time
import zlib
from typing import Callable, Dict, List


def blocks(count: int) -> List[bytes]:
    """Return ``count`` blocks of 32 bytes."""
    return [hashlib.sha256(str(number).encode()).digest() for number in range(count)]


def main() -> None:
    """Run the work and print its CPU times."""
    rounds = int(json.loads(sys.argv[1])["rounds"])
    data_blocks = blocks(60000)
    keys = [block[offset : offset + 10] for block in data_blocks for offset in (0, 10, 20)]
    words = [block.hex()[:3] for block in data_blocks]
    data = b"".join(data_blocks)
    text = " ".join(words).encode() * 4

    def count() -> object:
        counts: Dict[str, int] = {}
        for word in words * 4:
            counts[word] = counts.get(word, 0) + 1
        return counts

    work: Dict[str, Callable[[], object]] = {
        "sort": lambda: sorted(keys),
        "count": count,
        "checksum": lambda: [zlib.crc32(data) for _ in range(40)],
        "compress": lambda: zlib.compress(text, 1),
    }
    times: Dict[str, List[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run_work in work.items():
            started_s = time.process_time()
            run_work()
            times[name].append(time.process_time() - started_s)
    print(json.dumps(times))


main()
