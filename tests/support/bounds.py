"""Define the memory and CPU limits for inputs of 10 MB; those for smaller inputs follow from them."""

from __future__ import annotations

SIZE_BYTES = 10_000_000
CPU_MAX_S = 5.0
BYTES_MAX = 200_000_000
CONSTANT_BYTES_MAX = 50_000_000
"""Memory that a parser may need for an input of any size; the rest of ``BYTES_MAX`` is proportional to the size."""
