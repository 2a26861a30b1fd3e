"""Define the requests of the API, and responses that differ from the values of ``assay.questions``.

Field names end in their units. Amounts of money are in the response's ``currency``.
"""

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import AliasPath, BaseModel, ConfigDict, Field, StringConstraints, create_model

from assay.analysis.cost.pareto import Quadrants
from assay.analysis.run_profile.series import Series, SeriesName
from assay.model import Run, TaskAttempt
from assay.questions.costs.cost_effectiveness import RowVerdict
from assay.questions.costs.job_cost import CostPerformance, JobCostRatio
from assay.questions.decisions.values import Decision
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
    """Why a request has no answer."""

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
    series: list[SeriesName] = Field(description="What its trace holds.")
    tasks: int = Field(description="Task attempts.")


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


class CostRow(Model):
    """Time and cost of one configuration."""

    rank: int | None = Field(description="1 for the cheapest and its ties; null without a verdict.")
    verdict: RowVerdict
    label: str
    levels: dict[str, str]
    configuration: dict[str, str]
    runs: int = Field(validation_alias="n")
    runs_all: int = Field(validation_alias="n_all")
    flagged: int = Field(description="Runs whose times are flagged as outliers.")
    time_s: float
    time_low_s: float | None
    time_high_s: float | None
    rate_per_h: float
    cost: float
    cost_low: float | None
    cost_high: float | None
    borrowed: bool = Field(description="Whether the interval uses pooled spread, because the row has few runs.")
    on_pareto_front: bool
    pareto_front_probability: float | None


class SwitchingPriceField(Model):
    """The price of an item at which another configuration becomes the cheapest; null if there is none."""

    name: str = Field(validation_alias=AliasPath("price", "name"))
    per: str = Field(validation_alias=AliasPath("price", "per"))
    amount: float = Field(validation_alias=AliasPath("price", "amount"))
    within_range: bool = Field(description="Whether the switching price is within the range of plausible prices.")
    below: float | None
    below_winner: str | None
    above: float | None
    above_winner: str | None


class CostEffectivenessAnswer(Model):
    """Time and cost of one job's configurations."""

    job: dict[str, str]
    book: str
    currency: str
    date: str
    source: str
    by: list[str]
    take: str
    rows: list[CostRow]
    break_even_prices: list[SwitchingPriceField]
    quadrants: Quadrants | None = Field(description="Limits between fast and slow, cheap and expensive.")
    unpriced: dict[str, str]
    set_apart: dict[str, str] = Field(description="Rows without a rank, with the reason: an implausible data size.")
    left_out: int
    flagged: int
    flagged_count: bool
    size_recorded: bool
    decision: Decision | None = Field(description="The cheapest row, over matched groups.")
    headline: str = Field(description="The same in words.")
    note: str | None = Field(description="Caveat on the absolute times and amounts of a lab.")
    draws: int


class TcoQuestion(Model):
    """A request to price years of use. Nothing is stored."""

    prices: str | None = Field(None, max_length=BOOK_CHARACTERS_MAX)
    changes: dict[ShortText, float] = Field(default_factory=dict, max_length=200)
    where: list[ShortText] = Field(default_factory=list, max_length=50)
    exclude_flagged: bool = False
    years: float = Field(3, gt=0, le=100, allow_inf_nan=False)
    rounding: Literal["none", "paper"] = "none"
    baseline: ShortText | None = None


class TcoLine(Model):
    """One workload on one layout over the years."""

    workload: str
    layout: str
    runs: int = Field(validation_alias="n")
    runtime_s: float
    jobs_per_day: float
    jobs: float
    price: float
    cost_per_job: float
    cost_per_job_low: float | None
    cost_per_job_high: float | None


class Tco(Model):
    """Jobs and cost over years."""

    book: str
    currency: str
    date: str
    years: float
    rounding: str
    baseline: str
    note: str | None
    rows: list[TcoLine]
    ratios: list[JobCostRatio] = Field(description="The rows of the decision on layouts.")
    performance: list[CostPerformance]
    unpriced: dict[str, str]
    narrowed: dict[str, str] = Field(
        {}, description="Factors with the level that rows are limited to, because a layout has one price."
    )
