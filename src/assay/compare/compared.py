"""A candidate level against the baseline level, of one matched set or of many: what charts and reports show alike."""

from typing import TypeAlias

from assay.compare.comparison import Comparison
from assay.compare.speedups import Speedup

Compared: TypeAlias = Comparison | Speedup
