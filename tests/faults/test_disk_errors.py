"""Test a repository on a full or broken disk, call by call: errors are reported, nothing is lost, a repeat succeeds."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.store import Repository
from cluster_texts import SIMULATED, cluster_text
from fault_layer import CHANGES, DAY_S, OPENS, READS, RENAMES, SYNCS, WRITES, Layer, require_layer
from forked_program import ForkedProgram
from simulator_support import needs_simulator

pytestmark = pytest.mark.slow

CLUSTER = cluster_text(
    {"hdd": "{kind: hdd, read: 120MB/s, write: 115MB/s, capacity: 1TB}"},
    header=SIMULATED,
    cores=8,
    memory="32GB",
    workers=2,
)
PLAN = """
plan: virtual
cluster: cluster.yaml
engine: hadoop
layout: HDD
workloads: [teragen: {data: 100MB}]
repetitions: 2
seed: 1
"""


class FaultyCampaign:
    """A simulated campaign in its folder, under a layer that makes calls fail."""

    def __init__(self, folder: Path, layer: Layer, program: ForkedProgram) -> None:
        self.repository, self.state = folder / "repository", folder / "state"
        self.layer, self._program = layer, program
        layer.reset(self.repository)
        (folder / "cluster.yaml").write_text(CLUSTER)
        self.plan = folder / "plan.yaml"
        self.plan.write_text(PLAN)

    def assay(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = [*arguments, "--repository", self.repository]
        done = self._program.run(*words, environment={"XDG_STATE_HOME": str(self.state)})
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def run(self) -> subprocess.CompletedProcess[str]:
        return self.assay("run", self.plan)

    def stored(self) -> list[Run]:
        return Repository.open(self.repository).runs(environment=False)

    def end_campaign(self) -> None:
        """Run the same command in this process, without the layer: another process would import assay first."""
        arguments = ["run", str(self.plan), "--repository", str(self.repository)]
        done = CliRunner().invoke(assay, arguments, env={"XDG_STATE_HOME": str(self.state)})
        assert done.exit_code == 0, done.output
        self.assert_complete()

    def assert_complete(self) -> None:
        """Assert that each run is stored once and valid, and that no temporary file remains."""
        assert sorted((run.repetition, run.status) for run in self.stored()) == [
            (number, RunStatus.VALID) for number in (1, 2)
        ]
        assert Repository.open(self.repository).verify() == []
        assert list((self.repository / "partial").iterdir()) == []
        assert [path for path in self.state.rglob("*") if path.is_file()] == []


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    require_layer()
    folder = tmp_path_factory.mktemp("layer")
    return Layer(folder, folder)


@pytest.fixture(scope="module")
def program(layer: Layer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedProgram]:
    """Yield assay under the layer."""
    with ForkedProgram(tmp_path_factory.mktemp("outputs"), layer.environment) as program:
        yield program


@pytest.fixture
def campaign(tmp_path: Path, layer: Layer, program: ForkedProgram) -> FaultyCampaign:
    return FaultyCampaign(tmp_path, layer, program)


FAILING_STEPS = {
    "the repository": (errno.ENOSPC, "", CHANGES),
    "room for a bundle": (errno.ENOSPC, "/partial/room", WRITES),
    "a bundle's run": (errno.ENOSPC, "/run.json", WRITES),
    "a bundle's table": (errno.ENOSPC, "/tasks.parquet", WRITES),
    "the journal": (errno.ENOSPC, "/journal.jsonl", WRITES),
    "a repository that is read-only": (errno.EROFS, "", CHANGES),
    "room for a bundle, broken": (errno.EIO, "/partial/room", CHANGES),
    "a bundle's table, broken": (errno.EIO, "/tasks.parquet", WRITES),
    "a bundle's checksums": (errno.EIO, "/SHA256SUMS", OPENS),
    "flushing a bundle": (errno.EIO, "/run.json", SYNCS),
    "placing a bundle": (errno.EIO, "/bundles/", RENAMES),
    "flushing the folder of bundles": (errno.EIO, "/bundles", SYNCS),
    "the journal, broken": (errno.EIO, "/journal.jsonl", WRITES),
    "flushing the journal": (errno.EIO, "/journal.jsonl", SYNCS),
    "the campaign's record": (errno.EIO, "/campaign.json", WRITES),
    "the lock": (errno.EIO, "/lock", OPENS),
}


@needs_simulator
@pytest.mark.parametrize(("number", "part", "calls"), FAILING_STEPS.values(), ids=FAILING_STEPS)
def test_a_disk_error_ends_the_call_with_a_message_and_loses_nothing(
    campaign: FaultyCampaign, number: int, part: str, calls: int
) -> None:
    campaign.layer.fail(number, part, calls)
    done = campaign.run()
    assert campaign.layer.hits
    assert done.returncode == 6, (done.returncode, done.stderr)
    assert os.strerror(number) in done.stderr
    assert "→" in done.stderr
    campaign.layer.mend()
    campaign.end_campaign()


@needs_simulator
@pytest.mark.parametrize("part", ["/index/", "/now.json", "/models/"])
def test_a_rebuildable_failure_ends_no_campaign(campaign: FaultyCampaign, part: str) -> None:
    campaign.layer.fail(errno.EIO, part)
    done = campaign.run()
    assert done.returncode == 0, done.stderr
    assert [run.status for run in campaign.stored()] == [RunStatus.VALID] * 2
    campaign.layer.mend()
    campaign.end_campaign()


@needs_simulator
def test_an_unreadable_run_is_reported_and_is_readable_again_afterwards(campaign: FaultyCampaign) -> None:
    assert campaign.run().returncode == 0
    for file in (campaign.repository / "index").glob("*.parquet"):
        file.unlink()
    campaign.layer.fail(errno.EIO, "/run.json", READS)
    done = campaign.assay("runs")
    assert campaign.layer.hits
    assert os.strerror(errno.EIO) in done.stderr
    checked = campaign.assay("verify")
    assert checked.returncode == 6
    assert os.strerror(errno.EIO) in checked.stdout + checked.stderr
    campaign.layer.mend()
    campaign.end_campaign()


@needs_simulator
@pytest.mark.parametrize("seconds", [DAY_S, -DAY_S], ids=["forwards", "back"])
def test_a_campaign_continues_and_restarts_after_the_clock_has_jumped(campaign: FaultyCampaign, seconds: int) -> None:
    campaign.layer.fail(errno.EIO, "/journal.jsonl", SYNCS)  # the call ends in mid-campaign
    assert campaign.run().returncode == 6
    campaign.layer.mend()
    campaign.layer.set_clock(seconds)
    assert campaign.run().returncode == 0
    campaign.assert_complete()
    assert len(list((campaign.repository / "campaigns").iterdir())) == 1
    # The run that started last is the one to resume, whatever its id.
    campaign.layer.set_clock(-seconds).fail(errno.EIO, "/run.json", SYNCS)
    assert campaign.assay("run", campaign.plan, "--again").returncode == 6
    campaign.layer.mend()
    assert campaign.assay("run", campaign.plan, "--again").returncode == 0
    assert len(list((campaign.repository / "campaigns").iterdir())) == 2
    assert [run.status for run in campaign.stored()] == [RunStatus.VALID] * 4
