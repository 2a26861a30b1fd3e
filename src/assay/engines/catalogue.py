"""Map the name of an engine to its rules and to the ways to provide it: deployed, attached or simulated.

Modules that talk to hosts are imported when an engine is provided, so looking up rules is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from assay.engines.contract import EngineKind, MakeProvider, Provider, ProviderKind, Rules
from assay.engines.rules_catalogue import all_rules
from assay.errors import SpecificationError
from assay.model import Cluster
from assay.spec.fields import unknown

if TYPE_CHECKING:
    from assay.hosts.transport import Transport


def engine_kind(name: str) -> EngineKind:
    """Return the engine that plans call ``name``. Raises SpecificationError, with the known names, if there is none."""
    rules = all_rules()
    if name not in rules:
        raise SpecificationError(unknown("engine", name, rules))
    return EngineKind(rules[name], _PROVIDERS[name])


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


_PROVIDERS: Mapping[str, Mapping[ProviderKind, MakeProvider]] = {
    "hadoop": {
        ProviderKind.DEPLOYED: _hadoop,
        ProviderKind.ATTACHED: _attached_hadoop,
        ProviderKind.SIMULATED: partial(_simulated, all_rules()["hadoop"]),
    },
    "spark": {
        ProviderKind.DEPLOYED: _spark,
        ProviderKind.ATTACHED: _attached_spark,
        ProviderKind.SIMULATED: partial(_simulated, all_rules()["spark"]),
    },
}
