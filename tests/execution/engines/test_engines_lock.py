"""Test the lock on a cluster's master: held by another process, or not supported by the file system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.engines.skeleton import lock_until_exit
from assay.execution.hosts.local import LocalTransport
from assay.foundation.errors import EngineError, HostError
from engine_samples import CLUSTER


async def test_a_second_process_is_refused_while_another_uses_the_cluster(tmp_path: Path) -> None:
    cluster, master = replace(CLUSTER, home=str(tmp_path)), LocalTransport("master")
    held = await lock_until_exit(master, cluster)
    with pytest.raises(EngineError, match="another assay is using cluster"):
        await lock_until_exit(master, cluster)
    await held.terminate()


async def test_a_cluster_that_cannot_be_locked_is_not_in_use(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "absent" / "lock")
    with pytest.raises(HostError, match=r"the cluster can't be locked: .*lock"):
        await lock_until_exit(LocalTransport("master"), replace(CLUSTER, home=str(tmp_path)))
