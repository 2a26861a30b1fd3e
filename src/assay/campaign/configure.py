"""A run's configuration brought onto the cluster: network, workers, layout, daemons; and what of it can be read back.

In: a :class:`Configuration`. Out: links shaped (lab) or addresses chosen (real hosts), daemons that run with the layout
on the workers in use, and facts for the run's record. Rates are in bits/s, in a lab as emulated.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from assay.engines.hadoop.engine import HadoopEngine
from assay.hosts.transport import Transport
from assay.lab.links import Links
from assay.model.cluster import Cluster
from assay.model.layout import StoragePolicy
from assay.model.plan import Configuration
from assay.model.run import Check
from assay.units import parse_bit_rate

_LISTED_MAX = 4


def in_use(
    configuration: Configuration, cluster: Cluster, transports: Mapping[str, Transport]
) -> tuple[Cluster, dict[str, Transport]]:
    """Return the part of the cluster that a run uses: the master, and as many workers as its configuration says."""
    used = cluster.using(configuration.workers)
    return used, {node.name: transports[node.name] for node in used.nodes}


def link_rate(network: str | None, cluster: Cluster) -> float | None:
    """Return the rate that a level of ``network`` stands for, scaled as the lab is; None where nothing is chosen."""
    if network is None:
        return None
    described = cluster.networks.get(network)
    return (described.rate_bits_per_s if described else parse_bit_rate(network)) * cluster.scale


async def configure(
    configuration: Configuration, engine: HadoopEngine, links: Links | None, show: Callable[[str], None]
) -> tuple[dict[str, Any], bool]:
    """Bring ``configuration`` onto the engine's cluster; return what was found of its network ({} when it names none),
    and whether the daemons (re)started.

    Raises LabError or EngineError when that is impossible. What is as wanted already stays as it is.
    """
    network, cluster = configuration.network, engine.cluster
    rate = link_rate(network, cluster)
    rates = await asyncio.to_thread(links.shape, rate) if links else {}
    described = cluster.networks.get(network) if network else None
    restarted = await engine.deploy(
        configuration.layout, configuration.parameters, show, workers=configuration.workers, network=described
    )
    if network is None:
        return {}, restarted
    used = cluster.using(configuration.workers)
    hosts = engine.daemons.deployment.hosts
    return {
        "name": network,
        "rate_bits_per_s": rate,
        "link_bits_per_s": {node.name: rates[node.name] for node in used.nodes} if links else None,
        "addresses": {node.name: hosts[node.name] for node in used.nodes},
    }, restarted


def placed(policy: StoragePolicy, found: Mapping[tuple[str, ...], int]) -> Check:
    """Return the check that blocks lie where ``policy`` wants them; ``found`` counts blocks by their storage types.

    A block that LAZY_PERSIST still has in memory is where it should be.
    """
    astray: Counter[tuple[str, ...]] = Counter()
    for types, blocks in found.items():
        settled = tuple("DISK" if policy is StoragePolicy.LAZY_PERSIST and t == "RAM_DISK" else t for t in types)
        if tuple(sorted(settled)) != policy.storage_types(len(types)):
            astray[types] += blocks
    everywhere = sorted(found.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{blocks} on {'+'.join(types) or 'none'}" for types, blocks in everywhere[:_LISTED_MAX])
    if not astray:
        return Check("storage policy", True, f"{policy}: blocks lie {listed or 'nowhere: there are none'}")
    return Check(
        "storage policy",
        False,
        f"{sum(astray.values())} of {sum(found.values())} blocks do not lie as {policy} says: {listed}",
    )
