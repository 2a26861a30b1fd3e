"""Serve comparisons of runs side by side, and exports of runs as files."""

import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from assay.analysis.comparison.details.side_by_side import SIDES_MAX, SIDES_MIN, Sides
from assay.analysis.statistics import RunTable
from assay.foundation.errors import SpecificationError
from assay.interfaces.web.api.runs import find_run
from assay.interfaces.web.state.context import PROBLEMS, READERS, ContextOf, Where
from assay.model import Run
from assay.questions.comparisons.side_by_side import Of, sides_of
from assay.questions.runs.runs import in_order_of_start, run_json, selected
from assay.questions.trust.flags import outlier_kinds
from assay.store.exchange.exchange import write_csv, write_json_lines, write_parquet

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["views"])

EXPORT_RUNS_MAX = 100_000
"""Maximum number of runs in an exported file."""
Limit = Annotated[int | None, Query(ge=1, le=EXPORT_RUNS_MAX, description="Only this many of the newest runs.")]
RunIds = Annotated[list[str], Query(max_length=SIDES_MAX, description=f"{SIDES_MIN} to {SIDES_MAX} ids of runs.")]
Form = Literal["csv", "parquet", "jsonl", "json"]
_MEDIA_TYPES: dict[str, str] = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/x-ndjson",
    "json": "application/json",
}
_WRITERS: dict[str, Callable[[Sequence[Run], IO[str]], None]] = {"csv": write_csv, "jsonl": write_json_lines}


@router.get("/sides")
def sides(context: ContextOf, run: RunIds, of: Of = "configurations") -> Sides:
    """Compare runs, or their configurations: differences, and ratios to the first."""

    def make(table: RunTable) -> Sides:
        return sides_of(context.store.repository, table, [find_run(context, run_id) for run_id in run], of)

    return context.store.answer(("sides", tuple(run), of), make)


_FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {} for kind in _MEDIA_TYPES.values()}, "description": "The file."}
}


@router.get("/export", response_class=Response, responses={**PROBLEMS, **_FILE_RESPONSES})
def export(context: ContextOf, form: Form = "csv", where: Where = [], limit: Limit = None) -> Response:  # noqa: B006
    """Export the matching runs, newest last: a table (``csv``, ``parquet``), a run per line, or `assay runs --json`."""
    flagged = context.store.flagged()
    matching_runs = selected(flagged.table, where)
    rows = in_order_of_start(context.store.repository, matching_runs)[-limit if limit else 0 :]
    if len(rows) > EXPORT_RUNS_MAX:
        raise SpecificationError(
            f"{len(matching_runs):,} runs match, and {EXPORT_RUNS_MAX:,} can be exported at most",
            where="where",
            hint="choose fewer runs; `assay export` on the server has no limit",
        )
    runs = context.store.repository.runs_at(matching_runs, rows)
    headers = {"Content-Disposition": f'attachment; filename="runs.{form}"'}
    if form == "parquet":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.parquet"
            write_parquet(runs, path)
            return Response(path.read_bytes(), media_type=_MEDIA_TYPES[form], headers=headers)
    if form == "json":
        kinds = outlier_kinds(context.store.repository, flagged)
        return JSONResponse([run_json(run, kinds.get(run.run_id)) for run in runs], headers=headers)
    text = io.StringIO(newline="")
    _WRITERS[form](runs, text)
    return Response(text.getvalue().encode("utf-8", "replace"), media_type=_MEDIA_TYPES[form], headers=headers)
