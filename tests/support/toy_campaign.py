"""Run whole campaigns of the engine of a test, which executes shell commands on this machine."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import assay.workloads
from assay.execution.campaign.attempts.runner import CampaignCluster, CampaignSummary, run_campaign
from assay.execution.campaign.loop import CampaignWork
from assay.execution.campaign.prepare import prepare
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.store import Repository
from campaign_support import write_local_plan
from step_recorder import StepRecorder
from toy_engine import TOY, ToyRules

MODULE = '''
"""Words: a file of lines is written once, sorted in each run, and checked by sort itself; one option makes it fail."""

from assay.model.plans.program import Program
from assay.workloads.common.checks import common_checks, equal
from assay.workloads.common.inputs import OUTPUT, generated_input
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import Figure, ValidationResult, Option, Workload


def sh(script):
    return Program("sh", ("-ec", script), engine="toy")


class Words(Workload):
    """Sort lines."""

    name, title = "words", "Lines sorted"
    options = (Option("how", "Whether it goes well.", ("well", "badly", "slowly")),)
    flow = DataFlow(read=1, written=1)
    outputs = (f"{OUTPUT}/words",)
    figures = (Figure("sorted_bytes", "length of the sorted lines"),)

    def input(self, size):
        def writing(path):
            return sh(f'mkdir -p "$STORE{path}"; yes word | head -c {size.data_bytes} > "$STORE{path}/part-0"')

        return generated_input("lines", writing, size.data_bytes, 1, exact=True)

    def programs(self, size, input_path):
        if size.options.get("how") == "badly":
            return {"toy": sh("echo Exception: no words today; exit 3")}
        slowly = "sleep 6; " if size.options.get("how") == "slowly" else ""
        sorts = f'mkdir -p "$STORE{OUTPUT}/words"; sort "$STORE{input_path}/part-0" > "$STORE{OUTPUT}/words/part-0"'
        return {"toy": sh(slowly + sorts)}

    outputs = (f"{OUTPUT}/words",)

    def check_program(self, input_path):
        return sh(f'sort -c "$STORE{OUTPUT}/words/part-0"')

    async def validate(self, size, outcome, evidence):
        stored = await evidence.files.stored(f"{OUTPUT}/words")
        checked = equal("check", evidence.check_outcome.exit_status, 0, "status")
        length = equal("bytes", stored.length_bytes, size.data_bytes)
        return ValidationResult((*common_checks(outcome), length, checked), {"sorted_bytes": stored.length_bytes})


WORKLOADS = (Words(),)
'''


def write_toy_plan(folder: Path, body: str, patched: pytest.MonkeyPatch) -> Path:
    """Write a plan of the engine, whose workload is known while ``patched`` is; return the plan's path."""
    modules = folder / "more"
    modules.mkdir()
    (modules / "words.py").write_text(MODULE)
    patched.setattr(assay.workloads, "__path__", [*assay.workloads.__path__, str(modules)])
    path = write_local_plan(folder, f"toy-{os.getpid()}", body)
    path.write_text(path.read_text().replace("engine: hadoop", "engine: toy"))
    return path


def run_toy_campaign(path: Path, repository: Repository, observer: StepRecorder) -> CampaignSummary:
    plan = load_plan(path, {"toy": ToyRules()})
    todo = prepare(plan, repository, again=False)
    provide = TOY.provider_of(plan.cluster)
    work = CampaignWork(plan, repository, todo, observer)
    return asyncio.run(run_campaign(work, CampaignCluster(plan.cluster, None, provide), with_baseline=False))
