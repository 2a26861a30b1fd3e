"""Proposals of further runs in sentences."""

from assay.model import LAYOUT_FACTOR
from assay.questions.decisions.decision import Decision, FurtherRuns, RunGoal
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import estimated_duration, format_ratio, joined, layout_text, plural, workload_title

CLUSTERS_NAMED = 3
"""Maximum number of clusters named in a sentence."""


def next_sentences(decision: Decision) -> tuple[str, ...]:
    """Return each proposal of a decision: the runs, their time, and what they would show."""
    return tuple(_proposal(decision, runs) for runs in decision.next_runs)


def _proposal(decision: Decision, runs: FurtherRuns) -> str:
    title = workload_title(runs.workload)
    where = f" on {joined(list(runs.clusters))}" if 0 < len(runs.clusters) <= CLUSTERS_NAMED else ""
    first, second = (_option(decision, option) for option in runs.options)
    duration = f"about {estimated_duration(runs.duration_s)}"
    if runs.new_groups:
        proposal = f"Run {title} {_times(runs.groups)}{where}, in settings that lack {first} or {second} ({duration})"
    else:
        in_each = f" in each of {plural(runs.groups, 'matched group')}" if runs.groups > 1 else ""
        proposal = (
            f"Run {title} {_times(runs.repetitions)} with each of {first} and {second}{where}{in_each} ({duration})"
        )
    return f"{proposal}{_effect(decision, runs, title)}."


def _times(count: int) -> str:
    return f"{count} more times" if count > 1 else "once more"


def _effect(decision: Decision, runs: FurtherRuns, title: str) -> str:
    workload_text = f" of {title}" if len(decision.headline_workloads) > 1 else ""
    if runs.expected_half_width is None:
        return f". That gives a first interval{workload_text}"
    width_text = "" if runs.half_width is None else f", now ±{_share(runs.half_width)}"
    equality = f"that the options are equal within {100 * decision.margin:g} %"
    effect_text = equality if runs.aim is RunGoal.EQUIVALENCE else "a difference"
    return (
        f". That is enough to show {effect_text} if the ratio{workload_text} stays at {format_ratio(runs.ratio)}× "
        f"(interval ±{_share(runs.expected_half_width)}{width_text})"
    )


def _share(half_width: float) -> str:
    return f"{100 * half_width:.0f} %" if half_width >= 0.0095 else f"{100 * half_width:.1g} %"


def _option(decision: Decision, level: str) -> str:
    """Return an option in words: ``2 SSDs (SS2)``."""
    return layout_text(level) if decision.factor == LAYOUT_FACTOR else compared_option(decision, level)
