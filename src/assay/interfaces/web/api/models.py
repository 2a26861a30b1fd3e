"""Define the requests of the API, and responses that differ from the values of ``assay.questions``.

Field names end in their units. Amounts of money are in the response's ``currency``.
"""

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from assay.analysis.run_profile.series import Series, SeriesName
from assay.model import Run, TaskAttempt
from assay.questions.runs.overview import RunCounts

_TASK_FIELDS: Any = {
    name: (kind, ...) for name, kind in get_type_hints(TaskAttempt).items() if name in TaskAttempt.__struct_fields__
}
TaskAttemptModel: Any = create_model("TaskAttempt", __config__=ConfigDict(from_attributes=True), **_TASK_FIELDS)
"""A task attempt. Pydantic cannot read :class:`~assay.model.runs.task_attempt.TaskAttempt` directly."""
BOOK_CHARACTERS_MAX = 1_000_000
"""Maximum length of a price book in a request, in characters."""
ShortText = Annotated[str, StringConstraints(max_length=300)]


class Model(BaseModel):
    """The base class of all models; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Problem(Model):
    """An error response."""

    message: str = Field(description="What happened and why.")
    where: str | None = Field(None, description="Where: a parameter, a file and line, a bundle.")
    hint: str | None = Field(None, description="What to do next.")


class ServerInfo(Model):
    """The server's version, repository and price book, and the caller's permissions."""

    assay: str = Field(description="Version of assay.")
    api: int = Field(description="Version of this API.")
    roles: list[str]
    prices: str | None = Field(description="Name of the server's price book.")


class Summary(Model):
    """The contents of the repository in numbers."""

    counts: RunCounts
    bundles: int


class RunParts(Model):
    """One run, and the names of its logs, files and series."""

    run: Run
    logs: list[str]
    files: dict[str, int] = Field(description="The bundle's files with their sizes in bytes.")
    series: list[SeriesName] = Field(description="Series in the run's trace.")
    tasks: int = Field(description="Number of task attempts.")


class TraceAnswer(Model):
    """Series of a run's trace, thinned without losing peaks."""

    series: list[Series]
    windows: int


class LogPart(Model):
    """A part of a log as text; invalid UTF-8 is replaced."""

    name: str
    offset_bytes: int
    text: str
    next_offset_bytes: int | None = Field(description="Offset of the rest; null at the end.")


class FigureRow(Model):
    """One bar of a figure as a publication defines it."""

    workload: str
    origin: str
    level: str
    value: float
    spread: float | None
    runs: int
    configurations: int


class BundlePage(Model):
    """Ids of bundles, sorted."""

    bundles: list[str]
    more: bool = Field(description="Whether more ids follow.")


class Uploaded(Model):
    """The result of an upload."""

    bundle_id: str
    new: bool


class CostQuestion(Model):
    """A request to price runs. Nothing is stored."""

    prices: str | None = Field(
        None, max_length=BOOK_CHARACTERS_MAX, description="A price book (YAML); default: the server's."
    )
    changes: dict[ShortText, float] = Field(
        default_factory=dict, max_length=200, description="Changed prices, by name."
    )
    by: list[ShortText] = Field(default_factory=list, max_length=10, description="Factors that make a row.")
    where: list[ShortText] = Field(default_factory=list, max_length=50, description="COLUMN=LEVEL.")
    take: Literal["best", "all", "fastest"] = "all"
    on: ShortText | None = Field(None, description="Date of the prices.")
    currency: ShortText | None = None
    exclude_flagged: bool = Field(False, description="Exclude runs whose times are flagged as outliers.")
    seed: int = Field(0, ge=0, le=2**31)


class JobCostQuestion(Model):
    """A request to price years of use. Nothing is stored."""

    prices: str | None = Field(None, max_length=BOOK_CHARACTERS_MAX)
    changes: dict[ShortText, float] = Field(default_factory=dict, max_length=200)
    where: list[ShortText] = Field(default_factory=list, max_length=50)
    exclude_flagged: bool = False
    years: float = Field(3, gt=0, le=100, allow_inf_nan=False)
    rounding: Literal["none", "paper"] = "none"
    baseline: ShortText | None = None
