"""Drop a node's page cache before a run, and verify that it is cold.

In: a transport and the directories of the layout's data. Out: a :class:`assay.model.runs.run.CacheState` in bytes. A
run counts as cold only if its caches are proven cold.
"""

from collections.abc import Sequence

from assay.execution.hosts.transport import Transport
from assay.execution.observation.scripts import run_script
from assay.model import CacheState

COUNT_BUDGET_S = 5.0
"""Maximum time for one count of cached bytes, in seconds."""
COLD_SHARE = 0.01
"""Maximum share of the cached bytes that may remain. A job can't save a larger share of its reads."""
COLD_BYTES = 1 << 20
"""Cached bytes that may always remain: files that daemons keep reading, for example checksums and locks. An HDD reads
that much in about 10 ms."""


async def drop_caches(transport: Transport, data_directories: Sequence[str], *, timeout_s: float) -> CacheState:
    """Write dirty pages back, drop the page cache of a node, and count the cached bytes of the data files before and
    after.

    Without permission, the result states the reason and the required sudoers line. The drop affects the whole machine,
    including all nodes of a lab. Raises HostError if the node is unreachable or takes longer than ``timeout_s`` to
    write back.
    """
    options = {"directories": list(data_directories), "budget_s": COUNT_BUDGET_S}
    answer = await run_script(transport, "caches", options, timeout_s=timeout_s)
    return CacheState(
        node=transport.name,
        cached_before_bytes=answer["cached_before_bytes"],
        cached_after_bytes=answer["cached_after_bytes"],
        data_resident_before_bytes=answer["resident_before_bytes"],
        data_resident_after_bytes=answer["resident_after_bytes"],
        dropped=answer["dropped"],
        reason=answer["reason"] or answer["unknown"],
    )


def is_cold(states: Sequence[CacheState]) -> bool | None:
    """Return whether all nodes' caches were proven cold; None if that is unknown.

    False: a node had more cached data than a run may find. True: every node dropped its cache, and the remaining bytes
    are below both limits. None: neither was proven, for example without permission to drop caches.
    """
    if any(_is_warm(state) for state in states):
        return False
    are_all_proven = all(state.dropped and state.data_resident_after_bytes is not None for state in states)
    return True if states and are_all_proven else None


def _is_warm(state: CacheState) -> bool:
    before_bytes, after_bytes = state.data_resident_before_bytes, state.data_resident_after_bytes
    return after_bytes is not None and after_bytes > max(COLD_BYTES, COLD_SHARE * (before_bytes or 0))
