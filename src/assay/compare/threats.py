"""What could make the conclusions wrong, read off the runs themselves: threats to validity.

In: all runs that a report looks at, and the comparisons made of them: whole runs, or a table of them and their matched
sets. Out: titles with a sentence or two each, the most
serious first. Nothing is listed that the data does not show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.compare.comparison import Comparison
from assay.compare.differences import was_cpu_limited
from assay.compare.speedups import Speedup
from assay.compare.verdict import RUNS_MIN
from assay.model.run import Origin, Run, RunStatus
from assay.model.warning import CodedWarning, WarningCode
from assay.statistics.run_table import RunTable

RUNS_COMFORTABLE = 5
"""From this many runs a side on, few repetitions are no longer listed as a threat."""
SETS_COMFORTABLE = 5
"""From this many matched sets on, few of them are no longer listed as a threat."""
RUN_WARNINGS_MAX = 8
LONELY_MAX = 8


@dataclass(frozen=True, slots=True)
class Threat:
    """One reason for caution."""

    title: str
    text: str


def _scale_model(factors: str) -> Threat:
    return Threat(
        "The cluster is a scale model",
        f"Bandwidths, memory and data are {factors} of the described hardware's; latencies, IOPS and the CPU's "
        "work per byte are not. Read ratios between configurations, not absolute times, throughputs or costs.",
    )


def _lab(runs: Sequence[Run]) -> Iterator[Threat]:
    scales = sorted({run.lab_scale for run in runs if run.lab_scale is not None})
    if scales:
        factors = " and ".join(f"1/{1 / scale:g}" for scale in scales)
        yield _scale_model(factors)


def _published(runs: int) -> Threat:
    return Threat(
        "Published, not measured here",
        f"All {runs:,} runs are as a publication prints them: what it does not print is not known, and no run behind "
        "them can be looked at.",
    )


def _origins(runs: Sequence[Run]) -> Iterator[Threat]:
    counts = Counter(run.origin for run in runs if run.origin is not Origin.MEASURED)
    made = " and ".join(f"{number} {origin.value}" for origin, number in counts.items())
    if counts[Origin.PUBLISHED] == len(runs) > 0:
        yield _published(len(runs))
    elif counts.total() == len(runs) > 0:
        yield Threat("Nothing here was measured", f"Of {len(runs)} runs, {made}: no real hardware was involved.")
    elif counts:
        yield Threat(
            "Not everything was measured", f"Of {len(runs)} runs, {made}. Origins are never mixed in one ratio."
        )


def _repetitions(comparisons: Sequence[Comparison]) -> Iterator[Threat]:
    smallest = min((min(c.n_baseline, c.n_candidate) for c in comparisons), default=None)
    if smallest is None or smallest >= RUNS_COMFORTABLE:
        return
    if smallest < RUNS_MIN:
        text = f"Some comparison has fewer than {RUNS_MIN} runs on a side: no conclusion is drawn from it. "
    else:
        text = f"The smallest side has {smallest} runs. "
    if smallest <= RUNS_MIN:
        text += f"With {RUNS_MIN} a side no rank test can reach 5 %. "
    text += "Intervals are Student's t on the logarithms of run times, which assumes that those scatter normally."
    yield Threat("Few repetitions", text)


def _caches(valid: Sequence[Run]) -> Iterator[Threat]:
    warm = sum(run.cold is False for run in valid)
    unknown = sum(run.cold is None for run in valid)
    if warm:
        yield Threat(
            "Warm runs",
            f"{warm} of {len(valid)} valid runs were warm: part of the data came from memory. They count only "
            "where no cold run exists.",
        )
    if unknown:
        yield Threat(
            "Cache state not proven",
            f"For {unknown} of {len(valid)} valid runs it is not known whether the caches were cold.",
        )


def _cpu(valid: Sequence[Run]) -> Iterator[Threat]:
    limited = [run for run in valid if was_cpu_limited(run)]
    if limited:
        where = ", ".join(
            f"{name} ({n})" for name, n in Counter(f"{r.workload} on {r.layout}" for r in limited).items()
        )
        yield Threat(
            "CPU was the limit",
            f"In {len(limited)} of {len(valid)} valid runs the CPU, not the storage, set the pace: {where}. "
            "Such a side compresses the ratio; the devices differ by more than it shows.",
        )


def _dropped(runs: Sequence[Run]) -> Iterator[Threat]:
    bad = [run for run in runs if run.status is not RunStatus.VALID]
    if bad:
        yield Threat(
            "Runs that do not count",
            f"{len(bad)} of {len(runs)} runs failed or are invalid. They are listed below with their causes; if one "
            "configuration fails more often, that is a result too.",
        )


def _differences(comparisons: Sequence[Comparison]) -> Iterator[Threat]:
    sentences = dict.fromkeys(w.words for c in comparisons for w in c.warnings if w.code is WarningCode.HOSTS_DIFFER)
    if sentences:
        yield Threat("More than the factor differed", ". ".join(sentences) + ".")


def _warnings(valid: Sequence[Run]) -> Iterator[Threat]:
    counts = Counter(w.words for run in valid for w in set(run.warnings) if w.code is not WarningCode.CPU_LIMIT)
    for warning, number in counts.most_common(RUN_WARNINGS_MAX):
        yield Threat(f"Said of {number} of {len(valid)} valid runs", warning)


def threats(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> list[Threat]:
    """Return what the runs and comparisons give reason to be careful about."""
    valid = [run for run in runs if run.status is RunStatus.VALID]
    return [
        *_lab(runs),
        *_origins(runs),
        *_repetitions(comparisons),
        *_caches(valid),
        *_cpu(valid),
        *_differences(comparisons),
        *_dropped(runs),
        *_warnings(valid),
    ]


def _counts(table: RunTable, name: str) -> dict[str, int]:
    """Return how many runs have each level of a column; the empty text stands for none."""
    column = table.columns.get(name)
    if column is None:
        return {"": len(table)} if len(table) else {}
    found = {level: int((column.codes == code).sum()) for code, level in enumerate(column.levels)}
    return {level: number for level, number in ({**found, "": int((column.codes < 0).sum())}).items() if number}


def _matched_sets(found: Sequence[Speedup]) -> Iterator[Threat]:
    used = [s for s in found if s.ratio is not None]
    few = [s for s in used if s.sets < SETS_COMFORTABLE]
    if few:
        yield Threat(
            "Few matched sets",
            f"{len(few)} of {len(used)} ratios rest on fewer than {SETS_COMFORTABLE} sets of runs that are equal in "
            "all else. Such a ratio holds for those configurations at most.",
        )
    once = [s for s in used if s.sets and (s.runs_baseline + s.runs_candidate) / (2 * s.sets) < RUNS_MIN]
    if once:
        yield Threat(
            "Few repetitions",
            f"In {len(once)} of {len(used)} ratios a side of a set has fewer than {RUNS_MIN} runs on average. The "
            "interval comes from how much the sets differ, not from repetitions.",
        )
    lonely = dict.fromkeys(f"{s.candidate} ({s.group})" for s in found if s.ratio is None)
    if lonely:
        shown = ", ".join(list(lonely)[:LONELY_MAX])
        more = f" and {len(lonely) - LONELY_MAX} more" if len(lonely) > LONELY_MAX else ""
        yield Threat("Levels without a counterpart", f"No two runs are equal in all else for {shown}{more}.")


def _table_origins(table: RunTable) -> Iterator[Threat]:
    scales = [scale for scale in _counts(table, "lab_scale") if scale]
    if scales:
        factors = " and ".join(f"1/{1 / float(scale):g}" for scale in scales)
        yield _scale_model(factors)
    counts = {name: number for name, number in _counts(table, "origin").items() if name != Origin.MEASURED}
    if counts.get(Origin.PUBLISHED) == len(table):
        yield _published(len(table))
    elif counts:
        made = " and ".join(f"{number:,} {name or 'of unknown origin'}" for name, number in counts.items())
        yield Threat("Not everything was measured", f"Of {len(table):,} runs, {made}. Origins never mix in one ratio.")


def _table_caches(table: RunTable) -> Iterator[Threat]:
    cold = _counts(table, "cold")
    if cold.get("warm"):
        yield Threat(
            "Warm runs",
            f"{cold['warm']:,} of {len(table):,} runs were warm: part of the data came from "
            "memory. They count only where no cold run exists.",
        )
    if cold.get(""):
        yield Threat(
            "Cache state not proven",
            f"For {cold['']:,} of {len(table):,} runs it is not known whether the caches were cold.",
        )


def matched_threats(table: RunTable, found: Sequence[Speedup], warnings: Sequence[CodedWarning]) -> list[Threat]:
    """Return what a table of runs, its speedups over matched sets and ``warnings`` give reason to be careful about."""
    bad = {name: number for name, number in _counts(table, "status").items() if name != RunStatus.VALID}
    told = " and ".join(f"{number:,} {name or 'of unknown status'}" for name, number in bad.items())
    dropped = (
        [
            Threat(
                "Runs that do not count",
                f"Of {len(table):,} runs, {told}. If one configuration fails more often, that is a result too.",
            )
        ]
        if bad
        else []
    )
    differ = (
        [Threat("More than the factor differed", ". ".join(dict.fromkeys(w.words for w in warnings)) + ".")]
        if warnings
        else []
    )
    return [*_table_origins(table), *_matched_sets(found), *_table_caches(table), *differ, *dropped]
