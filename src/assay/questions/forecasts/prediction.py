"""How long a configuration will take that nobody ran, how sure that is, and what was measured near it.

In: a repository and ``COLUMN=LEVEL`` texts. Out: one :class:`Prediction`, in seconds, with a 90 % interval for one run;
without a time where the repository does not tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.estimation.prediction.calibration import LEVEL
from assay.estimation.prediction.nearest import nearest
from assay.estimation.prediction.predict import predict
from assay.foundation.errors import SpecificationError
from assay.model import Hardware, Origin
from assay.questions.forecasts.configuration_asked import Whole, conditions, whole
from assay.questions.forecasts.model_cache import Learned, learned
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class NewCluster:
    """A cluster that no run may know, with its hardware as far as it is told."""

    name: str
    hardware: Hardware | None


@dataclass(frozen=True, slots=True)
class NearRuns:
    """A measured configuration near to what was asked for."""

    run_id: str
    """One of its runs."""
    median_s: float
    runs: int
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one run of a configuration is expected to take."""

    configuration: dict[str, str]
    """What was named."""
    assumed: dict[str, str]
    """What was not: the levels most often found together with what was."""
    expected_s: float | None
    """None: not known."""
    low_s: float | None
    high_s: float | None
    level: float
    """Probability that the interval holds one run's time."""
    basis: str
    reasons: tuple[str, ...]
    nearest: tuple[NearRuns, ...]
    runs: int
    """Valid runs that were learned from."""
    configurations: int
    origin: str
    notices: tuple[str, ...]


def predicted(repository: Repository, where: Sequence[str], cluster: NewCluster | None = None) -> Prediction:
    """Return the prediction. SpecificationError for conditions that can't be understood, or too few runs."""
    return predicted_by(repository, learned(repository), where, cluster)


def predicted_by(
    repository: Repository, known: Learned, where: Sequence[str], cluster: NewCluster | None = None
) -> Prediction:
    """Return the same by what was learned before."""
    asked = configuration_of(known, conditions(where, known.model.encoding), cluster)
    answer = predict(known.model, asked.table)
    near = nearest(known.model.encoding, known.measured, asked.table)
    ids = repository.ids_at(known.table, [one.position for one in near]) if near else []
    expected, low, high = (float(value[0]) for value in (answer.expected_s, answer.low_s, answer.high_s))
    told = expected == expected  # not NaN
    return Prediction(
        configuration=dict(asked.named),
        assumed=dict(asked.assumed),
        expected_s=expected if told else None,
        low_s=low if told else None,
        high_s=high if told else None,
        level=LEVEL,
        basis=str(answer.basis_of(0)),
        reasons=answer.reasons.get(0, ()),
        nearest=tuple(
            NearRuns(run_id, one.median_s, one.runs, one.differs) for run_id, one in zip(ids, near, strict=True)
        ),
        runs=known.model.runs,
        configurations=len(known.model.medians),
        origin=Origin.PREDICTED.value,
        notices=known.notices,
    )


def configuration_of(known: Learned, named: Mapping[str, str], cluster: NewCluster | None) -> Whole:
    """Return the whole configuration. SpecificationError without a workload, or with two clusters."""
    if cluster is not None:
        if named.get("cluster", cluster.name) != cluster.name:
            raise SpecificationError(
                f"two clusters are named: {named['cluster']} and {cluster.name}", where="--cluster"
            )
        named = {**named, "cluster": cluster.name}
    workload = known.model.encoding.factor("workload")
    if workload is not None and "workload" not in named:
        raise SpecificationError(
            "no workload is named", where="--where", hint=f"add a workload: {', '.join(workload.levels)}"
        )
    return whole(known.table, known.model.encoding, named, cluster.hardware if cluster else None)
