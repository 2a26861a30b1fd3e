"""Predict the run time of a configuration, with an interval and the nearest measured configurations.

In: a repository and ``COLUMN=LEVEL`` texts. Out: one :class:`Prediction`, in seconds, with a 90 % interval for one run;
no time where the runs do not support a prediction.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.statistics import RunTable
from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.model import TrainingData
from assay.estimation.prediction.nearest import nearest
from assay.estimation.prediction.predict import predict
from assay.foundation.errors import SpecificationError
from assay.model import Hardware, Origin
from assay.questions.forecasts.model_cache import RepositoryModel, learned
from assay.questions.forecasts.partial_configuration import CompleteConfiguration, complete_configuration, conditions
from assay.specs import load_cluster
from assay.store import Repository
from assay.text import interval_s, seconds

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
class Prediction:
    """The predicted time of one run of a configuration."""

    configuration: dict[str, str]
    """Levels that the request names."""
    assumed: dict[str, str]
    """Levels that it does not name: the levels most often measured with the named levels."""
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
    """Return the predicted time with its interval, or that it is unknown."""
    if answer.expected_s is None:
        return "Unknown: the run time can't be predicted."
    if not answer.is_precise and answer.span:
        return (
            f"Unknown: the {100 * answer.level:.0f} % interval of a single run, "
            f"{interval_s(answer.low_s, answer.high_s)} s, spans a factor of {answer.span:,.0f}."
        )
    interval_text = f"{100 * answer.level:.0f} % interval of a single run: {interval_s(answer.low_s, answer.high_s)} s"
    return f"{seconds(answer.expected_s)} s, predicted ({interval_text})."
