"""Redirect from a speedup to a side-by-side view of two typical runs that explains the speedup.

In: a speedup (factor, baseline, candidate, workload, origin, scale). Out: a redirect to the page *Compare* with two
runs. Imported runs often have only a duration, so :func:`observed_pairs` lists the pairs with phases or traces.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from assay.analysis.comparison.result import SpeedupResult
from assay.interfaces.web.api.decisions import decisions_on
from assay.interfaces.web.api.why import WhyQuestionOf, cached_pair, has_explanation, required_pair
from assay.interfaces.web.state.context import READERS, Context, ContextOf
from assay.questions.comparisons.why import WhyQuestion, why_result, why_speedup
from assay.questions.decisions.decision import Decision, WorkloadResult
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import titles

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
OBSERVED_MAX = 6
"""Maximum number of pairs that :func:`observed_pairs` returns."""
SUGGESTED_MAX = 3
"""Maximum number of pairs that :func:`suggested_pairs` returns."""


@router.get("/why")
def why(context: ContextOf, question: WhyQuestionOf) -> Response:
    """Redirect to the comparison of two configurations that differ only in the factor, with the decision on it."""
    pair = required_pair(context, question)
    decision_fields = [
        ("by", question.by),
        ("baseline", question.baseline),
        *(("where", text) for text in question.where if text),
    ]
    address = urlencode([*(("run", run_id) for run_id in pair.runs), *decision_fields])
    return RedirectResponse(f"/compare?{address}", status_code=303)


def questions_of_speedups(
    context: Context, speedups: Sequence[SpeedupResult], where: Sequence[str] | None
) -> list[tuple[SpeedupResult, WhyQuestion | None]]:
    """Return the speedups with a ratio, each with its question for ``/why``.

    The question is None if ``where`` is None, and where no two matching runs have a trace or task attempts.
    """
    questions = [
        (speedup, None if where is None else why_speedup(speedup, where))
        for speedup in speedups
        if speedup.ratio is not None
    ]
    return [
        (speedup, question if question and has_explanation(context, question) else None)
        for speedup, question in questions
    ]


def suggested_pairs(context: Context) -> list[tuple[str, str, str]]:
    """Return comparisons of the storage question, of the workloads with the most runs first.

    Each is the compared options, the origin, and the address.
    """
    storage_results = [
        (result.time.runs_baseline + result.time.runs_option, decision, result)
        for decision in decisions_on(context, "")[:1]
        for result in decision.results
        if result.time is not None and result.time.groups
    ]
    largest_results = sorted(storage_results, key=lambda item: -item[0])[:SUGGESTED_MAX]
    return [_link(decision, result) for _, decision, result in largest_results]


def _link(decision: Decision, result: WorkloadResult) -> tuple[str, str, str]:
    """Return the compared options of a result, its origin, and the address that compares two of its runs."""
    options = (compared_option(decision, level) for level in (result.option, decision.baseline))
    options_text = f"{titles.workload_title(result.workload)}: {' against '.join(options)}"
    address = f"/why?{urlencode(why_result(decision, result).pairs)}"
    return options_text, titles.origin_badge(decision.origin, decision.lab_scale), address


def observed_pairs(
    context: Context, workload: str | None = None, *, excluded_ids: Sequence[str] = ()
) -> list[tuple[str, str, str]]:
    """Return comparisons of runs with phases or traces: the compared options, the origin, and the address.

    ``workload``: None for all workloads. ``excluded_ids``: ids of runs to leave out.
    """
    pairs = []
    for decision in decisions_on(context, ""):
        for result in decision.results:
            if result.time is None or workload not in (None, result.workload):
                continue
            pair = cached_pair(context, why_result(decision, result))
            if pair is not None and pair.observed and not set(pair.runs) & set(excluded_ids):
                pairs.append(_link(decision, result))
    return pairs[:OBSERVED_MAX]
