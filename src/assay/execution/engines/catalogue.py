"""Map the name of an engine to its rules and its providers: deployed, attached, or simulated.

The simulator belongs to a package above this one, so the caller passes it. Modules that talk to hosts are imported when
an engine is provided, so looking up rules is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assay.execution.engines.contract import EngineKind, MakeProvider, Provider, ProviderKind, Rules
from assay.execution.engines.rules_catalogue import all_rules
from assay.foundation.errors import SpecificationError
from assay.model import Cluster
from assay.specs.fields import unknown

if TYPE_CHECKING:
    from assay.execution.hosts.transport import Transport


def engine_kind(name: str, simulator: Callable[[Rules], MakeProvider] | None = None) -> EngineKind:
    """Return the engine with the plan name ``name``. ``simulator``: returns the provider of a simulated engine.

    Raises SpecificationError, with the known names, for an unknown name.
    """
    rules = all_rules()
    if name not in rules:
        raise SpecificationError(unknown("engine", name, rules))
    simulated = {} if simulator is None else {ProviderKind.SIMULATED: simulator(rules[name])}
    return EngineKind(rules[name], {**_PROVIDERS[name], **simulated})


def _hadoop(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.execution.engines.hadoop.deployment.deployed import DeployedHadoop

    return DeployedHadoop(cluster, transports)


def _attached_hadoop(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.execution.engines.hadoop.deployment.attached import AttachedHadoop

    return AttachedHadoop(cluster, transports)


def _spark(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.execution.engines.spark.deployed import DeployedSpark

    return DeployedSpark(cluster, transports)


def _attached_spark(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    from assay.execution.engines.spark.attached import AttachedSpark

    return AttachedSpark(cluster, transports)


_PROVIDERS: Mapping[str, Mapping[ProviderKind, MakeProvider]] = {
    "hadoop": {ProviderKind.DEPLOYED: _hadoop, ProviderKind.ATTACHED: _attached_hadoop},
    "spark": {ProviderKind.DEPLOYED: _spark, ProviderKind.ATTACHED: _attached_spark},
}
