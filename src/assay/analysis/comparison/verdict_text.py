"""Format verdicts, scopes and the evidence behind an estimate: the same text for decisions and their details."""

from dataclasses import dataclass

from assay.analysis.statistics import InferenceScope, Verdict
from assay.text.language import capitalised, joined, plural
from assay.text.ratios import count_runs, format_interval, format_ratio

_SCOPES = {
    InferenceScope.TESTED: "tested settings only",
    InferenceScope.SIMILAR: "similar settings on these clusters",
    InferenceScope.OTHER_CLUSTERS: "other clusters",
    InferenceScope.OTHER_DEPLOYMENTS: "other deployments",
}


def scope_text(scope: InferenceScope) -> str:
    """Return what an interval covers: ``tested settings only``."""
    return _SCOPES[scope]


def groups_and_runs(groups: int, runs_baseline: int, runs_candidate: int) -> str:
    """Return the data behind an estimate: ``3 runs each`` or ``214 matched groups, 495 runs``."""
    if groups == 1:
        return count_runs(runs_baseline, runs_candidate)
    runs = f"{runs_baseline + runs_candidate:,} runs"
    return f"{plural(groups, 'matched group')}, {runs}" if groups else f"through other options, {runs}"


def evidence_text(low: float | None, high: float | None, basis: str, scope: InferenceScope) -> str:
    """Return the evidence behind a ratio: ``95 % interval 1.57 to 1.79, 3 runs each, tested settings only``."""
    if low is None or high is None:
        return f"no interval, {basis}"
    return f"95 % interval {format_interval(low, high)}, {basis}, {scope_text(scope)}"


@dataclass(frozen=True, slots=True)
class ComparedNames:
    """The names in a verdict: an option, its baseline, and the workloads that were compared."""

    option: str
    baseline: str
    verb: str = "is"
    """``are`` for an option in the plural."""
    where: str = ""
    """For example `` on TeraSort``, with its leading space."""


def text_of_difference(compared: ComparedNames, ratio: float) -> str:
    """Return the speedup as text; below 1, the text says "slower"."""
    option, baseline, verb, where = compared.option, compared.baseline, compared.verb, compared.where
    ratio_text = f"{format_ratio(ratio)}×"
    if ratio < 1:
        return f"{option} {verb} slower than {baseline}{where}: {ratio_text} as fast"
    return f"{option} {verb} {ratio_text} as fast as {baseline}{where}"


def chance_text(comparisons: int) -> str:
    """Return why a significant difference gets no verdict; ``comparisons``: the number of comparisons."""
    return f"among the {plural(comparisons, 'comparison')} of this answer, one can differ this much by chance"


def verdict_text(
    verdict: Verdict,
    compared: ComparedNames,
    ratio: float | None,
    *,
    margin: float,
    corrected_for: int | None = None,
    confounded: tuple[str, ...] = (),
) -> str:
    """Return a verdict on an option against its baseline, without its evidence and full stop.

    ``corrected_for``: the number of comparisons, if their correction changed the verdict.
    """
    option, baseline, verb, where = compared.option, compared.baseline, compared.verb, compared.where
    if ratio is None:
        return capitalised(f"{option} {verb} not compared with {baseline}{where}")
    ratio_text = f"{format_ratio(ratio)}×"
    match verdict:
        case Verdict.NOT_DISTINGUISHABLE if corrected_for:
            text = f"{text_of_difference(compared, ratio)}, not confirmed: {chance_text(corrected_for)}"
        case Verdict.FASTER | Verdict.SLOWER:
            text = text_of_difference(compared, ratio)
        case Verdict.EQUIVALENT:
            text = f"{option} and {baseline} are equivalent within {100 * margin:g} %{where}: {ratio_text}"
        case Verdict.NOT_DISTINGUISHABLE:
            text = f"{option} and {baseline} are not distinguishable{where}: {ratio_text}"
        case Verdict.CONFOUNDED:
            names = joined(confounded)
            text = f"{option} against {baseline} is confounded by {names}{where}: {ratio_text}"
        case _:
            text = f"Not enough runs to compare {option} with {baseline}{where}: {ratio_text}"
    return capitalised(text)
