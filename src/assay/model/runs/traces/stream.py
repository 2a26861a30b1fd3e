"""Bytes that each stream of a program moved, by second of a shared clock."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountedStream:
    """One stream: ``slot_bytes[i]`` in the second from ``first_slot + i`` on."""

    start_s: float
    """Start on the clock that all streams share, in seconds since its zero: for DFSIOE since 1970."""
    end_s: float
    first_slot: int
    slot_bytes: tuple[int, ...]

    @property
    def moved_bytes(self) -> int:
        """Bytes of all slots."""
        return sum(self.slot_bytes)
