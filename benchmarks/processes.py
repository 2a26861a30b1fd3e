"""Draw repositories whose runs depend on each other, as measured runs do, for the error rates.

Each function returns :class:`DrawnRuns`: a table of runs and the truth. Times are log-normal around a base of some 400
s. A session multiplies all times of a day by a common factor. Clusters and factors change the gain of a level. The
docstring of a function states the size and shape of the noise. Runs of a session start every ten minutes, and sessions
are a week apart. All draws come from the caller's generator, so a seed gives the same repositories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics.runs.run_table import RunTable, coded

Rng = np.random.Generator
Array = NDArray[np.float64]
SESSION_SPREAD = 0.08
"""Standard deviation of a session's effect on log times."""
NOISE = 0.05
APART = 0.10
"""Standard deviation of the gain of a level, between clusters or between levels of another factor."""
DRIFT_RUNS = 12.0
"""Number of runs over which the drift of a cluster is correlated: two hours."""
_BETWEEN_RUNS_S = 600.0
_BETWEEN_SESSIONS_S = 7 * 86400.0
BASE_LOG_S = 6.0
"""Logarithm of the base time in seconds."""


@dataclass(frozen=True, slots=True)
class DrawnRuns:
    """A table with the true log gain of level B (or of each level) over level A."""

    table: RunTable
    log_gain: float
    log_gains_here: dict[str, float] = field(default_factory=dict)
    """The true mean log gain on the clusters that were measured, by workload, where it differs between clusters."""


def table_of(rows: Sequence[dict[str, str]], logs: Array, started_unix_s: Array, **metrics: Array) -> RunTable:
    """Return a table of measured, valid runs; NaN: the start is unknown."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: coded([row.get(name) for row in rows]) for name in names}
    columns |= {"origin": coded(["measured"] * len(rows)), "status": coded(["valid"] * len(rows))}
    order = np.argsort(np.where(np.isfinite(started_unix_s), started_unix_s, 0.0), kind="stable")
    columns = {name: type(column)(column.codes[order], column.levels) for name, column in columns.items()}
    values = {"duration_s": np.exp(BASE_LOG_S + logs), "started_unix_s": started_unix_s, **metrics}
    return RunTable(np.arange(len(rows)), columns, {name: value[order] for name, value in values.items()})


def starts(session: NDArray[np.int64]) -> Array:
    """Return the start of each run; runs are listed in their order, each with its session."""
    return session * _BETWEEN_SESSIONS_S + np.arange(len(session)) * _BETWEEN_RUNS_S


def one_after_the_other(
    rng: Rng,
    gain: float = 1.0,
    *,
    levels: int = 2,
    sessions: int = 1,
    runs: int = 5,
    dated: bool = True,
    spread: float = SESSION_SPREAD,
) -> DrawnRuns:
    """Draw all levels in turn, each in ``sessions`` sessions that no other level shares: A … A, then B … B.

    ``spread``: standard deviation of a session's effect on log times.
    """
    level = np.repeat(np.arange(levels), sessions * runs)
    session = np.repeat(np.arange(levels * sessions), runs)
    logs = rng.normal(0, spread, levels * sessions)[session] + rng.normal(0, NOISE, len(level))
    logs -= np.log(gain) * (level > 0)
    rows = [{"workload": "terasort", "layout": f"L{n}"} for n in level]
    started_unix_s = starts(session) if dated else np.full(len(level), np.nan)
    return DrawnRuns(table_of(rows, logs, started_unix_s), float(np.log(gain)))


def with_known_sessions(
    rng: Rng, gain: float = 1.0, *, workloads: int = 5, sessions: int = 10, runs: int = 5
) -> DrawnRuns:
    """Draw one session per side, in a repository whose other workloads show how much sessions differ.

    Each of the other workloads has three runs in each of ``sessions`` sessions, all with layout A.
    """
    compared = one_after_the_other(rng, gain, runs=runs)
    session = np.repeat(np.arange(workloads * sessions), 3)
    logs = rng.normal(0, SESSION_SPREAD, workloads * sessions)[session] + rng.normal(0, NOISE, len(session))
    rows = [{"workload": "terasort", "layout": compared.table.columns["layout"].text(n) or ""} for n in range(2 * runs)]
    rows += [{"workload": f"other{n // sessions}", "layout": "L0"} for n in session]
    logs = np.concatenate((np.log(compared.table.values["duration_s"]) - BASE_LOG_S, logs))
    started_unix_s = np.concatenate((compared.table.values["started_unix_s"], starts(session + 10)))
    return DrawnRuns(table_of(rows, logs, started_unix_s), compared.log_gain)


def in_blocks(rng: Rng, gain: float = 1.0, *, sessions: int = 1, blocks: int = 5, levels: int = 2) -> DrawnRuns:
    """Draw campaigns of a plan: blocks A B, B A, … within each session, in assay's order of runs."""
    turns = range(levels)
    level = np.array([(block + turn) % levels for _ in range(sessions) for block in range(blocks) for turn in turns])
    session = np.repeat(np.arange(sessions), levels * blocks)
    logs = rng.normal(0, SESSION_SPREAD, sessions)[session] + rng.normal(0, NOISE, len(level))
    logs -= np.log(gain) * (level > 0)
    rows = [
        {"workload": "terasort", "layout": f"L{n}", "campaign_id": f"c{s}"} for n, s in zip(level, session, strict=True)
    ]
    return DrawnRuns(table_of(rows, logs, starts(session)), float(np.log(gain)))


def partly_alternating(rng: Rng, gain: float = 1.0, *, rounds: int = 5, groups: int = 1) -> DrawnRuns:
    """Draw one session with four options: L0 and L1 in turns, then all runs of L2, then all of L3.

    Each option has ``rounds`` runs in each of ``groups`` matched groups. The cluster drifts.
    """
    runs = [group for _ in range(rounds) for group in range(groups)]
    in_turns = [(turn ^ (number % 2), group) for number, group in enumerate(runs) for turn in (0, 1)]
    cells = in_turns + [(level, group) for level in (2, 3) for group in runs]
    return _drifting(rng, gain, [("terasort", level, group) for level, group in cells])


def alternating_over_workloads(rng: Rng, gain: float = 1.0, *, workloads: int = 4, groups: int = 10) -> DrawnRuns:
    """Draw one session in which each workload runs with all groups of L0, then with all groups of L1. It drifts."""
    names = ("terasort", *(f"w{number}" for number in range(1, workloads)))
    return _drifting(rng, gain, [(name, level, group) for name in names for level in (0, 1) for group in range(groups)])


def _drifting(rng: Rng, gain: float, cells: Sequence[tuple[str, int, int]]) -> DrawnRuns:
    """Draw the runs (workload, level, group) of one session in this order, on a cluster that drifts by
    :data:`SESSION_SPREAD`, correlated over :data:`DRIFT_RUNS` runs."""
    correlation = np.exp(-1 / DRIFT_RUNS)
    drift = rng.normal(0, SESSION_SPREAD, len(cells))
    for run in range(1, len(cells)):
        drift[run] = correlation * drift[run - 1] + np.sqrt(1 - correlation**2) * drift[run]
    level = np.array([level for _, level, _ in cells])
    logs = drift + rng.normal(0, NOISE, len(cells)) - np.log(gain) * (level > 0)
    rows = [{"workload": name, "layout": f"L{n}", "dfs.blocksize": str(group)} for name, n, group in cells]
    return DrawnRuns(table_of(rows, logs, starts(np.zeros(len(cells), dtype=np.int64))), float(np.log(gain)))


def unequal(rng: Rng, gain: float = 1.0, *, bimodal: bool, small: int = 3, large: int = 20) -> DrawnRuns:
    """Draw three runs against twenty in one session, in random order.

    Bimodal: one run of three takes 20 % longer, on either side. Otherwise the small side scatters by 10 %, the large
    one by 3 %.
    """
    level = rng.permutation(np.repeat([0, 1], [large, small]))
    logs = rng.normal(0, 0.02, len(level)) + np.log(1.2) * (rng.random(len(level)) < 1 / 3)
    if not bimodal:
        logs = rng.normal(0, 1, len(level)) * np.where(level == 1, 0.10, 0.03)
    rows = [{"workload": "terasort", "layout": f"L{n}"} for n in level]
    started_unix_s = starts(np.zeros(len(level), dtype=np.int64))
    return DrawnRuns(table_of(rows, logs - np.log(gain) * level, started_unix_s), float(np.log(gain)))


def uneven_levels(
    rng: Rng, *, runs: tuple[int, ...] = (2, 2, 20, 20), spreads: tuple[float, ...] = (0.10, 0.10, 0.02, 0.02)
) -> DrawnRuns:
    """Draw equal levels with these numbers of runs and spreads, in one session and in random order."""
    level = rng.permutation(np.repeat(np.arange(len(runs)), runs))
    logs = rng.normal(0, 1, len(level)) * np.array(spreads)[level]
    rows = [{"workload": "terasort", "layout": f"L{n}"} for n in level]
    return DrawnRuns(table_of(rows, logs, starts(np.zeros(len(level), dtype=np.int64))), 0.0)


def claims_in_sessions(rng: Rng, gain: float = 1.0, *, apart: bool, groups: int = 8) -> DrawnRuns:
    """Draw SSDs and hard disks on TeraSort and wordcount: each in a session (``apart``), or in turns in one."""
    cells = [(name, block, ssd) for name in ("terasort", "wordcount") for block in range(groups) for ssd in (0, 1)]
    cells = sorted(cells, key=lambda cell: cell[2]) if apart else cells
    session = np.array([ssd if apart else 0 for _, _, ssd in cells])
    logs = rng.normal(0, SESSION_SPREAD, 2)[session] + rng.normal(0, 0.03, len(cells))
    logs -= np.log(gain) * np.array([ssd for _, _, ssd in cells])
    rows = [
        {
            "workload": name,
            "layout": ("HDD", "SSD")[ssd],
            "layout_devices": ("1 hdd", "1 ssd")[ssd],
            "dfs.blocksize": str(b),
        }
        for name, b, ssd in cells
    ]
    return DrawnRuns(table_of(rows, logs, starts(session)), float(np.log(gain)))


def depends_on_factor(
    rng: Rng,
    gain: float = 1.0,
    *,
    levels: int = 3,
    groups: int = 4,
    options: int = 1,
    workloads: int = 1,
    apart: float = APART,
) -> DrawnRuns:
    """Draw gains that differ by ``apart`` between the levels of another factor, each with ``groups`` matched groups.

    The gains are independent between ``options`` and ``workloads``.
    """
    rows, logs = [], []
    for workload in range(workloads):
        effects = np.vstack([np.zeros(levels), np.log(gain) + rng.normal(0, apart, (options, levels))])
        for level in range(levels):
            for number in range(groups):
                for layout in range(options + 1):
                    rows.append(
                        {
                            "workload": f"w{workload}" if workload else "terasort",
                            "layout": f"L{layout}",
                            "dfs.blocksize": str(64 * (1 + level)),
                            "io.sort.factor": str(number),
                        }
                    )
                    group_effect = rng.normal(0, 0.02) if layout else 0.0
                    logs.append(-effects[layout, level] - group_effect + rng.normal(0, 0.03))
    started_unix_s = starts(np.zeros(len(rows), dtype=np.int64))
    return DrawnRuns(table_of(rows, np.array(logs), started_unix_s), float(np.log(gain)))


def clusters_apart(rng: Rng, gain: float = 1.0, *, clusters: int = 2, groups: int = 8) -> DrawnRuns:
    """Draw SSDs and hard disks on TeraSort and wordcount; their gain differs by 10 % from cluster to cluster."""
    rows, logs = [], []
    log_gains = dict.fromkeys(("terasort", "wordcount"), float(np.log(gain)))
    for cluster in range(clusters):
        for workload in log_gains:
            effect = rng.normal(0, APART)
            log_gains[workload] += effect / clusters
            for block in range(groups):
                for layout, devices in (("HDD", "1 hdd"), ("SSD", "1 ssd")):
                    rows.append(
                        {
                            "workload": workload,
                            "cluster": f"c{cluster}",
                            "layout": layout,
                            "layout_devices": devices,
                            "dfs.blocksize": str(block),
                        }
                    )
                    logs.append(-(np.log(gain) + effect) * (layout == "SSD") + rng.normal(0, 0.03))
    started_unix_s = starts(np.zeros(len(rows), dtype=np.int64))
    return DrawnRuns(table_of(rows, np.array(logs), started_unix_s), float(np.log(gain)), log_gains)


def many_workloads(rng: Rng, *, workloads: int = 15, levels: int = 4, groups: int = 6) -> DrawnRuns:
    """Draw fifteen workloads with four equal levels: each of them is one of the fastest."""
    rows = [
        {"workload": f"w{workload:02d}", "layout": f"L{level}", "dfs.blocksize": str(block)}
        for workload in range(workloads)
        for block in range(groups)
        for level in range(levels)
    ]
    started_unix_s = starts(np.zeros(len(rows), dtype=np.int64))
    return DrawnRuns(table_of(rows, rng.normal(0, NOISE, len(rows)), started_unix_s), 0.0)


def confounded(rng: Rng, gain: float = 1.0, *, clusters: int = 6, runs: int = 4) -> DrawnRuns:
    """Draw layout A on some clusters and layout B on others; clusters differ by 30 %."""
    cluster = np.repeat(np.arange(clusters), runs)
    level = (cluster >= clusters // 2).astype(np.int64)
    logs = rng.normal(0, 0.3, clusters)[cluster] + rng.normal(0, NOISE, len(cluster)) - np.log(gain) * level
    rows = [
        {"workload": "terasort", "layout": f"L{n}", "cluster": f"c{c}"} for n, c in zip(level, cluster, strict=True)
    ]
    return DrawnRuns(table_of(rows, logs, starts(cluster)), float(np.log(gain)))


def repetitions(rng: Rng, *, noise: float, configurations: int = 30, runs: int = 3) -> RunTable:
    """Draw configurations with three repetitions each that scatter by ``noise``; none is an outlier."""
    rows = [{"workload": "terasort", "dfs.blocksize": str(n)} for n in range(configurations) for _ in range(runs)]
    logs = np.repeat(rng.normal(0, 0.5, configurations), runs) + rng.normal(0, noise, len(rows))
    return table_of(rows, logs, starts(np.zeros(len(rows), dtype=np.int64)))


def histories_in_sessions(rng: Rng, *, configurations: int = 20, sessions: int = 6, runs: int = 5) -> RunTable:
    """Draw twenty configurations with five runs in each of six sessions; only the sessions differ."""
    rows, logs, started_unix_s = [], [], []
    for session in range(sessions):
        for number in range(configurations):
            effect = rng.normal(0, SESSION_SPREAD)
            for run in range(runs):
                rows.append({"workload": "terasort", "dfs.blocksize": str(number)})
                logs.append(effect + rng.normal(0, NOISE))
                started_unix_s.append(session * _BETWEEN_SESSIONS_S + (number * runs + run) * 60.0)
    return table_of(rows, np.array(logs), np.array(started_unix_s))


def random_walks(rng: Rng, *, configurations: int = 20, runs: int = 30, step: float = 0.02) -> RunTable:
    """Draw twenty configurations whose level is a random walk of 2 % per run."""
    rows = [{"workload": "terasort", "dfs.blocksize": str(n)} for n in range(configurations) for _ in range(runs)]
    logs = np.cumsum(rng.normal(0, step, (configurations, runs)), axis=1) + rng.normal(0, 0.02, (configurations, runs))
    return table_of(rows, logs.ravel(), np.tile(np.arange(runs) * 86400.0, configurations))
