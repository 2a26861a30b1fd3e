"""Runs of two configurations, one a night, of which one may become slower on a known date."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from assay.model import Run
from builders import make_run

FIRST = datetime(2026, 3, 1, 2, tzinfo=UTC)


def nightly_runs(ratio: float = 1.0, nights: int = 20, slow_from: int = 11, seed: int = 3) -> list[Run]:
    """Return the runs; on SS2 they take ``ratio`` times as long from night ``slow_from`` on. Times scatter by 2 %."""
    noise = random.Random(seed)
    runs: list[Run] = []
    for night in range(nights):
        for layout, base_s in (("HD2", 300.0), ("SS2", 200.0)):
            slower = ratio if layout == "SS2" and night >= slow_from else 1.0
            started = FIRST + timedelta(days=night, minutes=10 * (layout == "SS2"))
            runs.append(
                make_run(
                    len(runs),
                    layout=layout,
                    levels={"layout": layout, "build": f"b{night}"},
                    duration_s=base_s * slower * noise.lognormvariate(0, 0.02),
                    started_at=started.isoformat(),
                )
            )
    return runs
