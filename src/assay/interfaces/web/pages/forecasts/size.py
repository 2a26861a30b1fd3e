"""Show the page that sizes a cluster from the logs of one job.

The script of the page sends the log, then the form, and opens an address that contains the question. The answer equals
the answer of ``assay size``, with a chart of time against money and a table of the candidates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.web.api import size as api_size
from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import READERS, Context, ContextOf, get_context
from assay.interfaces.web.state.search_state import key_of
from assay.interfaces.web.state.uploaded_logs import FILE_BYTES_MAX
from assay.questions.recommendation import size_sentences
from assay.questions.recommendation.catalogues import UploadedLogRequest, stored_catalogues
from assay.questions.recommendation.sentences import interval_header, intervals_name, intervals_text
from assay.questions.recommendation.size import Shape, SizeAnswer

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
_CHARACTERS_MAX = 1_000_000
"""Maximum length of a field of the form, in characters."""
_WHOLE_NUMBER_FIELDS = ("simulations", "seed")
_FILE_FIELDS = ("catalogue_text", "prices_text")


@dataclass(frozen=True, slots=True)
class ShapePoint:
    """A candidate in the chart of money against time."""

    shape: Shape
    runs: int = 0
    """Number of measured runs, which the chart shows: none, because shapes are simulated."""

    @property
    def label(self) -> str:
        """Name in the chart."""
        return self.shape.label

    @property
    def levels(self) -> Mapping[str, str]:
        """Choices by name."""
        return self.shape.levels

    @property
    def time_s(self) -> float:
        """Time of the job, in seconds."""
        return self.shape.time_s

    @property
    def time_low_s(self) -> float:
        """Lower end of the 90 % interval of the time."""
        return self.shape.time_low_s

    @property
    def time_high_s(self) -> float:
        """Upper end of the 90 % interval of the time."""
        return self.shape.time_high_s

    @property
    def cost(self) -> float:
        """Cost of the job."""
        return self.shape.job_cost

    @property
    def cost_low(self) -> float:
        """Lower end of the 90 % interval of the cost."""
        return self.shape.job_cost_low

    @property
    def cost_high(self) -> float:
        """Upper end of the 90 % interval of the cost."""
        return self.shape.job_cost_high

    @property
    def on_pareto_front(self) -> bool:
        """Whether no other cluster is faster and cheaper."""
        return self.shape.on_pareto_front

    @property
    def pareto_front_probability(self) -> float:
        """1 on the Pareto front, else 0."""
        return float(self.shape.on_pareto_front)


@router.get("/size")
def size(request: Request, context: ContextOf) -> Response:
    """Show the form, and the answer to the question in the address if its computation was started."""
    return page_of(request, "size", **_values(context, parse_qs(request.url.query)))


@router.post("/size")
async def begin_size(request: Request) -> Response:
    """Begin the computation of the form, and redirect to the address that shows it."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return await run_in_threadpool(_start, request, get_context(request), form)


def _start(request: Request, context: Context, form: Mapping[str, Sequence[str]]) -> Response:
    try:
        log_request = _request_of(form)
        key = api_size.start_size(context, log_request)
    except AssayError as error:
        return page_of(request, "size", **{**_values(context, form), "problem": error})
    query = urlencode([("key", key)]) if log_request.has_texts else _query(log_request)
    return RedirectResponse(f"/size?{query}", status_code=303)


def _query(log_request: UploadedLogRequest) -> str:
    """Return a request as a query string, without default values."""
    defaults = UploadedLogRequest()
    values = {
        request_field.name: getattr(log_request, request_field.name) for request_field in fields(UploadedLogRequest)
    }
    return urlencode({name: value for name, value in values.items() if value != getattr(defaults, name)})


def _request_of(form: Mapping[str, Sequence[str]]) -> UploadedLogRequest:
    """Return the request in a form or an address. Raises SpecificationError for a text that is not a number."""
    request_fields: dict[str, Any] = {}
    for request_field in fields(UploadedLogRequest):
        text = next((value for value in form.get(request_field.name, ()) if value.strip()), "")[:_CHARACTERS_MAX]
        text = text if request_field.name in _FILE_FIELDS else text.strip()
        if not text:
            continue
        if request_field.name in _WHOLE_NUMBER_FIELDS and not text.isdecimal():
            raise SpecificationError(f"{text[:40]!r} is not a whole number", where=request_field.name)
        if request_field.name == "prices_spot":
            request_fields[request_field.name] = True  # a form sends a ticked box only
            continue
        request_fields[request_field.name] = (
            int(text[:9]) if request_field.name in _WHOLE_NUMBER_FIELDS else text.replace("\r\n", "\n")
        )
    return UploadedLogRequest(**request_fields)


def _values(context: Context, form: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the values for the page's template."""
    log_request, problem = UploadedLogRequest(), None
    key = next(iter(form.get("key", ())), "")
    if form and not key:
        try:
            log_request = _request_of(form)
            key = key_of(log_request) if log_request.upload else ""
        except SpecificationError as error:
            problem = error
    search = context.sizes.find(key) if key else None
    if search is not None and isinstance(search.request, UploadedLogRequest):
        log_request = search.request
    answer = search.answer if search is not None else None
    return {
        "intervals": intervals_text("the log"),
        "log_request": log_request,
        "catalogues": list(stored_catalogues(context.cluster_folders)),
        "bytes_max": FILE_BYTES_MAX,
        "search": search,
        "key": key,
        "log_known": bool(log_request.upload) and context.logs.folder(log_request.upload) is not None,
        "problem": problem or (search.problem if search is not None else None),
        "answer": answer,
        **(_answer_values(answer, _log_names(context, log_request.upload)) if answer is not None else {}),
    }


def _log_names(context: Context, upload: str) -> list[str]:
    """Return the names of the uploaded logs, for commands; ``LOG`` if they are gone."""
    folder = context.logs.folder(upload)
    return sorted(path.name for path in folder.iterdir()) if folder is not None else ["LOG"]


def _answer_values(answer: SizeAnswer, log_names: Sequence[str]) -> dict[str, Any]:
    """Return the template values of an answer: its sentences and its chart."""
    points = [ShapePoint(shape) for shape in answer.candidates]
    layouts = colours_of([point.levels["layout"] for point in points])
    axes = ("Time of the job", "Cost of the job")
    commands = size_sentences.SizeCommands.without_examples(log_names)
    first_sentence, *reason_sentences = size_sentences.first_sentences(answer, commands)
    return {
        "first_sentence": first_sentence,
        "reason_sentences": reason_sentences,
        "shapes_text": list(size_sentences.shapes_sentences(answer)),
        "job_text": [*size_sentences.job_sentences(answer), *size_sentences.memory_sentences(answer)],
        "assumptions": list(size_sentences.assumption_sentences(answer)),
        "interval": interval_header(extrapolated=answer.extrapolated),
        "interval_name": intervals_name(extrapolated=answer.extrapolated),
        "missing_sentences": list(size_sentences.missing_sentences(answer, commands)),
        "cost_chart": cost_effectiveness_chart(points, layouts, answer.currency, axis_titles=axes) if points else None,
    }
