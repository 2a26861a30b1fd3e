"""The engines that assay has, by name. Nothing registers itself: who needs one asks here, or brings one of its own.

What talks to hosts is imported when an engine is provided; rules alone cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from assay.engines.contract import EngineKind, MakeProvider, Provider, ProviderKind, Rules
from assay.engines.hadoop.rules import HadoopRules
from assay.engines.spark.rules import SparkRules
from assay.errors import SpecificationError
from assay.model import Cluster
from assay.spec.fields import unknown

if TYPE_CHECKING:
    from assay.hosts.transport import Transport


def engine_kind(name: str) -> EngineKind:
    """Return the engine that a plan means by ``name``.

    Raises SpecificationError, naming those that there are, for one that there is not.
    """
    known = _kinds()
    if name not in known:
        raise SpecificationError(unknown("engine", name, known))
    return known[name]


def _kinds() -> dict[str, EngineKind]:
    """Return name to engine; the first is what a plan gets that names none."""
    hadoop = HadoopRules()
    return {"hadoop": EngineKind(hadoop, _HADOOP), "spark": EngineKind(SparkRules(hadoop), _SPARK)}


def all_rules() -> dict[str, Rules]:
    """Return name to rules of every engine, in that order."""
    return {name: kind.rules for name, kind in _kinds().items()}


def _simulated(rules: Rules, cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.engines.simulated.engine import simulator_of
    from assay.spec.profiles import shipped_profile

    return simulator_of(rules, shipped_profile())(cluster, transports)


def _hadoop(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.engines.hadoop.deployed import DeployedHadoop

    return DeployedHadoop(cluster, transports)


def _attached_hadoop(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.engines.hadoop.attached import AttachedHadoop

    return AttachedHadoop(cluster, transports)


def _spark(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.engines.spark.deployed import DeployedSpark

    return DeployedSpark(cluster, transports)


def _attached_spark(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.engines.spark.attached import AttachedSpark

    return AttachedSpark(cluster, transports)


_SPARK: Mapping[ProviderKind, MakeProvider] = {
    ProviderKind.DEPLOYED: _spark,
    ProviderKind.ATTACHED: _attached_spark,
    ProviderKind.SIMULATED: partial(_simulated, SparkRules(HadoopRules())),
}
_HADOOP: Mapping[ProviderKind, MakeProvider] = {
    ProviderKind.DEPLOYED: _hadoop,
    ProviderKind.ATTACHED: _attached_hadoop,
    ProviderKind.SIMULATED: partial(_simulated, HadoopRules()),
}
