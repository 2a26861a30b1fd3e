"""How much faster a level of a factor is, over all configurations that were measured with it and with the baseline.

In: runs as a table (durations in seconds). Out: one :class:`Speedup` for each candidate level and each workload (or
level of another factor), a ratio baseline time / candidate time over matched sets: see ``matched.py``. Each says which
question its interval answers, and has the answers to the others; conclusions are corrected for how many are drawn at
once (S. Holm, Scand. J. Stat. 6, 1979).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.compare.answers import Answer, ClusterLine, answer_of, answers_of, cluster_lines, trimmed
from assay.compare.confounding import confounded_by
from assay.compare.dependence import Dependence, dependence_of, over_levels
from assay.compare.matched import (
    COUNTED,
    FAILED,
    INVALID,
    OVER_SETS,
    REASONS,
    WARM,
    HoldsFor,
    LogMean,
    MatchedSets,
    Pairs,
    SessionPart,
    Strata,
    baseline_of,
    combine,
    log_mean,
    pairs,
    pick,
    side,
    stratify,
)
from assay.compare.sessions import hidden_by_sessions
from assay.compare.together import Fit, fits
from assay.compare.verdict import Basis, Conclusion, Corrected, judge
from assay.errors import SpecificationError
from assay.model import Origin
from assay.statistics import Estimate, Means, holm, means_by, require_factor


@dataclass(frozen=True, slots=True)
class Speedup:
    """One candidate level against the baseline, over the matched sets of one group."""

    factor: str
    baseline: str
    candidate: str
    by: str | None
    """The column that groups were made by, such as ``workload``; None for the figure over all groups."""
    group: str
    """The level of ``by``; for the figure over all groups, how many of them it rests on."""
    origin: str
    lab_scale: str | None
    ratio: float | None
    """Baseline time / candidate time; None without a matched set."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None where there are too few sets and runs for one."""
    holds_for: HoldsFor
    """Which question the interval answers."""
    method: str
    log_error: float | None
    """Standard error of the ratio's logarithm, with ``degrees`` of freedom; None where there is no interval."""
    degrees: float | None
    log_rounding: float
    """How far the ratio's logarithm can be off because times are rounded."""
    depends_on: Dependence | None
    """The factor that the gain depends on most clearly; None where none is shown."""
    sessions: SessionPart | None
    """What sessions add to the error; None where they add nothing."""
    p: float | None
    """Two-sided, of no difference; below 5 % exactly where the interval leaves out 1."""
    holm_p: float | None
    """The same, corrected for all rows of this answer: what the conclusion goes by."""
    answers: tuple[Answer, ...]
    """The mean speedup for each question that the sets can tell."""
    clusters: tuple[ClusterLine, ...]
    """The same comparison on each cluster; empty where all sets are of one."""
    trimmed: Estimate | None
    """The ratio without the smallest and largest fifth of the sets; None for too few of them."""
    together: Estimate | None
    """The ratio from all levels over all matched sets at once, for another configuration here: rows are comparable."""
    sets: int
    runs_baseline: int
    runs_candidate: int
    """Runs in the matched sets, by side."""
    unmatched: Mapping[str, int]
    """Why runs of the two levels did not count, in words, and how many."""
    ignored: Mapping[str, int]
    """Factors that were allowed to differ, and in how many of the matched sets they did."""
    confounded: tuple[str, ...]
    """Those of them that differ between the two sides: there is no interval and no verdict then."""
    conclusion: Conclusion
    sentence: str

    @property
    def basis(self) -> Basis:
        """What the ratio rests on."""
        simulated = self.origin == Origin.SIMULATED
        hide = self.log_error is not None and hidden_by_sessions(self.log_mean)
        words = self.holds_for.words
        return Basis(
            self.runs_baseline, self.runs_candidate, self.sets, words, simulated, self.confounded, sessions_hide=hide
        )

    @property
    def log_mean(self) -> LogMean:
        """The logarithm of the ratio with its error, to combine it with others. ValueError without an interval."""
        if self.ratio is None or self.log_error is None or self.degrees is None:
            raise ValueError("a speedup without an interval has no standard error")
        mean = float(np.log(self.ratio))
        return LogMean(
            mean, self.log_error, self.degrees, self.method, self.holds_for, self.log_rounding, self.sessions
        )


def _differing(matched: MatchedSets, found: Pairs, levels: tuple[int, int]) -> dict[str, int]:
    """Return in how many of the found sets each ignored factor had more than one level on the two sides."""
    parts = [np.arange(matched.starts[level], matched.starts[level + 1]) for level in levels]
    rows = np.concatenate(parts)
    counts = {}
    for name in matched.ignored:
        codes = matched.table.columns[name].codes[matched.positions[rows]].astype(np.float64)
        spread = means_by(codes, matched.sets.of_row[rows], matched.sets.count).variance[found.sets]
        counts[name] = int(np.count_nonzero(spread > 0))
    return counts


def _unmatched(
    strata: Strata, stratum: int, levels: tuple[int, int], used: tuple[int, int], names: tuple[str, str]
) -> dict[str, int]:
    counts = strata.counts[stratum]
    reasons = {
        f"no run of {names[1 - at]} is otherwise equal": int(counts[levels[at], COUNTED]) - used[at] for at in (1, 0)
    }
    reasons |= {REASONS[why]: int(counts[list(levels), why].sum()) for why in (FAILED, INVALID, WARM)}
    return {why: count for why, count in reasons.items() if count}


def _candidate_speedups(
    matched: MatchedSets,
    strata: Strata,
    baseline: int,
    reference: Means,
    candidate: int,
    together: Sequence[Mapping[int, Estimate]],
) -> list[tuple[int, Speedup]]:
    """Return the speedups of one level, with the number of their stratum."""
    column = matched.table.columns[matched.factor]
    names = column.levels[baseline], column.levels[candidate]
    found = pairs(reference, side(matched, candidate), matched.deployment)
    stratum_of = strata.of_set[found.sets]
    order = np.argsort(stratum_of, kind="stable")
    bounds = np.searchsorted(stratum_of[order], np.arange(len(strata.counts) + 1))
    speedups = []
    for stratum in np.flatnonzero(strata.counts[:, candidate].sum(axis=1)):
        mine = pick(found, order[bounds[stratum] : bounds[stratum + 1]])
        level = strata.levels(matched.table, int(stratum))
        used = int(mine.n[0].sum()), int(mine.n[1].sum())
        cluster = matched.cluster[mine.sets] if len(matched.cluster) else matched.cluster
        confounded = confounded_by(matched, mine.sets, (baseline, candidate)) if matched.ignored else ()
        mean, depends = log_mean(mine), dependence_of(matched, mine)
        if mean is not None and depends is not None:
            mean = over_levels(mean, mine, *depends)
        speedups.append(
            (
                int(stratum),
                _speedup(
                    mean,
                    depends_on=depends[0] if depends else None,
                    factor=matched.factor,
                    baseline=names[0],
                    candidate=names[1],
                    by=strata.by,
                    group=(level.get(strata.by) or "") if strata.by else "",
                    origin=level.get("origin") or "",
                    lab_scale=level.get("lab_scale"),
                    sets=len(mine.sets),
                    runs_baseline=used[0],
                    runs_candidate=used[1],
                    unmatched=_unmatched(strata, int(stratum), (baseline, candidate), used, names),
                    ignored=_differing(matched, mine, (baseline, candidate)) if matched.ignored else {},
                    confounded=confounded,
                    answers=() if confounded else answers_of(mine, cluster),
                    clusters=() if confounded else cluster_lines(matched, mine),
                    trimmed=None if confounded else trimmed(mine),
                    together=together[int(stratum)].get(candidate) if together and not confounded else None,
                ),
            )
        )
    return speedups


def _speedup(
    found: LogMean | None,
    *,
    baseline: str,
    candidate: str,
    sets: int,
    runs_baseline: int,
    runs_candidate: int,
    **more: Any,
) -> Speedup:
    ratio = found.ratio if found else None
    holds_for = found.holds_for if found else HoldsFor.HERE
    simulated = more.get("origin") == Origin.SIMULATED
    hide = hidden_by_sessions(found)
    basis = Basis(
        runs_baseline, runs_candidate, sets, holds_for.words, simulated, more["confounded"], sessions_hide=hide
    )
    if found is not None and basis.confounded:
        found = replace(found, error=float("nan"), sessions=None)
        ratio = found.ratio
    said = judge(baseline, candidate, ratio, basis)
    sure = found is not None and ratio is not None and ratio.low is not None
    return Speedup(
        baseline=baseline,
        candidate=candidate,
        sets=sets,
        runs_baseline=runs_baseline,
        runs_candidate=runs_candidate,
        ratio=ratio.value if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        holds_for=holds_for,
        method=found.method if found else OVER_SETS,
        log_error=found.error if found and sure else None,
        degrees=found.degrees if found and sure else None,
        log_rounding=found.rounding if found else 0.0,
        sessions=found.sessions if found else None,
        p=found.p if found else None,
        holm_p=None,
        conclusion=said.conclusion,
        sentence=said.claim,
        **more,
    )


def _corrected(found: list[Speedup]) -> list[Speedup]:
    """Return the same with conclusions that allow for how many there are."""
    tested = [number for number, one in enumerate(found) if one.p is not None]
    corrected = dict(zip(tested, holm([found[number].p or 0.0 for number in tested]).tolist(), strict=True))

    def judged(one: Speedup, holm_p: float) -> Speedup:
        ratio = Estimate(one.ratio or 0.0, one.low, one.high)
        said = judge(one.baseline, one.candidate, ratio, one.basis, Corrected(holm_p, len(tested)))
        return replace(one, holm_p=holm_p, conclusion=said.conclusion, sentence=said.claim)

    return [judged(one, corrected[number]) if number in corrected else one for number, one in enumerate(found)]


def speedups_of(
    matched: MatchedSets,
    baseline: str | None = None,
    *,
    by: str | None = "workload",
    fitted: Sequence[Fit] | None = None,
) -> list[Speedup]:
    """Return every level of the sets' factor against ``baseline`` (hard disks, or the first that ran, unless named).

    ``by``: the factor that makes groups, each with its own speedups, in the order of the rows; None for one figure over
    all workloads, in which every workload counts the same (:func:`over_groups`). ``fitted``: the sets'
    :func:`~assay.compare.together.fits`. SpecificationError for names and levels that no run has.

    Conclusions are corrected for all that are drawn here: each row of the answer is one more chance to be wrong.
    """
    if by is None:
        return over_groups(speedups_of(matched, baseline, fitted=fitted))
    table, factor = matched.table, matched.factor
    column = table.columns[factor]
    baseline = baseline_of(table, factor) if baseline is None else baseline
    if baseline not in column.levels:
        raise SpecificationError(f"no run has {factor} {baseline!r}", hint=f"levels: {', '.join(column.levels)}")
    if by == factor or by in matched.ignored:
        raise SpecificationError(f"runs can't be grouped by {by!r}: it differs within the matched sets")
    require_factor(table, by)
    strata = stratify(matched, by)
    code_b = column.code(baseline)
    reference = side(matched, code_b)
    fitted = fits(matched, strata) if fitted is None and not len(matched.deployment) else fitted
    together = [fit.against(code_b) for fit in fitted or ()]
    found = [
        numbered
        for code in range(len(column.levels))
        if code != code_b
        for numbered in _candidate_speedups(matched, strata, code_b, reference, code, together)
    ]
    return _corrected([speedup for _, speedup in sorted(found, key=lambda numbered: strata.first_row[numbered[0]])])


def over_groups(parts: Sequence[Speedup]) -> list[Speedup]:
    """Return one speedup for each candidate and origin: the geometric mean of ``parts``, each group counting the same.

    It answers one question, the one that most groups answer, and only groups that answer it count; the others are
    left out, and counted as unmatched.
    """
    keys = dict.fromkeys((part.candidate, part.origin, part.lab_scale) for part in parts)
    return _corrected(
        [_over([part for part in parts if (part.candidate, part.origin, part.lab_scale) == key]) for key in keys]
    )


def _over(parts: Sequence[Speedup]) -> Speedup:
    sure = [part for part in parts if part.log_error is not None]
    counts = Counter(part.holds_for for part in sure)
    question = max(counts, key=lambda one: (counts[one], one is HoldsFor.HERE), default=HoldsFor.HERE)
    used = [part for part in sure if part.holds_for is question]
    unmatched, ignored = Counter[str](), Counter[str]()
    for part in parts:
        unmatched.update(part.unmatched)
        ignored.update(part.ignored)
        if part not in used and part.sets:
            other = part in sure
            why = f"its {part.by} has an interval {part.holds_for.words} only" if other else ""
            why = why or f"too few sets of a {part.by} for an interval"
            unmatched[why] += part.runs_baseline + part.runs_candidate
    example = parts[0]
    confounded = tuple(dict.fromkeys(name for part in parts for name in part.confounded))
    if confounded:
        used = [part for part in parts if part.ratio is not None]
    return _speedup(
        _over_confounded(used) if confounded else combine([part.log_mean for part in used]) if used else None,
        factor=example.factor,
        baseline=example.baseline,
        candidate=example.candidate,
        by=None,
        group=f"{len(used)} of {len(parts)} levels of {example.by}",
        origin=example.origin,
        lab_scale=example.lab_scale,
        sets=sum(part.sets for part in used),
        runs_baseline=sum(part.runs_baseline for part in used),
        runs_candidate=sum(part.runs_candidate for part in used),
        unmatched=unmatched,
        ignored=ignored,
        confounded=confounded,
        answers=tuple(_answers_over(used)),
        clusters=(),
        depends_on=None,
        trimmed=None,
        together=None,
    )


def _over_confounded(parts: Sequence[Speedup]) -> LogMean:
    """Return the geometric mean of the ratios of ``parts``, whose error nothing tells."""
    mean = float(np.mean([np.log(part.ratio or 1.0) for part in parts]))
    return LogMean(mean, float("nan"), 0.0, parts[0].method, parts[0].holds_for)


def _answers_over(parts: Sequence[Speedup]) -> Iterator[Answer]:
    """Yield the answers that all groups have: each the mean over them."""
    for question in HoldsFor:
        told = [answer for part in parts for answer in part.answers if answer.holds_for is question]
        if parts and len(told) == len(parts):
            yield answer_of(combine([one.log_mean for one in told]), sum(one.units for one in told))
