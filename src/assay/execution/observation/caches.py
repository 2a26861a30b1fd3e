"""Make a node's page cache cold before a run, and show that it is.

In: a transport and the directories that hold the layout's data. Out: a :class:`assay.model.runs.run.CacheState` in
bytes. Cold means proven cold: a run that can't be shown to be cold is not called cold.
"""

from collections.abc import Sequence

from assay.execution.hosts.transport import Transport
from assay.execution.observation.scripts import run_script
from assay.model import CacheState

COUNT_BUDGET_S = 5.0
COLD_SHARE = 0.01
"""At most this share of what was cached may be left: a job can't gain more than that share of its reads from it."""
COLD_BYTES = 1 << 20
"""Or this much, which an HDD delivers in some 10 ms: files that daemons keep reading, such as checksums and locks."""


async def drop_caches(transport: Transport, data_directories: Sequence[str], *, timeout_s: float) -> CacheState:
    """Write dirty pages back, drop the page cache of one node, and count the data files' cached bytes around it.

    Where it may not be done, the state says why and what to put into sudoers. The drop is the whole machine's: nodes of
    a lab share it. Raises HostError when the node can't be asked, or takes longer than ``timeout_s`` to write back.
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
    """Return whether all nodes' caches were shown to be cold; None when that is not known.

    False: on some node more of the data was cached than a run may find. True: every node dropped its cache, and what
    was counted afterwards is below both limits. None: neither was shown, as without the right to drop caches.
    """
    if any(_warm(state) for state in states):
        return False
    proven = all(state.dropped and state.data_resident_after_bytes is not None for state in states)
    return True if states and proven else None


def _warm(state: CacheState) -> bool:
    before, after = state.data_resident_before_bytes, state.data_resident_after_bytes
    return after is not None and after > max(COLD_BYTES, COLD_SHARE * (before or 0))
