"""Prepare a run's job: configure the cluster and make the job's input.

In: a :class:`Configuration`, an :class:`Input`. Out: an engine with the configuration, facts of the network for the
run's record, and the input's manifest. In a lab, the links get the network's rate. Rates are in bits/s; in a lab they
are the emulated rates.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.execution.engines.contract import Engine, Provider, ShowProgress, Storage
from assay.execution.hosts.transport import Transport
from assay.execution.lab.links import LabLinks
from assay.foundation.errors import EngineError
from assay.model import Cluster, Configuration
from assay.workloads.common.inputs import Input


@dataclass(frozen=True, slots=True)
class ConfiguredEngine:
    """A configured engine, facts of the configuration's network ({} if it names none), and whether daemons
    (re)started."""

    engine: Engine
    network: dict[str, Any]
    restarted: bool


def in_use(
    configuration: Configuration, cluster: Cluster, transports: Mapping[str, Transport]
) -> tuple[Cluster, dict[str, Transport]]:
    """Return the part of the cluster that a run uses: the master and the configuration's number of workers."""
    used = cluster.using(configuration.workers)
    return used, {node.name: transports[node.name] for node in used.nodes if node.name in transports}


async def configure(
    configuration: Configuration, used: Cluster, provider: Provider, links: LabLinks | None, show: ShowProgress
) -> ConfiguredEngine:
    """Apply ``configuration`` to ``used``, the part of the cluster that it uses.

    Settings that already match are not changed. Raises LabError or EngineError if it can't be applied.
    """
    network = configuration.network
    rate = used.link_bits_per_s(network) if network else None
    rates = await asyncio.to_thread(links.shape, rate) if links else {}
    provided = await provider.provide(configuration, show)
    if network is None:
        return ConfiguredEngine(provided.engine, {}, provided.restarted)
    addresses = provided.engine.addresses
    network_facts = {
        "name": network,
        "rate_bits_per_s": rate,
        "link_bits_per_s": {node.name: rates[node.name] for node in used.nodes} if links else None,
        "addresses": {node.name: addresses[node.name] for node in used.nodes if node.name in addresses},
    }
    return ConfiguredEngine(provided.engine, network_facts, provided.restarted)


async def ensure_input(
    needed: Input, engine: Engine, parameters: Mapping[str, str], *, timeout_s: float, show: ShowProgress
) -> dict[str, int]:
    """Create the input unless it is complete. Return its manifest, merged with the manifests of the inputs it is made
    from.

    Raises EngineError when the generator fails or its output differs from the request.
    """
    inherited: dict[str, int] = {}
    if needed.needs:
        inherited = await ensure_input(needed.needs, engine, parameters, timeout_s=timeout_s, show=show)
    storage = engine.storage
    manifest = await _read_manifest(needed, storage)
    if manifest is not None and await is_complete(needed, storage):
        return inherited | manifest
    show(f"generating input: {needed.name}")
    await storage.delete(needed.path)
    done = await engine.run(needed.program, parameters, timeout_s=timeout_s, label="input", show=show)
    if done.outcome.exit_status != 0 or not await is_complete(needed, storage):
        tail = "\n".join(done.outcome.error_lines())
        raise EngineError(f"the input {needed.name} could not be generated:\n{tail}", where=needed.path)
    kept = {name: done.outcome.counter(name) or 0 for name in needed.counters}
    if needed.counters or not needed.exact:
        await storage.write(needed.manifest_path, json.dumps(kept).encode())
    return inherited | kept


async def _read_manifest(needed: Input, storage: Storage) -> dict[str, int] | None:
    """Return the manifest's counters: {} if none are needed, None if the input was never completed."""
    if not needed.counters and needed.exact:
        return {}
    if not await storage.exists(needed.manifest_path):
        return None
    return dict(json.loads(await storage.read(needed.manifest_path)))


async def is_complete(needed: Input, storage: Storage) -> bool:
    """Return whether the input exists with the requested bytes, files and copies."""
    stored = await storage.stored(needed.path)
    return (
        (not needed.exact or stored.length_bytes == needed.data_bytes)
        and needed.files in (None, stored.files)
        and stored.files > 0
        and stored.replica_bytes >= stored.length_bytes * needed.replication
    )
