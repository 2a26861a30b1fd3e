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
    is_restarted: bool


def hosts_in_use(
    configuration: Configuration, cluster: Cluster, transports: Mapping[str, Transport]
) -> tuple[Cluster, dict[str, Transport]]:
    """Return the part of the cluster that a run uses: the master and the configuration's number of workers."""
    used_cluster = cluster.using(configuration.workers)
    return used_cluster, {node.name: transports[node.name] for node in used_cluster.nodes if node.name in transports}


async def configure(
    configuration: Configuration, used_cluster: Cluster, provider: Provider, links: LabLinks | None, show: ShowProgress
) -> ConfiguredEngine:
    """Apply ``configuration`` to ``used_cluster``, the part of the cluster that it uses.

    Settings that already match are not changed. Raises LabError or EngineError if it can't be applied.
    """
    network = configuration.network
    rate_bits_per_s = used_cluster.link_bits_per_s(network) if network else None
    rates = await asyncio.to_thread(links.shape, rate_bits_per_s) if links else {}
    provided_engine = await provider.provide(configuration, show)
    if network is None:
        return ConfiguredEngine(provided_engine.engine, {}, provided_engine.is_restarted)
    addresses = provided_engine.engine.addresses
    network_facts = {
        "name": network,
        "rate_bits_per_s": rate_bits_per_s,
        "link_bits_per_s": {node.name: rates[node.name] for node in used_cluster.nodes} if links else None,
        "addresses": {node.name: addresses[node.name] for node in used_cluster.nodes if node.name in addresses},
    }
    return ConfiguredEngine(provided_engine.engine, network_facts, provided_engine.is_restarted)


async def ensure_input(
    needed_input: Input, engine: Engine, parameters: Mapping[str, str], *, timeout_s: float, show: ShowProgress
) -> dict[str, int]:
    """Create the input unless it is complete. Return the counters of its manifest and of the inputs it is made from.

    Raises EngineError when the generator fails or its output differs from the request.
    """
    inherited_counters: dict[str, int] = {}
    if needed_input.needs:
        inherited_counters = await ensure_input(needed_input.needs, engine, parameters, timeout_s=timeout_s, show=show)
    storage = engine.storage
    manifest = await _read_manifest(needed_input, storage)
    if manifest is not None and await is_complete(needed_input, storage):
        return inherited_counters | manifest
    show(f"generating input: {needed_input.name}")
    await storage.delete(needed_input.path)
    result = await engine.run(needed_input.program, parameters, timeout_s=timeout_s, label="input", show=show)
    if result.outcome.exit_status != 0 or not await is_complete(needed_input, storage):
        tail = "\n".join(result.outcome.error_lines())
        raise EngineError(f"the input {needed_input.name} could not be generated:\n{tail}", where=needed_input.path)
    counters = {name: result.outcome.counter(name) or 0 for name in needed_input.counters}
    if needed_input.counters or not needed_input.exact:
        await storage.write(needed_input.manifest_path, json.dumps(counters).encode())
    return inherited_counters | counters


async def _read_manifest(needed_input: Input, storage: Storage) -> dict[str, int] | None:
    """Return the manifest's counters: {} if none are needed, None if the input was never completed."""
    if not needed_input.counters and needed_input.exact:
        return {}
    if not await storage.exists(needed_input.manifest_path):
        return None
    return dict(json.loads(await storage.read(needed_input.manifest_path)))


async def is_complete(needed_input: Input, storage: Storage) -> bool:
    """Return whether the input exists with the requested bytes, files and copies."""
    stored_files = await storage.stored(needed_input.path)
    return (
        (not needed_input.exact or stored_files.length_bytes == needed_input.data_bytes)
        and needed_input.files in (None, stored_files.files)
        and stored_files.files > 0
        and stored_files.replica_bytes >= stored_files.length_bytes * needed_input.replication
    )
