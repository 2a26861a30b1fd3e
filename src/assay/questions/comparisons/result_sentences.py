"""Sentences about speedup results, in the terms that decisions use.

In: results of ``analysis/comparison/result.py`` and sides of ``analysis/comparison/details/side_by_side.py``. Out:
text.
"""

from collections import Counter
from collections.abc import Sequence

from assay.analysis.comparison.details.counters import CounterMean
from assay.analysis.comparison.details.side_by_side import ComparedSide, Sides
from assay.analysis.comparison.result import CombinedParts, Exclusion, SpeedupResult
from assay.analysis.comparison.verdict_text import ComparedNames, evidence_text, groups_and_runs, verdict_text
from assay.analysis.statistics import MARGIN, Verdict
from assay.questions.decisions.sentences.option_words import option_text, workload_in_context
from assay.text import TextTable, capitalised, joined, plural, ratio, share

_REASONS = {
    Exclusion.FAILED: "failed",
    Exclusion.INVALID: "invalid",
    Exclusion.WARM: "warm, where others started cold",
    Exclusion.NO_BASELINE: "without an otherwise equal run of the baseline",
    Exclusion.NO_CANDIDATE: "without an otherwise equal run of the candidate",
    Exclusion.NO_INTERVAL: "in parts without an interval",
    Exclusion.OTHER_SCOPE: "in parts whose intervals have another scope",
}
_JOBS = {"workload": "workload", "data_bytes": "data", "origin": "origin", "lab_scale": "lab scale"}


def sentence(result: SpeedupResult) -> str:
    """Return a result as one sentence: the verdict, then its interval, runs and scope."""
    option, baseline = (option_text(result.factor, level) for level in (result.candidate, result.baseline))
    changed = result.low is not None and result.high is not None and not result.low <= 1 <= result.high
    text = verdict_text(
        result.verdict,
        ComparedNames(option, baseline),
        result.ratio,
        margin=MARGIN,
        corrected_for=result.family if changed else None,
        confounded=result.confounded,
    )
    if result.ratio is None:
        if result.runs is None or not (result.runs_baseline == 0 or result.runs_candidate == 0):
            return f"{text}: no two runs are equal in everything else."
        missing_option = baseline if result.runs_baseline == 0 else option
        return f"{text}: {missing_option} has no valid run with otherwise equal settings."
    basis = groups_and_runs(result.groups, result.runs_baseline, result.runs_candidate)
    return f"{text} ({evidence_text(result.low, result.high, basis, result.scope)})."


def name_of(result: SpeedupResult) -> str:
    """Return the name of a result: its workload, with what distinguishes its matched group, or the combined parts."""
    if result.combined:
        return combined_text(result.combined)
    return workload_in_context(result.group, result.context)


def combined_text(combined: CombinedParts) -> str:
    """Return which parts a result combines: ``2 of 3 workloads``."""
    return f"{combined.used} of {plural(combined.total, combined.by)}"


def exclusions_text(results: Sequence[SpeedupResult]) -> str:
    """Return how many runs do not count, by reason: ``2 failed, 1 invalid``; empty for none."""
    counts = sum((Counter(dict(result.excluded)) for result in results), Counter[Exclusion]())
    return ", ".join(f"{counts[reason]:,} {text}" for reason, text in _REASONS.items() if counts[reason])


def side_sentence(sides: Sides, side: ComparedSide) -> str:
    """Return the verdict on a side against the first side; empty for the first side, and for different jobs."""
    first = sides.sides[0]
    if side.verdict is None:
        return ""
    verdict = verdict_text(side.verdict, ComparedNames(side.label, first.label), side.ratio, margin=MARGIN)
    if side.verdict is Verdict.NOT_COMPARED:
        return f"{verdict}: {first.label if first.summary.n == 0 else side.label} has no valid run."
    basis = groups_and_runs(1, first.summary.n, side.summary.n)
    return f"{verdict} ({evidence_text(side.ratio_low, side.ratio_high, basis, side.scope)})."


def different_jobs_text(sides: Sides) -> str:
    """Return why the times of the sides can't be compared; empty where they can."""
    names = [_JOBS[name] for name in sides.different_jobs]
    if not names:
        return ""
    verb = "differs" if len(names) == 1 else "differ"
    return f"{capitalised(joined(names))} {verb}: these are different jobs, so their times can't be compared."


def counters_text(sides: Sides, limit: int | None = None) -> TextTable:
    """Return the job counters of the sides as a table of at most ``limit`` rows, largest differences first."""
    letters = [side.label[0] for side in sides.sides]
    table, first = sides.counters, letters[0]
    rows = [
        (
            f"{row.group.rpartition('.')[2]}: {row.name}",
            *(_counter_text(mean) for mean in row.sides),
            *(ratio(value) for value in row.ratios[1:]),
            share(row.difference),
        )
        for row in table.rows[:limit]
    ]
    runs = ", ".join(f"{letter} {number:,}" for letter, number in zip(letters, table.runs, strict=True))
    notes = (
        f"Means per run over the runs with counters: {runs}. In brackets the lowest and highest run.",
        "Difference: (largest mean − smallest mean) / largest mean. Absent: the side's jobs do not have the counter, "
        "which Hadoop omits if it is not used.",
    )
    headers = ("counter", *letters, *(f"{letter} / {first}" for letter in letters[1:]), "difference")
    return TextTable("counters", headers, tuple(rows), notes if rows else ())


def _counter_text(mean: CounterMean | None) -> str:
    if mean is None:
        return "absent"
    text = f"{mean.mean:,.0f}"
    return text if mean.low == mean.high else f"{text} ({mean.low:,.0f} to {mean.high:,.0f})"
