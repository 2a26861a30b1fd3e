"""Choose the next runs that reduce the uncertainty of a question most, and how many runs predict a cluster.

In: a repository, conditions, a question, and a budget of runs or time. Out: configurations in the order in which to run
them, with predicted times. Candidates are combinations of measured levels that were not measured together, on a cluster
that has the hardware. If there are more than :data:`CANDIDATES_MAX`, a random sample is taken. A time whose 90 %
interval is wider than a factor of :data:`WIDTH_MAX` is not stated.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, Column, Floats, RunTable, groups_by
from assay.estimation.prediction.choosing import contrast, estimates_by_tree, most_informative
from assay.estimation.prediction.model import TrainingData
from assay.estimation.prediction.predict import predict
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_percent, parse_duration
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR
from assay.questions.forecasts.decision_summaries import DecisionSummary, decision_summaries
from assay.questions.forecasts.model_cache import RepositoryModel, learned
from assay.questions.forecasts.partial_configuration import factor_named
from assay.questions.runs.runs import selected
from assay.questions.trust.flags import flags_in
from assay.store import Repository
from assay.text import plural

CANDIDATES_MAX = 1_500
"""Maximum number of candidates. Of more combinations, a random sample is used."""
WIDTH_MAX = 10.0
"""Maximum ratio of the upper to the lower end of a 90 % interval whose expected time is stated."""
_HARDWARE = (NETWORK_FACTOR, LAYOUT_FACTOR, WORKERS_FACTOR)
"""Factors whose levels a cluster has or does not have."""
SURFACE = "surface"
SIZES = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160)
"""Numbers of runs on the cluster that are tried in turn."""
REST_MIN = 5
"""Minimum number of configurations that remain to test the predictions on."""
_BUDGET = re.compile(r"(\d{1,6})\s*runs?")


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of runs or a total run time; the other field is None."""

    runs: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class NextRun:
    """One configuration to run."""

    configuration: dict[str, str]
    expected_s: float | None
    """None where the 90 % interval is too wide, or unknown."""
    low_s: float | None
    high_s: float | None
    uncertainty_after: float
    """Standard deviation of the requested ratio or times after this run, as a factor minus 1: 0.1 is 10 %."""


@dataclass(frozen=True, slots=True)
class NextRunsAnswer:
    """The runs, the most informative first."""

    about: str
    """``surface``, or the factor whose levels are compared."""
    candidates: int
    measured: int
    uncertainty: float
    runs: tuple[NextRun, ...]
    same: dict[str, str]
    """Levels that all candidates share, of factors that vary among other runs."""
    unpredicted: int
    """Runs without a predicted time."""
    decision: DecisionSummary | None
    """The decision on the factor ``about`` from measured runs; None for the surface, and where nothing is compared."""
    notices: tuple[str, ...]

    @property
    def duration_s(self) -> float:
        """Total predicted run time of the runs with a prediction, in seconds."""
        return sum(run.expected_s or 0.0 for run in self.runs)

    @property
    def duration_range_s(self) -> tuple[float, float] | None:
        """Sums of the lower and of the upper ends of the predicted intervals; None if no run has a predicted time.

        Errors of predictions are correlated, so they do not average out over the runs.
        """
        predicted_runs = [run for run in self.runs if run.expected_s is not None]
        if not predicted_runs:
            return None
        return sum(run.low_s or 0.0 for run in predicted_runs), sum(run.high_s or 0.0 for run in predicted_runs)


def budget_of(text: str) -> Budget:
    """Return the budget from ``20runs`` or ``2h``. Raises SpecificationError for other texts."""
    if (match := _BUDGET.fullmatch(text.strip())) is not None and int(match[1]) > 0:
        return Budget(int(match[1]), None)
    try:
        seconds = parse_duration(text.strip())
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise SpecificationError(f"{text!r} is not a budget", where="--budget", hint="write 20runs, 90min or 2h")
    return Budget(None, seconds)


@dataclass(frozen=True, slots=True)
class NextRunsRequest:
    """Which runs to choose, and how many."""

    budget: Budget
    where: tuple[str, ...] = ()
    cluster: str | None = None
    """Choose configurations of this cluster only; None: of every cluster."""
    about: str = SURFACE
    """``surface``: the time of every configuration; otherwise the factor whose levels to compare."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions on the runs to learn from and to choose, with that on the cluster."""
        return (*self.where, *([f"cluster={self.cluster}"] if self.cluster else []))


def next_runs(repository: Repository, request: NextRunsRequest) -> NextRunsAnswer:
    """Return the runs to make next."""
    return next_runs_by(learned(repository), repository, flags_in(repository).table, request)


def next_runs_by(
    repository_model: RepositoryModel, repository: Repository, flagged: RunTable, request: NextRunsRequest
) -> NextRunsAnswer:
    """Return the runs to make next, by a trained model. ``flagged``: all runs with outlier flags.

    Raises SpecificationError for unknown names.
    """
    budget, about, where = request.budget, request.about, request.conditions
    training = TrainingData.of(selected(repository_model.table, where, "--where"))
    measured = training.configurations()
    candidates = _unmeasured_configurations(measured, repository_model)
    if not len(candidates):
        raise SpecificationError("every combination of these levels was measured", hint="ask with fewer conditions")
    features = repository_model.model.encoding.of(candidates)
    estimates = estimates_by_tree(
        repository_model.model.encoding.of(measured), training.logs, features, repository_model.model.seed
    )
    question = _contrast_of_question(candidates, about, repository_model)
    answers = predict(repository_model.model, candidates)
    has_time = answers.high_s <= WIDTH_MAX * answers.low_s
    # Within a budget of time, a run without a reliable time counts with the upper end of its interval.
    upper_s = np.where(np.isfinite(answers.high_s), answers.high_s, np.inf)
    planned_s: Floats = np.where(has_time, answers.expected_s, upper_s)
    choice = most_informative(estimates, question, runs=budget.runs, expected_s=planned_s, budget_s=budget.seconds)
    varied_names = [factor.name for factor in repository_model.model.encoding.factors if factor.varied]
    names_with_choices = [name for name in varied_names if len(np.unique(candidates.columns[name].codes)) > 1]
    runs = tuple(
        NextRun(
            {name: candidates.columns[name].text(at) or "none" for name in names_with_choices},
            float(answers.expected_s[at]) if has_time[at] else None,
            float(answers.low_s[at]) if np.isfinite(answers.low_s[at]) else None,
            float(answers.high_s[at]) if np.isfinite(answers.high_s[at]) else None,
            float(np.expm1(uncertainty)),
        )
        for at, uncertainty in zip(choice.order, choice.uncertainty[1:], strict=True)
    )
    common_levels = {
        name: candidates.columns[name].text(0) or "none" for name in varied_names if name not in names_with_choices
    }
    factors = [] if about == SURFACE else [factor_named(about, repository_model.model.encoding, "--about").name]
    return NextRunsAnswer(
        about=about,
        candidates=len(candidates),
        measured=len(measured),
        uncertainty=float(np.expm1(choice.uncertainty[0])),
        runs=runs,
        same=common_levels,
        unpredicted=sum(run.expected_s is None for run in runs),
        decision=next(iter(decision_summaries(repository, flagged, factors, where)), None),
        notices=repository_model.notices,
    )


def _contrast_of_question(candidates: RunTable, about: str, repository_model: RepositoryModel) -> Floats | None:
    if about == SURFACE:
        return None
    name = factor_named(about, repository_model.model.encoding, "--about").name
    codes = candidates.columns[name].codes.astype(np.int64)
    levels = [int(code) for code in np.unique(codes)]
    if len(levels) < 2:
        raise SpecificationError(f"{name} has only one level here", where="--about", hint="ask with fewer conditions")
    return contrast(codes, levels)


def _unmeasured_configurations(measured: RunTable, repository_model: RepositoryModel) -> RunTable:
    """Return the combinations of measured levels that were not measured. Dependent factors are combined as measured."""
    varied_names = [factor.name for factor in repository_model.model.encoding.factors if factor.varied]
    blocks = _blocks(measured, [name for name in varied_names if name in measured.columns])
    choices = [_choices(measured, block) for block in blocks]
    size = int(np.prod([float(len(choice)) for choice in choices]))
    random = np.random.default_rng(repository_model.model.seed)
    if size <= 20 * CANDIDATES_MAX:
        cells = [sum(cell, ()) for cell in itertools.product(*choices)]
    else:
        picks = [random.integers(0, len(choice), 4 * CANDIDATES_MAX) for choice in choices]
        drawn_cells = zip(
            *([choice[int(at)] for at in pick] for choice, pick in zip(choices, picks, strict=True)), strict=True
        )
        cells = list(dict.fromkeys(sum(cell, ()) for cell in drawn_cells))
    names = [name for block in blocks for name in block]
    measured_cells = {tuple(row) for row in _codes(measured, names).tolist()}
    is_possible = _possibility_test(measured, names)
    unmeasured_cells = [cell for cell in cells if cell not in measured_cells and is_possible(cell)]
    if len(unmeasured_cells) > CANDIDATES_MAX:
        unmeasured_cells = [
            unmeasured_cells[int(at)] for at in np.sort(random.permutation(len(unmeasured_cells))[:CANDIDATES_MAX])
        ]
    return _table(
        measured, names, np.array(unmeasured_cells, dtype=np.int32).reshape(len(unmeasured_cells), len(names))
    )


def _possibility_test(measured: RunTable, names: Sequence[str]) -> Callable[[tuple[int, ...]], bool]:
    """Return a test whether a combination can be run: its cluster has runs with the same levels of hardware factors."""
    if "cluster" not in names:
        return lambda _: True
    cluster = names.index("cluster")
    hardware = [(at, name) for at, name in enumerate(names) if name in _HARDWARE]
    known_pairs = {at: {tuple(pair) for pair in _codes(measured, ["cluster", name]).tolist()} for at, name in hardware}
    return lambda cell: all((cell[cluster], cell[at]) in pairs for at, pairs in known_pairs.items())


def _choices(measured: RunTable, block: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the measured combinations of levels; of a single factor, an unrecorded level only if there is no other."""
    cells = sorted({tuple(row) for row in _codes(measured, block).tolist()})
    known_cells = [cell for cell in cells if cell != (ABSENT,)]
    return known_cells or cells


def _codes(table: RunTable, names: Sequence[str]) -> np.ndarray:
    return np.stack([table.columns[name].codes for name in names], axis=1) if names else np.zeros((len(table), 0))


def _blocks(table: RunTable, names: Sequence[str]) -> list[list[str]]:
    """Return groups of factors in which one determines another, for example compression and its codec."""
    blocks: list[list[str]] = []
    for name in names:
        for block in blocks:
            single_counts = [groups_by(table, [column_name]).count for column_name in (name, block[0])]
            if min(single_counts) > 1 and groups_by(table, [name, block[0]]).count == max(single_counts):
                block.append(name)
                break
        else:
            blocks.append([name])
    return blocks


def _table(measured: RunTable, names: Sequence[str], codes: np.ndarray) -> RunTable:
    size = len(codes)
    columns = {
        name: Column(np.full(size, column.codes[0], np.int32), column.levels)
        for name, column in measured.columns.items()
    }
    for at, name in enumerate(names):
        columns[name] = Column(codes[:, at].astype(np.int32), measured.columns[name].levels)
    values = {}
    for factor, name in (("layout", LAYOUT_DEVICES), ("cluster", "")):
        if factor not in names or not size:
            continue
        first_rows = {int(code): at for at, code in reversed(list(enumerate(measured.columns[factor].codes.tolist())))}
        rows = np.array([first_rows[int(code)] for code in columns[factor].codes])
        if factor == "layout" and name in columns:
            columns[name] = Column(measured.columns[name].codes[rows], measured.columns[name].levels)
        if factor == "cluster":
            values = {key: value[rows] for key, value in measured.values.items() if key.startswith("cluster.")}
    return RunTable(np.zeros(size, np.int64), columns, values)


@dataclass(frozen=True, slots=True)
class Step:
    """The errors of predictions of a cluster's other configurations after a number of runs on the cluster."""

    runs: int
    error: float
    """Median relative error of the predicted times."""
    error_mean: float


@dataclass(frozen=True, slots=True)
class Characterisation:
    """The configurations that predict a cluster best, in order, and the error after each step, by replay."""

    cluster: str
    plan: int
    """Number of configurations measured on the cluster."""
    precision: float
    enough: int | None
    """Number of runs that reaches the precision; None if no tried number reaches it."""
    order: tuple[dict[str, str], ...]
    steps: tuple[Step, ...]
    notices: tuple[str, ...]


def characterise(
    repository: Repository, cluster: str, precision: float, where: Sequence[str] = (), runs_max: int = 80
) -> Characterisation:
    """Return the fewest runs that predict the other runs on ``cluster`` with a median error of ``precision``.

    It replays measured runs: each step chooses runs with a model of the other clusters and the earlier steps, then
    looks up their times.
    """
    repository_model = learned(repository)
    table = selected(repository_model.table, where, "--where")
    column = table.columns.get("cluster")
    code = ABSENT if column is None else column.code(cluster)
    if column is None or code == ABSENT:
        levels = ", ".join(column.levels) if column else "none"
        raise SpecificationError(f"no run has cluster {cluster!r}", where="CLUSTER", hint=f"clusters: {levels}")
    other_data = _training_data(table.subset(column.codes != code), "of other clusters")
    cluster_data = _training_data(table.subset(column.codes == code), f"on {cluster}")
    return _replayed_search(repository_model, other_data, cluster_data, cluster, precision, runs_max)


def _training_data(table: RunTable, cluster_text: str) -> TrainingData:
    try:
        return TrainingData.of(table)
    except SpecificationError as error:
        raise SpecificationError(f"{cluster_text}: {error.message}", where="CLUSTER", hint=error.hint) from error


def _replayed_search(
    repository_model: RepositoryModel,
    other_data: TrainingData,
    cluster_data: TrainingData,
    cluster: str,
    precision: float,
    runs_max: int,
) -> Characterisation:
    encoding, seed = repository_model.model.encoding, repository_model.model.seed
    plan = cluster_data.configurations()
    other_features, plan_features = encoding.of(other_data.configurations()), encoding.of(plan)
    chosen_rows: list[int] = []
    steps: list[Step] = []
    enough_runs: int | None = None
    sizes = [size for size in SIZES if size <= min(runs_max, len(plan) - REST_MIN)]
    if not sizes:
        raise SpecificationError(
            f"{cluster} was measured in {len(plan)} configurations only, which is too few",
            where="CLUSTER",
            hint=f"at least {SIZES[0] + REST_MIN} are needed; `assay next` proposes runs",
        )
    for size in sizes:
        estimates = estimates_by_tree(
            np.concatenate([other_features, plan_features[chosen_rows]]),
            np.concatenate([other_data.logs, cluster_data.logs[chosen_rows]]),
            plan_features,
            seed,
        )
        remaining_rows = np.setdiff1d(np.arange(len(plan)), chosen_rows)
        choice = most_informative(estimates[remaining_rows], None, runs=size - len(chosen_rows))
        chosen_rows += [int(remaining_rows[at]) for at in choice.order]
        estimates_after = estimates_by_tree(
            np.concatenate([other_features, plan_features[chosen_rows]]),
            np.concatenate([other_data.logs, cluster_data.logs[chosen_rows]]),
            plan_features,
            seed,
        )
        remaining_after = np.setdiff1d(np.arange(len(plan)), chosen_rows)
        errors = np.abs(np.expm1(estimates_after.mean(axis=1)[remaining_after] - cluster_data.logs[remaining_after]))
        steps.append(Step(size, float(np.median(errors)), float(errors.mean())))
        if steps[-1].error <= precision and enough_runs is None:
            enough_runs = size
            break
    varied_names = [factor.name for factor in encoding.factors if factor.varied and factor.name in plan.columns]
    order = tuple({name: plan.columns[name].text(at) or "none" for name in varied_names} for at in chosen_rows)
    return Characterisation(cluster, len(plan), precision, enough_runs, order, tuple(steps), repository_model.notices)


def next_runs_sentence(answer: NextRunsAnswer) -> str:
    """Return how far the runs would reduce the model's uncertainty."""
    uncertainty_after = answer.runs[-1].uncertainty_after if answer.runs else answer.uncertainty
    runs = plural(len(answer.runs), "run")
    change = f"from {format_percent(answer.uncertainty, 1)} to {format_percent(uncertainty_after, 1)}"
    return f"{runs} would reduce the model's uncertainty {change}."


def enough_runs_sentence(answer: Characterisation) -> str:
    """Return how many runs are enough for predictions with the precision of the request."""
    count_text = (
        f"{plural(answer.enough, 'run is', 'runs are')} enough"
        if answer.enough
        else f"{plural(len(answer.order), 'run is', 'runs are')} not enough"
    )
    return (
        f"{count_text} to predict the other configurations on {answer.cluster} ({answer.plan:,} in all) with a median "
        f"error of {format_percent(answer.precision)}."
    )
