"""Predict the run time of a configuration, with an interval and the nearest measured configurations.

In: a repository and ``COLUMN=LEVEL`` texts. Out: one :class:`Prediction`, in seconds, with a 90 % interval for one run;
no time where the runs do not support a prediction.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.statistics import RunTable, median_interval
from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.model import TrainingData
from assay.estimation.prediction.nearest import EqualConfigurations, nearest
from assay.estimation.prediction.predict import predict
from assay.foundation.errors import SpecificationError
from assay.model import Hardware, Origin
from assay.questions.forecasts.model_cache import RepositoryModel, learned
from assay.questions.forecasts.partial_configuration import CompleteConfiguration, complete_configuration, conditions
from assay.specs import load_cluster
from assay.store import Repository
from assay.text import interval_s, plural, seconds

HARDWARE_TOLERANCE = 0.05
"""Maximum relative difference of a described cluster's cores and memory from the measured ones of the same cluster."""
SPAN_MAX = 30.0
"""Maximum upper end / lower end of an interval for which a sentence states the time."""


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    """A cluster that may have no runs, with the hardware that the user described."""

    name: str
    hardware: Hardware | None


@dataclass(frozen=True, slots=True)
class MeasuredConfiguration:
    """A measured configuration that is similar to the requested one."""

    run_id: str
    """One of its runs."""
    median_s: float
    runs: int
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredMedian:
    """The median time of the runs of the requested configuration itself."""

    median_s: float
    low_s: float | None
    """Lower end of the 95 % interval of the median; None for fewer than 6 runs. ``high_s``: the upper end."""
    high_s: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """The time of one run of a configuration: measured if it has runs, and predicted."""

    configuration: dict[str, str]
    """Levels that the request names."""
    assumed: dict[str, str]
    """Levels that it does not name: the levels most often measured with the named levels."""
    measured: MeasuredMedian | None
    """The measured time; None if the configuration has no valid run."""
    expected_s: float | None
    """None where the runs do not support a prediction."""
    low_s: float | None
    high_s: float | None
    level: float
    """Probability that the interval holds one run's time."""
    basis: str
    reasons: tuple[str, ...]
    nearest: tuple[MeasuredConfiguration, ...]
    runs: int
    """Valid runs that the model was trained on."""
    configurations: int
    origin: str
    notices: tuple[str, ...]

    @property
    def span(self) -> float | None:
        """Upper end / lower end of the interval; None without an interval."""
        return self.high_s / self.low_s if self.low_s and self.high_s else None

    @property
    def is_precise(self) -> bool:
        """Whether the interval is narrow enough to state the time."""
        return self.span is not None and self.span <= SPAN_MAX


def can_learn(table: RunTable) -> bool:
    """Return whether a table has enough valid runs and configurations to predict times from."""
    return not why_not_learnable(table)


def why_not_learnable(table: RunTable) -> str:
    """Return why no time can be predicted from the runs of a table; empty if one can."""
    try:
        TrainingData.of(table)
    except SpecificationError as error:
        return error.message
    return ""


def predict_configuration(
    repository: Repository, where: Sequence[str], cluster: ClusterRequest | None = None
) -> Prediction:
    """Return the prediction. Raises SpecificationError for unknown conditions, or too few runs."""
    return predict_with(repository, learned(repository), where, cluster)


def predict_with(
    repository: Repository, model: RepositoryModel, where: Sequence[str], cluster: ClusterRequest | None = None
) -> Prediction:
    """Return the prediction of a trained model."""
    full_configuration = configuration_of(model, conditions(where, model.model.encoding), cluster)
    answer = predict(model.model, full_configuration.table)
    nearest_configurations = nearest(model.model.encoding, model.measured, full_configuration.table)
    ids = (
        repository.ids_at(model.table, [configuration.position for configuration in nearest_configurations])
        if nearest_configurations
        else []
    )
    expected_s, low, high = (float(value[0]) for value in (answer.expected_s, answer.low_s, answer.high_s))
    is_known = expected_s == expected_s  # not NaN
    return Prediction(
        configuration=dict(full_configuration.named),
        assumed=dict(full_configuration.assumed),
        measured=measured_median(
            model, full_configuration.table, EqualConfigurations(model.model.encoding, model.measured)
        ),
        expected_s=expected_s if is_known else None,
        low_s=low if is_known else None,
        high_s=high if is_known else None,
        level=LEVEL,
        basis=str(answer.basis_of(0)),
        reasons=answer.reasons.get(0, ()),
        nearest=tuple(
            MeasuredConfiguration(run_id, configuration.median_s, configuration.runs, configuration.differs)
            for run_id, configuration in zip(ids, nearest_configurations, strict=True)
        ),
        runs=model.model.runs,
        configurations=len(model.model.median_logs),
        origin=Origin.PREDICTED.value,
        notices=model.notices,
    )


def measured_median(
    model: RepositoryModel, requested_table: RunTable, equal_configurations: EqualConfigurations
) -> MeasuredMedian | None:
    """Return the median of the runs of the requested configuration, on the same hardware; None without runs."""
    same_configuration = equal_configurations.find(requested_table)
    if same_configuration is None:
        return None
    for name, requested_values in requested_table.values.items():
        if name in model.table.values:
            recorded_value = model.table.values[name][same_configuration.position]
            if (
                abs(requested_values[0] - recorded_value) > HARDWARE_TOLERANCE * recorded_value
            ):  # False if one of them is not recorded
                return None
    low_s, high_s = median_interval(same_configuration.times_s) or (None, None)
    return MeasuredMedian(same_configuration.median_s, low_s, high_s, same_configuration.runs)


def configuration_of(
    model: RepositoryModel, named_levels: Mapping[str, str], cluster: ClusterRequest | None
) -> CompleteConfiguration:
    """Return the complete configuration. Raises SpecificationError without a workload, or with two clusters."""
    if cluster is not None:
        if named_levels.get("cluster", cluster.name) != cluster.name:
            raise SpecificationError(
                f"two clusters are named: {named_levels['cluster']} and {cluster.name}", where="--cluster"
            )
        named_levels = {**named_levels, "cluster": cluster.name}
    workload = model.model.encoding.factor("workload")
    if workload is not None and "workload" not in named_levels:
        raise SpecificationError(
            "no workload is named", where="--where", hint=f"add a workload: {', '.join(workload.levels)}"
        )
    return complete_configuration(
        model.table, model.model.encoding, named_levels, cluster.hardware if cluster else None
    )


def cluster_named(text: str | None) -> ClusterRequest | None:
    """Return the cluster of a name or of a cluster file; None for None."""
    if text is None:
        return None
    if not os.path.isfile(text):  # noqa: PTH113 - Path.is_file raises for a name that is too long
        return ClusterRequest(text, None)
    described_cluster = load_cluster(text)
    types = [node.type for node in described_cluster.workers]
    cores = sum(node_type.cores for node_type in types) / len(types)
    memory = sum(node_type.memory_bytes for node_type in types) / len(types) * described_cluster.scale
    return ClusterRequest(described_cluster.name, Hardware(len(types), cores, memory))


def prediction_sentence(answer: Prediction) -> str:
    """Return the measured time if the configuration has runs, then the predicted time with its interval."""
    predicted_text = _predicted_sentence(answer)
    return f"{_measured_sentence(answer.measured)} {predicted_text}" if answer.measured else predicted_text


def _measured_sentence(measured: MeasuredMedian) -> str:
    time = f"{seconds(measured.median_s)} s, measured"
    if measured.runs == 1:
        return f"{time} in one run."
    interval = "too few runs for an interval"
    if measured.low_s is not None:
        interval = f"95 % interval of the median: {interval_s(measured.low_s, measured.high_s)} s"
    return f"{time}: median of {plural(measured.runs, 'run')} ({interval})."


def _predicted_sentence(answer: Prediction) -> str:
    level = f"{100 * answer.level:.0f} % interval of a single run"
    if answer.expected_s is None:
        reason = "the run time can't be predicted."
    elif not answer.is_precise and answer.span:
        reason = f"the {level}, {interval_s(answer.low_s, answer.high_s)} s, spans a factor of {answer.span:,.0f}."
    else:
        interval = f"{level}: {interval_s(answer.low_s, answer.high_s)} s"
        if answer.measured:
            return f"Predicted: {seconds(answer.expected_s)} s ({interval})."
        return f"{seconds(answer.expected_s)} s, predicted ({interval})."
    return f"Prediction unknown: {reason}" if answer.measured else f"Unknown: {reason}"
