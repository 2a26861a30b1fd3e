"""Test a campaign whose lab loses its disks: its own lab is rebuilt, a standing lab is reported as broken."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

import assay.workloads
from assay.execution.campaign.attempts.runner import CampaignSummary, merge_summaries
from assay.execution.campaign.execute import CampaignRequest, execute_campaign, prepare_campaign
from assay.execution.lab.disks.diskd import daemon_of
from assay.execution.lab.journal import read_journal
from assay.execution.lab.lifecycle import Lab, labs, remove
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import LabError
from assay.model.plans.plan import Plan
from assay.model.runs.run import Run
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.store import Repository
from campaign_support import write_lab_plan
from lab_support import require_lab, unique_name
from toy_engine import TOY, ToyRules

SLEEP = '''
"""Sleep: no input, no output."""

from assay.model.plans.program import Program
from assay.workloads.common.checks import common_checks
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import ValidationResult, Workload


class Sleep(Workload):
    """Sleep for some seconds."""

    name, title = "sleep", "Sleep"
    flow = DataFlow(read=0, written=0)

    def programs(self, size, input_path):
        return {"toy": Program("sleep", ("6",), engine="toy")}

    async def validate(self, size, outcome, evidence):
        return ValidationResult(common_checks(outcome))


WORKLOADS = (Sleep(),)
'''


class Killing:
    """A watcher that kills the daemon behind the lab's disks when the first job runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: list[str] = []
        self.killed = False

    def say(self, text: str) -> None:
        self.messages.append(text)

    def step(self, text: str) -> None:
        if self.killed or not text.startswith("job:"):
            return
        self.killed = True
        (directory,) = (lab.directory for lab in labs() if lab.name == self.name)
        for step in read_journal(directory)[1]:
            if step.kind == "diskd":
                for pid in daemon_of(step.arguments).pids():
                    os.kill(pid, signal.SIGKILL)

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None: ...
    def end(self, run: Run) -> None: ...


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    require_lab()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sleep.py").write_text(SLEEP)
    monkeypatch.setattr(assay.workloads, "__path__", [*assay.workloads.__path__, str(tmp_path / "more")])
    body = "layout: HDD\nworkloads:\n  - sleep: {data: 1MB}\nrepetitions: 2\n"
    path = write_lab_plan(tmp_path, unique_name("anew"), body, capacity="4GB")
    path.write_text(path.read_text().replace("engine: hadoop", "engine: toy"))
    return load_plan(path, {"toy": ToyRules()})


@pytest.mark.lab
def test_the_lab_of_a_campaign_is_rebuilt_when_its_disks_are_gone(plan: Plan, tmp_path: Path) -> None:
    repository, observer = Repository.create(tmp_path / "repository"), Killing(plan.cluster.name)
    request = CampaignRequest(plan, TOY.provider_of(plan.cluster), baseline=False)
    summary = execute_campaign(request, prepare_campaign(request, repository), repository, observer)
    assert observer.killed
    assert (dict(summary.statuses)["valid"], summary.lab_lost) == (2, None)
    assert summary.not_valid == summary.failures[FailureClass.INFRASTRUCTURE] == 1
    assert [text for text in observer.messages if text.startswith("rebuilding the lab: ")]
    assert Counter(run.status for run in repository.runs())[RunStatus.VALID] == 2
    assert plan.cluster.name not in [lab.name for lab in labs()]


@pytest.mark.lab
def test_a_lab_of_lab_up_that_lost_its_disks_is_reported_as_broken(plan: Plan, tmp_path: Path) -> None:
    repository, observer = Repository.create(tmp_path / "repository"), Killing(plan.cluster.name)
    Lab.up(plan.cluster, name=plan.cluster.name, persistent=True)._lock.release()
    try:
        for _ in range(2):  # the call that loses them, and the next one
            request = CampaignRequest(plan, TOY.provider_of(plan.cluster), baseline=False)
            schedule = prepare_campaign(request, repository)
            with pytest.raises(LabError) as raised:
                execute_campaign(request, schedule, repository, observer)
            assert raised.value.message.startswith(f"the lab {plan.cluster.name} is broken: ")
            assert f"assay lab down {plan.cluster.name}" in (raised.value.hint or "")
            assert "--name" not in (raised.value.hint or "")
    finally:
        remove(plan.cluster.name)


def test_counts_of_the_parts_of_a_call_add_up() -> None:
    lost = CampaignSummary("c", 4, 2, 1, {"valid": 1, "failed": 1}, {"infrastructure": 1}, None, stopped_early=0)
    rest = CampaignSummary("c", 4, 3, 2, {"valid": 2, "failed": 1}, {"workload": 1}, None, stopped_early=1)
    both = merge_summaries([lost, rest])
    assert (both.made, both.already_there, both.not_valid, both.stopped_early) == (5, 1, 2, 1)
    assert both.failures == {"infrastructure": 1, "workload": 1}
