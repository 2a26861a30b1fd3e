"""Define the memory and CPU limits for inputs of 10 MB."""

from __future__ import annotations

CPU_MAX_S = 5.0
BYTES_MAX = 200_000_000
