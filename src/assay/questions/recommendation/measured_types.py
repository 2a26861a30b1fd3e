"""Predict the times of a recommendation's finalists from measured runs on instance types, instead of simulating them.

In: a repository with runs on two or more instance types, and the finalists. Out: the finalists with times of the model
that ``assay predict --cluster '8x i4i.2xlarge'`` uses (:mod:`assay.estimation.prediction.instance_types`), in seconds,
or the reason why it does not answer. Predicted and simulated times are never compared with each other: the model has to
answer for every finalist and workload.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.analysis.statistics import ABSENT, RunTable
from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.features import instance_types_of
from assay.estimation.simulator.error_model import Z90
from assay.foundation.errors import SpecificationError
from assay.foundation.progress import Progress
from assay.model import CostProfile, Origin
from assay.model.clusters.instance_type import node_type_name
from assay.questions.costs.mix import Work
from assay.questions.forecasts.learning import ProfileOrigin, ProfileRequest, profile_from
from assay.questions.forecasts.model_cache import RepositoryModel, learned, with_hardware
from assay.questions.forecasts.prediction_batch import PredictedRow, batch_predicted
from assay.questions.recommendation.finalists import Extrapolation, Finalists, examine_finalists
from assay.questions.recommendation.search import ClusterSearch
from assay.questions.recommendation.value_of_information import Sensitivity
from assay.specs.instances import shipped_instances
from assay.specs.profiles import shipped_profile
from assay.store import Repository
from assay.store.formats.tables.configuration_rows import ConfigurationRow
from assay.text import plural

TYPES_MIN = 2
"""Minimum number of measured instance types to predict others from."""
TYPE_INPUT = "type:"
"""Prefix of the uncertain inputs that are errors of predicted times of an instance type."""
SPAN_MAX = 10.0
"""Maximum upper end / lower end of the interval of a predicted time that is used."""
_DATA_MATCH = 1.01
"""Maximum ratio of two data sizes that count as equal."""


@dataclass(frozen=True, slots=True)
class MeasuredTypes:
    """The model of a repository with runs on instance types."""

    model: RepositoryModel
    name: str
    """Name of the repository."""
    types: int
    """Number of measured instance types."""

    @property
    def description(self) -> str:
        """What the times are predicted from."""
        runs = plural(self.model.model.runs, "run")
        return f"{runs} on {self.types} instance types in {self.name} (Gaussian process, as in assay predict)"


@dataclass(frozen=True, slots=True)
class TimeSources:
    """What the times of a recommendation are computed from."""

    profile: CostProfile
    """The profile to simulate with."""
    origin: ProfileOrigin = ProfileOrigin.SHIPPED
    measured: MeasuredTypes | None = None
    """The model of measured instance types; None without it."""


def sources_from(request: ProfileRequest) -> TimeSources:
    """Return the profile to simulate with, and the model of measured instance types if the repository has such runs.

    A repository of tables has no tasks to learn a profile from. With runs on instance types, the shipped profile then
    selects the finalists. Raises SpecificationError as :func:`~assay.questions.forecasts.learning.profile_from`.
    """
    if request.learn_from is None or request.profile:
        return TimeSources(profile_from(request), request.origin)
    measured = measured_types(request.learn_from)
    try:
        return TimeSources(profile_from(request), request.origin, measured)
    except SpecificationError:
        if measured is None:
            raise
        return TimeSources(shipped_profile(), ProfileOrigin.SHIPPED, measured)


def measured_types(root: Path) -> MeasuredTypes | None:
    """Return the model of the runs on instance types; None if there are too few runs or types."""
    repository = Repository.open(root)
    names, codes = instance_types_of(with_hardware(repository, repository.table()))
    types = {names[code] for code in codes.tolist() if code >= 0}
    if len(types) < TYPES_MIN:
        return None
    try:
        return MeasuredTypes(learned(repository), root.name, len(types))
    except SpecificationError:
        return None


def timed_finalists(
    search: ClusterSearch, measured: MeasuredTypes | None, progress: Progress | None
) -> tuple[Finalists, str, Origin]:
    """Return the finalists with their times, a sentence on the model of the times, and their origin."""
    finalists = examine_finalists(search, progress)
    if progress is not None:
        progress("finalists ranked with uncertain quantities", 0, 0)
    if measured is None:
        return finalists, "", Origin.SIMULATED
    predicted_times = predicted_finalists(search, finalists, measured)
    if isinstance(predicted_times, str):
        return (
            finalists,
            f"times are simulated, not predicted from {measured.description}: {predicted_times}",
            Origin.SIMULATED,
        )
    text = f"times are predicted from {measured.description}; the simulator only selected the finalists"
    return predicted_times, text, Origin.PREDICTED


def predicted_finalists(search: ClusterSearch, finalists: Finalists, measured: MeasuredTypes) -> Finalists | str:
    """Return the finalists with predicted times and their uncertainty, or why the model does not answer."""
    table = measured.model.table
    for work in search.works:
        if reason := _why_size_unusable(table, work, search.data_factor):
            return reason
    types = {node_type_name(name): name for name in shipped_instances()}
    rows: list[ConfigurationRow] = []
    workers = [search.candidates.machines[search.candidates.machine[row]].option.name for row in finalists.rows]
    for name, row in zip(workers, finalists.rows.tolist(), strict=True):
        if name not in types:
            return f"{name} is no instance type of the shipped table"
        for work in search.works:
            levels = {"workload": work.workload, "instance_type": types[name]}
            levels["workers"] = str(int(search.candidates.workers[row]))
            if (size := measured.model.model.encoding.factor("data_bytes")) is not None and size.varied:
                levels["data_bytes"] = str(round(work.data_bytes * search.data_factor))
            rows.append(ConfigurationRow(len(rows) + 1, levels))
    answers = batch_predicted(measured.model, rows).rows
    for answer in answers:
        if reason := _why_unusable(answer):
            return reason
    shape = finalists.times_s.shape
    times_s = np.array([answer.expected_s for answer in answers], dtype=np.float64).reshape(shape)
    spans = np.array([(answer.high_s or 1.0) / (answer.low_s or 1.0) for answer in answers]).reshape(shape)
    sigmas = np.log(spans) / (2 * Z90)
    sensitivities = tuple(
        Sensitivity(f"{TYPE_INPUT}{types[name]}", sigmas * np.array([[other == name] for other in workers]))
        for name in dict.fromkeys(workers)
    )
    return replace(finalists, times_s=times_s, sensitivities=sensitivities, extrapolation=Extrapolation())


def _why_size_unusable(table: RunTable, work: Work, data_factor: float) -> str:
    """Return why the runs support no time for this size of data; empty if they do."""
    rows = table.columns["workload"].codes == table.columns["workload"].code(work.workload)
    if not rows.any():
        return f"no run has the workload {work.workload}"
    recorded_sizes = table.columns.get("data_bytes")
    levels = set(recorded_sizes.codes[rows].tolist()) - {ABSENT} if recorded_sizes is not None else set()
    sizes = (
        np.array([float(recorded_sizes.levels[code]) for code in levels]) if recorded_sizes is not None else np.zeros(0)
    )
    data_bytes = work.data_bytes * data_factor
    if not sizes.size:
        return f"the runs of {work.workload} record no data size"
    if not sizes.min() / _DATA_MATCH <= data_bytes <= sizes.max() * _DATA_MATCH:
        return f"the data of {work.label} is outside the range of the runs"
    return ""


def _why_unusable(answer: PredictedRow) -> str:
    """Return why a predicted time is not used; empty if it is."""
    row = f"{answer.configuration.get('workload', '')} on {answer.configuration.get('cluster', '')}".strip()
    if answer.problem:
        return answer.problem
    if answer.expected_s is None or not answer.low_s or not answer.high_s:
        return f"no time for {row}: {'; '.join(answer.reasons) or 'the runs do not support one'}"
    if answer.high_s / answer.low_s > SPAN_MAX:
        return f"the {100 * LEVEL:.0f} % interval of {row} spans a factor of {answer.high_s / answer.low_s:,.0f}"
    return ""
