"""Proposals of further runs in sentences."""

from assay.model import LAYOUT_FACTOR
from assay.questions.decisions.decision import Decision, FurtherRuns, RunGoal
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import format_ratio, joined, layout_text, plural, workload_title

CLUSTERS_NAMED = 3
"""Maximum number of clusters named in a sentence."""


def next_sentences(decision: Decision) -> tuple[str, ...]:
    """Return each proposal of a decision: the runs and their time, their effect on the interval, and what that shows.

    Where the headline states an effect by storage class, the text says that the proposal is for all classes together.
    """
    together = "For all storage classes together: " if decision.storage_effects else ""
    return tuple(f"{together}{_proposal(decision, runs)}" for runs in decision.next_runs)


def _proposal(decision: Decision, runs: FurtherRuns) -> str:
    title = workload_title(runs.workload)
    where = f" on {joined(list(runs.clusters))}" if 0 < len(runs.clusters) <= CLUSTERS_NAMED else ""
    names = joined(
        [
            (layout_text(option) if decision.factor == LAYOUT_FACTOR else compared_option(decision, option))
            for option in runs.options
        ]
    )
    duration = f"about {about_duration(runs.duration_s)}"
    if runs.new_groups:
        count, need = runs.groups, "need" if runs.groups > 1 else "needs"
        missing = f"1 run of the missing option{' each' if runs.groups > 1 else ''}"
        what = f"{_more(count, 'matched group')} of {title} with {names}{where} {need} {missing} ({duration})"
    else:
        count, take = runs.repetitions, "take" if runs.repetitions > 1 else "takes"
        in_each = f" in each of {plural(runs.groups, 'matched group')}" if runs.groups > 1 else ""
        what = f"{_more(count, 'repetition')} of {title} with {names}{where}{in_each} {take} {duration}"
    return f"{what}. {'They' if count > 1 else 'It'} would {_effect(decision, runs, title)}."


def _more(count: int, noun: str) -> str:
    return f"{count} more {noun}{'s' if count != 1 else ''}"


def _effect(decision: Decision, runs: FurtherRuns, title: str) -> str:
    of_workload = f" of {title}" if len(decision.shared_workloads) > 1 else ""
    if runs.expected_half_width is None:
        return f"give a first interval{of_workload}"
    now = "" if runs.half_width is None else f" from ±{_share(runs.half_width)}"
    narrower = f"bring the 95 % interval{of_workload}{now} to about ±{_share(runs.expected_half_width)}"
    equivalence = f"equivalence within {100 * decision.margin:g} %"
    aim = equivalence if runs.aim is RunGoal.EQUIVALENCE else "the difference"
    return f"{narrower}. That shows {aim} if the ratio stays at {format_ratio(runs.ratio)}×"


def _share(half_width: float) -> str:
    return f"{100 * half_width:.0f} %" if half_width >= 0.0095 else f"{100 * half_width:.1g} %"


def about_duration(seconds: float) -> str:
    """Return a duration as an estimate: ``40 s``, ``12 min``, ``5.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
