"""Measure how often each kind of statement is wrong: compare, speedup, changes, findings, cost, anomalies.

Draws repositories with a known truth as tables of runs with log-normal times that scatter by 5 %, answers each question
as its command does, and counts repositories with any wrong statement, and how often a true effect is stated. Separate
benchmarks measure speedups (``matched_errors.py``), single verdicts (``verdict_errors.py``) and histories
(``change_errors.py``); this one judges whole answers, as users read them.

Run it with ``python benchmarks/statement_errors.py``; it prints a Markdown table. With 500 repositories per row, the 95
% interval of a rate of 5 % is ±2 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from cost_errors import decision_on_costs
from dependence_errors import one_price
from numpy.typing import NDArray

from assay.analysis.changes import histories
from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.matched import match
from assay.analysis.comparison.significance import fastest_levels
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.outliers.anomalies import Kind, find_anomalies
from assay.analysis.statistics import Verdict
from assay.analysis.statistics.runs.run_table import Column, RunTable, coded, table_of
from assay.model import Run
from assay.model.runs.imported import foreign_run
from assay.questions.claims.claims import ClaimAnswer
from assay.questions.claims.findings import findings
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import CostVerdict, DecisionRequest

SCATTER = 0.05
Rng = np.random.Generator
Array = NDArray[np.float64]
Outcome = tuple[bool, float]
"""Whether any statement of an answer is wrong, and the share of true effects that it states (NaN: none exists)."""
NO_VALUE = float("nan")
MAPS, COMPRESS = "mapreduce.tasktracker.map.tasks.maximum", "mapreduce.map.output.compress"


def table_of_rows(rows: list[dict[str, str]], seconds: Array, **metrics: Array) -> RunTable:
    """Return a table of measured, valid runs, a minute apart, with these metrics."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Column] = {name: coded([row.get(name) for row in rows]) for name in names}
    columns |= {"origin": coded(["measured"] * len(rows)), "status": coded(["valid"] * len(rows))}
    started: Array = np.arange(len(rows), dtype=np.float64) * 60.0
    return RunTable(np.arange(len(rows)), columns, {"duration_s": seconds, "started_unix_s": started, **metrics})


def times(rng: Rng, logs: Array) -> Array:
    """Return times around these logarithms."""
    return np.asarray(np.exp(6 + logs + rng.normal(0, SCATTER, len(logs))))


def in_turns(listed_runs: list[Run], runs: int) -> list[Run]:
    """Return runs that are listed by level, ``runs`` of each, started in turns as a plan's blocks are."""
    levels = len(listed_runs) // runs
    return [
        replace(run, started_at=f"2026-01-05T{10 + minute // 60:02d}:{minute % 60:02d}:00Z")
        for number, run in enumerate(listed_runs)
        for minute in [number % runs * levels + number // runs]
    ]


def of_compare(rng: Rng, gain: float, levels: int = 9, runs: int = 5) -> Outcome:
    """Compare a baseline with eight levels that are ``gain`` times as fast, in one group."""
    drawn_runs = [
        foreign_run(workload="terasort", layout=f"L{level}", duration_s=float(seconds), started_at="")
        for level in range(levels)
        for seconds in times(rng, np.full(runs, -np.log(gain) * (level > 0)))
    ]
    verdicts = [
        comparison.verdict for comparison in compare(in_turns(drawn_runs, runs), factor="layout", baseline="L0")
    ]
    expected_verdict = Verdict.FASTER if gain > 1 else Verdict.NOT_DISTINGUISHABLE
    wrong_verdicts = {Verdict.FASTER, Verdict.SLOWER} - {expected_verdict}
    right_share = sum(verdict is expected_verdict for verdict in verdicts) / len(verdicts)
    return any(verdict in wrong_verdicts for verdict in verdicts), right_share if gain > 1 else NO_VALUE


def of_speedup(rng: Rng, gain: float, levels: int = 9, groups: int = 10) -> Outcome:
    """Estimate speedups over ten groups with one run per side; gains differ by 10 % between groups."""
    rows = [{"workload": "terasort", "layout": f"L{n}", "block": str(s)} for s in range(groups) for n in range(levels)]
    effects = rng.normal(0, 0.1 / np.sqrt(2), len(rows))
    log_speeds = np.array([np.log(gain) * (row["layout"] != "L0") for row in rows]) + effects
    speedups = speedups_of(match(table_of_rows(rows, times(rng, -log_speeds)), "layout"), "L0")
    verdicts = [speedup.verdict for speedup in speedups]
    expected_verdict = Verdict.FASTER if gain > 1 else Verdict.NOT_DISTINGUISHABLE
    wrong_verdicts = {Verdict.FASTER, Verdict.SLOWER} - {expected_verdict}
    right_share = sum(verdict is expected_verdict for verdict in verdicts) / len(verdicts)
    return any(verdict in wrong_verdicts for verdict in verdicts), right_share if gain > 1 else NO_VALUE


def of_fastest(rng: Rng, gain: float, levels: int = 9, groups: int = 10) -> Outcome:
    """Find the fastest candidates. The runs are as in :func:`of_speedup`, but only the first level is ``gain`` times as
    fast, so only it should remain."""
    rows = [{"workload": "terasort", "layout": f"L{n}", "block": str(s)} for s in range(groups) for n in range(levels)]
    effects = rng.normal(0, 0.1 / np.sqrt(2), len(rows))
    log_speeds = np.array([np.log(gain) * (row["layout"] == "L0") for row in rows]) + effects
    (best,) = fastest_levels(match(table_of_rows(rows, times(rng, -log_speeds)), "layout"))
    return "L0" not in best.fastest_candidates, len(best.slower) / (levels - 1) if gain > 1 else NO_VALUE


def of_changes(rng: Rng, gain: float, correlation: float = 0.3, configurations: int = 20, runs: int = 20) -> Outcome:
    """Search twenty histories of twenty correlated runs for changes; one becomes faster in the middle."""
    logs = rng.standard_normal((configurations, runs))
    for run in range(1, runs):
        logs[:, run] = correlation * logs[:, run - 1] + np.sqrt(1 - correlation**2) * logs[:, run]
    logs *= SCATTER
    logs[0, runs // 2 :] -= np.log(gain)
    rows = [{"workload": "terasort", "block": str(n)} for n in range(configurations) for _ in range(runs)]
    changes = histories(table_of_rows(rows, np.exp(6 + logs.ravel())))
    changed_rows = {int(change.position) // runs for change in changes.changed}
    return bool(changed_rows - ({0} if gain > 1 else set())), float(0 in changed_rows) if gain > 1 else NO_VALUE


def of_findings(rng: Rng, gain: float, groups: int = 8) -> Outcome:
    """Test the two claims on SSDs, which are ``gain`` times as fast on TeraSort and wordcount; gains differ by 5 %
    between groups."""
    rows = [
        {"workload": name, "layout": layout, "layout_devices": devices, "dfs.blocksize": str(block)}
        for name in ("terasort", "wordcount")
        for block in range(groups)
        for layout, devices in (("HDD", "1 hdd"), ("SSD", "1 ssd"))
    ]
    log_speeds = np.array([np.log(gain) * (row["layout"] == "SSD") for row in rows]) + rng.normal(0, 0.05, len(rows))
    (claims,) = findings(table_of_rows(rows, times(rng, -log_speeds))).values()
    answers = {claim.name: claim.answer for claim in claims}
    truth = {"ssd-helps-shuffle": gain > 1, "ssd-not-for-cpu": gain <= 1.1}
    right_answer = {True: ClaimAnswer.SUPPORTED, False: ClaimAnswer.CONTRADICTED}
    wrong = any(answers[name] is right_answer[not true] for name, true in truth.items())
    return wrong, float(np.mean([answers[name] is right_answer[true] for name, true in truth.items()]))


def of_conditions(rng: Rng, gain: float, groups: int = 6) -> Outcome:
    """Test the three claims with a condition. A level gains by ``gain`` where the condition holds, and nothing
    elsewhere.

    SSDs gain without compression alone, containers with five disks alone, InfiniBand with SSDs alone; an hour with
    InfiniBand costs 10 % more, so it pays there from a gain of 1.1 on.
    """
    rows = [
        {
            "workload": name,
            "layout": layout,
            "layout_devices": devices,
            "network": network,
            "dfs.blocksize": str(block),
            MAPS: str(maps),
            COMPRESS: compressed,
        }
        for name in ("terasort", "sort")
        for block in range(groups)
        for layout, devices in (("HDD", "1 hdd"), ("HD5", "5 hdd"), ("SSD", "1 ssd"))
        for network in ("ETH", "IB")
        for maps in (8, 16)
        for compressed in ("true", "false")
    ]
    effects = rng.normal(0, 0.02, len(rows))
    is_ssd, is_compressed = (
        [row[name] == level for row in rows] for name, level in (("layout", "SSD"), (COMPRESS, "true"))
    )
    has_many_disks, is_infiniband = (
        [row[name] == level for row in rows] for name, level in (("layout", "HD5"), ("network", "IB"))
    )
    has_many_maps = [row[MAPS] == "16" for row in rows]
    gains = np.array(
        [
            (ssd and not compressed) + (many_disks and many_maps) + (ssd and infiniband)
            for ssd, compressed, many_disks, many_maps, infiniband in zip(
                is_ssd, is_compressed, has_many_disks, has_many_maps, is_infiniband, strict=True
            )
        ]
    )
    table = table_of_rows(rows, times(rng, -np.log(gain) * gains + effects))
    (claims,) = findings(table, replace(one_price(len(table)), per_h=_tenth_dearer(table))).values()
    answers = {claim.name: claim.answer for claim in claims}
    truth = {"compression-hides": gain > 1.1, "containers-need-disks": gain > 1, "infiniband-needs-ssd": gain > 1.1}
    wrong = any(
        answers[name] is (ClaimAnswer.CONTRADICTED if true else ClaimAnswer.SUPPORTED) for name, true in truth.items()
    )
    supported = [answers[name] is ClaimAnswer.SUPPORTED for name, true in truth.items() if true]
    return wrong, float(np.mean(supported)) if supported else NO_VALUE


def _tenth_dearer(configurations: RunTable) -> Array:
    network = configurations.columns["network"]
    return np.where(network.codes == network.code("IB"), 1.1, 1.0)


def of_few(rng: Rng, gain: float) -> Outcome:
    """Name the fastest layout as page one of a report does: three layouts, two workloads, three repetitions."""
    drawn_runs = [
        foreign_run(workload=name, layout=f"L{level}", duration_s=float(seconds), started_at="")
        for name in ("terasort", "wordcount")
        for level in range(3)
        for seconds in times(rng, np.full(3, -np.log(gain) * (level == 1)))
    ]
    (decision,) = decide(table_of(in_turns(drawn_runs, 3)), DecisionRequest("layout", "L0"))
    candidates = {decision.leader, *decision.ties}
    return "L1" not in candidates, float(candidates == {"L1"}) if gain > 1 else NO_VALUE


def of_jobs(rng: Rng, gain: float) -> Outcome:
    """Test whether a job costs less on the second of two layouts of one price; ten runs of each of three jobs."""
    drawn_runs = [
        foreign_run(workload=name, layout=f"L{level}", duration_s=float(seconds), started_at="")
        for name in ("terasort", "wordcount", "sort")
        for level in range(2)
        for seconds in times(rng, np.full(10, -np.log(gain) * (level == 1)))
    ]
    table = table_of(in_turns(drawn_runs, 10))
    (decision,) = decide(table, DecisionRequest("layout", "L0"), one_price(len(table)))
    verdicts = [result.cost.verdict for result in decision.results if result.cost]
    less, more = ([verdict is kind for verdict in verdicts] for kind in (CostVerdict.CHEAPER, CostVerdict.DEARER))
    return any(more) or (gain == 1 and any(less)), float(np.mean(less)) if gain > 1 else NO_VALUE


def of_cost(rng: Rng, gain: float, configurations: int = 4, runs: int = 5) -> Outcome:
    """Name the cheapest of four layouts of one price, of which the first is ``gain`` times as fast."""
    codes = np.repeat(np.arange(configurations), runs)
    cheapest = decision_on_costs(codes, times(rng, -np.log(gain) * (codes == 0)), rng).cheapest
    is_named = cheapest is not None and not cheapest.ties
    is_right = cheapest is not None and cheapest.option == "A"
    return is_named and (gain == 1 or not is_right), float(is_named and is_right) if gain > 1 else NO_VALUE


def of_anomalies(rng: Rng, gain: float, configurations: int = 20, runs: int = 5) -> Outcome:
    """Search twenty configurations with five runs each for outliers; one run takes ``gain`` times as long."""
    rows = [{"workload": "terasort", "block": str(n)} for n in range(configurations) for _ in range(runs)]
    logs = np.repeat(rng.normal(0, 0.5, configurations), runs)
    logs[0] += np.log(gain)
    flagged = set(find_anomalies(table_of_rows(rows, times(rng, logs))).positions.tolist())
    return bool(flagged - ({0} if gain > 1 else set())), float(0 in flagged) if gain > 1 else NO_VALUE


def of_not_done(rng: Rng, gain: float, configurations: int = 20, runs: int = 5) -> Outcome:
    """Search for runs that did no work: the first run ends ``gain`` times too soon."""
    rows = [{"workload": "terasort", "block": str(n)} for n in range(configurations) for _ in range(runs)]
    logs = np.repeat(rng.normal(0, 0.2, configurations), runs)
    logs[0] -= np.log(gain)
    return _of_kind(table_of_rows(rows, times(rng, logs)), Kind.NOT_DONE, gain)


def of_few_bytes(rng: Rng, gain: float, configurations: int = 20, runs: int = 5) -> Outcome:
    """Search for runs that moved too few bytes: the first run. Bytes differ by half between configurations and scatter
    by 5 %."""
    rows = [{"workload": "terasort", "block": str(n)} for n in range(configurations) for _ in range(runs)]
    logs = np.repeat(rng.normal(0, 0.5, configurations), runs) + rng.normal(0, SCATTER, len(rows))
    logs[0] -= np.log(gain)
    table = table_of_rows(rows, times(rng, np.zeros(len(rows))), hdfs_write_bytes=np.exp(20 + logs))
    return _of_kind(table, Kind.FEW_BYTES, gain)


def of_imbalance(rng: Rng, gain: float, tasks: int | None = None, runs: int = 100, workers: int = 5) -> Outcome:
    """Search for unbalanced runs: in the first run, one node does ``gain`` times as much work. The nodes' parts scatter
    by 10 %, or consist of ``tasks`` that are placed at random."""
    parts = np.exp(rng.normal(0, 0.1, (runs, workers)))
    if tasks is not None:
        parts = rng.multinomial(tasks, [1 / workers] * workers, runs).astype(np.float64)
    parts[0, 0] *= gain
    imbalance = parts.max(axis=1) / parts.mean(axis=1)
    table = table_of_rows([{"workload": "terasort"}] * runs, times(rng, np.zeros(runs)), cpu_imbalance=imbalance)
    return _of_kind(table, Kind.IMBALANCE, gain)


def _of_kind(table: RunTable, kind: Kind, gain: float) -> Outcome:
    """Compare the flags of one kind with the truth: the first run is an outlier, or none is."""
    flagged = set(find_anomalies(table).of_kind(kind).tolist())
    return bool(flagged - ({0} if gain > 1 else set())), float(0 in flagged) if gain > 1 else NO_VALUE


QUESTIONS: dict[str, tuple[Callable[[Rng, float], Outcome], tuple[float, ...]]] = {
    "compare: eight verdicts, five runs a side": (of_compare, (1.0, 1.1, 1.3)),
    "speedup: eight verdicts, ten groups": (of_speedup, (1.0, 1.1, 1.3)),
    "speedup: fastest candidates of nine": (of_fastest, (1.0, 1.1, 1.3)),
    "changes: twenty histories that correlate by 0.3": (of_changes, (1.0, 1.1, 1.3)),
    "findings: two claims, eight groups": (of_findings, (1.0, 1.1, 1.3)),
    "findings: three claims with a condition, six groups": (of_conditions, (1.0, 1.1, 1.3)),
    "report: the fastest of three, three runs a side": (of_few, (1.0, 1.1, 1.3)),
    "report, tco: what costs less, of three jobs": (of_jobs, (1.0, 1.1, 1.3)),
    "cost: one of four layouts is named the cheapest": (of_cost, (1.0, 1.1, 1.3)),
    "anomalies: a hundred runs, one outlier": (of_anomalies, (1.0, 1.3, 2.0)),
    "anomalies: a hundred runs, one did not do its work": (of_not_done, (1.0, 3.0, 10.0, 30.0)),
    "anomalies: a hundred runs, one moved too few bytes": (of_few_bytes, (1.0, 1.5, 3.0)),
    "anomalies: a hundred runs, one unbalanced": (of_imbalance, (1.0, 1.5, 2.0, 3.0)),
    "anomalies: a hundred runs of 100 tasks placed at random": (
        lambda rng, gain: of_imbalance(rng, gain, tasks=100),
        (1.0,),
    ),
}


def rates(name: str, *, repositories: int, seed: int) -> Iterator[tuple[float, float, float]]:
    """Yield for each effect the share of repositories with a wrong statement, and of true effects stated."""
    ask, gains = QUESTIONS[name]
    rng = np.random.default_rng(seed)
    for gain in gains:
        outcomes = [ask(rng, gain) for _ in range(repositories)]
        shares = [share for _, share in outcomes]
        yield gain, float(np.mean([wrong for wrong, _ in outcomes])), float(np.mean(shares))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repositories", type=int, default=500)
    parser.add_argument("--only", default="", help="Only questions whose name begins with this text.")
    options = parser.parse_args()
    repositories = options.repositories
    print("| question | true effect | any statement wrong | true effect is stated |\n|---|---|---|---|")
    for name in (name for name in QUESTIONS if name.startswith(options.only)):
        for gain, wrong, power in rates(name, repositories=repositories, seed=3):
            print(f"| {name} | {gain:g} | {wrong:.1%} | {'–' if np.isnan(power) else f'{power:.1%}'} |", flush=True)


if __name__ == "__main__":
    main()
