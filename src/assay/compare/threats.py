"""What could make the conclusions wrong, read off the runs themselves: threats to validity.

In: all runs of a report as a table, and their comparisons, of one matched group each or of many; whole runs where they
are at hand, because only they record what limited them and their warnings. Out: titles with a sentence or two each, the
most serious first. Nothing is listed that the data does not show.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.compare.differences import was_cpu_limited
from assay.compare.result import SpeedupResult
from assay.model import CodedWarning, Origin, Run, RunStatus, WarningCode
from assay.statistics import ANOMALY, NOT_ODD, RUNS_MIN, RunTable, counts_by, has_level

RUNS_COMFORTABLE = 5
"""From this many runs a side on, few repetitions are no longer listed as a threat."""
GROUPS_COMFORTABLE = 5
"""From this many matched groups on, few of them are no longer listed as a threat."""
RUN_WARNINGS_MAX = 8
LONELY_MAX = 8


@dataclass(frozen=True, slots=True)
class Threat:
    """One reason for caution."""

    title: str
    text: str


def _lab(table: RunTable) -> Iterator[Threat]:
    scales = sorted(float(scale) for scale in counts_by(table, "lab_scale") if scale)
    if scales:
        factors = " and ".join(f"1/{1 / scale:g}" for scale in scales)
        yield Threat(
            "The cluster is a scale model",
            f"Bandwidths, memory and data are {factors} of the described hardware's; latencies, IOPS and the CPU's "
            "work per byte are not. Read ratios between configurations, not absolute times, throughputs or costs.",
        )


def _origins(table: RunTable) -> Iterator[Threat]:
    counts = {name: number for name, number in counts_by(table, "origin").items() if name != Origin.MEASURED}
    made = " and ".join(f"{number:,} {name or 'of unknown origin'}" for name, number in counts.items())
    all_other = sum(counts.values()) == len(table) > 0
    if all_other and counts.keys() == {Origin.PUBLISHED}:
        yield Threat(
            "Published, not measured here",
            f"All {len(table):,} runs are as a publication prints them: what it does not print is not known, and no "
            "run behind them can be looked at.",
        )
    elif all_other and Origin.PUBLISHED not in counts:
        yield Threat("Nothing here was measured", f"Of {len(table):,} runs, {made}: no real hardware was involved.")
    elif counts:
        yield Threat(
            "Not everything was measured", f"Of {len(table):,} runs, {made}. Origins are never mixed in one ratio."
        )


def _flagged(table: RunTable) -> Iterator[Threat]:
    kinds = {kind: number for kind, number in counts_by(table, ANOMALY).items() if kind not in ("", NOT_ODD)}
    number = sum(kinds.values())
    if number:
        told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
        yield Threat(
            "Some runs are odd for their configuration",
            f"{number:,} of {len(table):,} runs {'is' if number == 1 else 'are'} flagged: {told}. They count in the "
            "comparisons all the same, as valid runs do; `assay anomalies` says why of each.",
        )


def _repetitions(compared: Sequence[SpeedupResult]) -> Iterator[Threat]:
    """Yield the threat of few runs per side in single matched groups."""
    sides = [
        min(result.runs_baseline, result.runs_candidate)
        for result in compared
        if result.runs and not result.is_simulated  # more draws would not make the simulator surer
    ]
    smallest = min(sides, default=RUNS_COMFORTABLE)
    if smallest >= RUNS_COMFORTABLE:
        return
    if smallest < RUNS_MIN:
        text = f"Some comparison has fewer than {RUNS_MIN} runs on a side: no conclusion is drawn from it. "
    else:
        text = f"The smallest side has {smallest} runs. "
    if smallest <= RUNS_MIN:
        text += f"With {RUNS_MIN} a side no rank test can reach 5 %. "
    text += "Intervals are Student's t on the logarithms of run times, which assumes that those scatter normally."
    yield Threat("Few repetitions", text)


def _matched_groups(found: Sequence[SpeedupResult]) -> Iterator[Threat]:
    used = [s for s in found if s.ratio is not None]
    few = [s for s in used if s.groups < GROUPS_COMFORTABLE]
    if few:
        yield Threat(
            "Few matched groups",
            f"{len(few)} of {len(used)} ratios rest on fewer than {GROUPS_COMFORTABLE} matched groups. They cover the "
            "tested settings at most.",
        )
    once = [s for s in used if s.groups and (s.runs_baseline + s.runs_candidate) / (2 * s.groups) < RUNS_MIN]
    if once:
        yield Threat(
            "Few repetitions",
            f"In {len(once)} of {len(used)} ratios a side of a matched group has fewer than {RUNS_MIN} runs on "
            "average. The interval comes from the differences between groups, not from repetitions.",
        )
    lonely = dict.fromkeys(f"{s.candidate} ({s.group})" for s in found if s.ratio is None)
    if lonely:
        shown = ", ".join(list(lonely)[:LONELY_MAX])
        more = f" and {len(lonely) - LONELY_MAX} more" if len(lonely) > LONELY_MAX else ""
        yield Threat("Levels without a counterpart", f"No two runs are equal in all else for {shown}{more}.")


def _caches(table: RunTable) -> Iterator[Threat]:
    valid = table.taken(has_level(table, "status", RunStatus.VALID))
    cold = counts_by(valid, "cold")
    if cold.get("warm"):
        yield Threat(
            "Warm runs",
            f"{cold['warm']:,} of {len(valid):,} valid runs were warm: part of the data came from memory. They count "
            "only where no cold run exists.",
        )
    if cold.get(""):
        yield Threat(
            "Cache state not proven",
            f"For {cold['']:,} of {len(valid):,} valid runs it is not known whether the caches were cold.",
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
            "Such a side compresses the ratio; the devices may differ by more than it shows.",
        )


def _differences(warnings: Sequence[CodedWarning]) -> Iterator[Threat]:
    about = (WarningCode.HOSTS_DIFFER, WarningCode.CONFOUNDED)
    sentences = dict.fromkeys(warning.words for warning in warnings if warning.code in about)
    if sentences:
        yield Threat("More than the factor differed", ". ".join(sentences) + ".")


def _dropped(table: RunTable, *, listed: bool) -> Iterator[Threat]:
    bad = {name: number for name, number in counts_by(table, "status").items() if name != RunStatus.VALID}
    if bad:
        told = " and ".join(f"{number:,} {name or 'of unknown status'}" for name, number in bad.items())
        yield Threat(
            "Runs that do not count",
            f"Of {len(table):,} runs, {told}.{' They are listed below with their causes.' if listed else ''} If one "
            "configuration fails more often, that is a result too.",
        )


def _warnings(valid: Sequence[Run]) -> Iterator[Threat]:
    counts = Counter(w.words for run in valid for w in set(run.warnings) if w.code is not WarningCode.CPU_LIMIT)
    for warning, number in counts.most_common(RUN_WARNINGS_MAX):
        yield Threat(f"Said of {number} of {len(valid)} valid runs", warning)


def threats(
    table: RunTable, compared: Sequence[SpeedupResult], warnings: Sequence[CodedWarning], runs: Sequence[Run] = ()
) -> list[Threat]:
    """Return what the runs and comparisons give reason to be careful about. ``warnings``: of the comparisons; ``runs``:
    those of the table, where they are at hand whole.
    """
    valid = [run for run in runs if run.status is RunStatus.VALID]
    return [
        *_lab(table),
        *_origins(table),
        *_repetitions(compared),
        *_flagged(table),
        *_matched_groups([c for c in compared if c.runs is None]),
        *_caches(table),
        *_cpu(valid),
        *_differences(warnings),
        *_dropped(table, listed=bool(runs)),
        *_warnings(valid),
    ]
