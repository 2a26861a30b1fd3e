"""What an input of 10 MB may take of a parser, or of the reader of packages."""

from __future__ import annotations

CPU_MAX_S = 5.0
BYTES_MAX = 200_000_000
