"""How often somebody may show a token that is not known: a few times at once, then one every two seconds.

Wrong tries are counted for each address and, as addresses can be many, for all together. Whoever has none left is not
listened to, right token or not, as else guessing would go on as fast as before; a token that was right from the same
address before is always listened to, so that somebody else's guesses behind one proxy lock nobody out who is in.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

BURST: Final = 5
PER_S: Final = 0.5
BURST_OF_ALL: Final = 100
PER_S_OF_ALL: Final = 10.0
_KEPT_MAX: Final = 10_000
K = TypeVar("K")
V = TypeVar("V")


class Tries:
    """The tries of one server. ``clock``: seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """For each address how many tries were spent and not yet given back, and when that was reckoned."""
        self._spent_of_all = (0.0, clock())
        self._right: OrderedDict[tuple[str, str], None] = OrderedDict()

    def wait_s(self, address: str, hashed: str) -> float:
        """Return how long this address must wait before its token (SHA-256) is looked at; 0: not at all."""
        if (address, hashed) in self._right:
            return 0.0
        own = self._left(self._spent.get(address, (0.0, 0.0)), PER_S)
        everybody = self._left(self._spent_of_all, PER_S_OF_ALL)
        return max(0.0, (own + 1 - BURST) / PER_S, (everybody + 1 - BURST_OF_ALL) / PER_S_OF_ALL)

    def right(self, address: str, hashed: str) -> None:
        """Remember that this token was right."""
        _keep(self._right, (address, hashed), None)

    def wrong(self, address: str) -> None:
        """Count a wrong try."""
        now = self._clock()
        _keep(self._spent, address, (self._left(self._spent.get(address, (0.0, now)), PER_S) + 1, now))
        self._spent_of_all = (self._left(self._spent_of_all, PER_S_OF_ALL) + 1, now)

    def _left(self, spent: tuple[float, float], per_s: float) -> float:
        return max(0.0, spent[0] - (self._clock() - spent[1]) * per_s)


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _KEPT_MAX:
        kept.popitem(last=False)
