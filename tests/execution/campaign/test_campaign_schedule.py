"""Test the order of a campaign's runs, the runs left, and the expected duration."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.campaign.prepare import find_campaign, prepare
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.estimate import (
    BASELINE_S,
    CONNECT_S,
    HOST_CHECKS_S,
    INSTALL_S,
    LAB_S,
    RESTART_S,
    STOP_S,
    Overheads,
    call_overhead_s,
    expected_s,
    remaining_s,
)
from assay.execution.planning.forecast.forecast import Schedule
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.next_run import key_of, remaining_planned
from assay.execution.planning.order import PlannedRun, restarts, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import RepositoryError
from assay.model.clusters.cluster import Attachment, Placement
from assay.model.plans.plan import Plan, PrecisionGoal
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.store.campaigns import journal
from assay.store.campaigns.journal import create_campaign
from assay.workloads.catalogue import workloads
from builders import make_run
from paths import ROOT

EXAMPLE = ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml"
ATTACHMENT = Attachment("master", "/usr/bin/hadoop", "/etc/hadoop", "default", "/user/me/assay")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan(EXAMPLE)


def planned_runs(plan: Plan) -> list[PlannedRun]:
    return schedule(plan, expand(plan))


def finished(planned: PlannedRun, status: RunStatus = RunStatus.VALID, number: int = 0) -> Run:
    levels = dict(planned.configuration.levels)
    return make_run(
        number,
        workload=planned.workload.key,
        levels=levels,
        layout=levels["layout"],
        status=status,
        repetition=planned.repetition,
    )


def test_repetitions_are_interleaved_in_abba_order(plan: Plan) -> None:
    visits = list(dict.fromkeys((run.block, run.configuration.layout.name) for run in planned_runs(plan)))
    first, second = visits[0][1], visits[1][1]
    assert {first, second} == {"HD2", "SS2"}
    assert visits == [(0, first), (0, second), (1, second), (1, first), (2, first), (2, second)]


def test_dfsio_read_comes_after_the_write_that_leaves_its_files(plan: Plan) -> None:
    names = [run.workload.name for run in planned_runs(plan)]
    assert all(names[index - 1] == "dfsio-write" for index, name in enumerate(names) if name == "dfsio-read")


@given(repetitions=st.integers(1, 9), seed=st.integers(0, 99))
def test_every_combination_is_run_as_often_as_asked(repetitions: int, seed: int) -> None:
    plan = replace(load_plan(EXAMPLE), repetitions=repetitions, seed=seed)
    runs = planned_runs(plan)
    assert len({run.key for run in runs}) == len(runs) == 6 * repetitions
    assert set(Counter((r.workload.key, r.configuration.key) for r in runs).values()) == {repetitions}
    assert runs == planned_runs(plan)


def test_a_valid_run_is_never_repeated_and_an_invalid_run_has_the_next_attempt_number(plan: Plan) -> None:
    runs = planned_runs(plan)
    assert [number for _, number in Schedule(runs).remaining_after(plan, [])] == [1] * len(runs)
    made = [finished(runs[0]), finished(runs[1], RunStatus.FAILED, 1)]
    remaining = {planned.key: number for planned, number in Schedule(runs).remaining_after(plan, made)}
    assert runs[0].key not in remaining
    assert remaining[runs[1].key] == 2
    made.append(finished(runs[1], RunStatus.INVALID, 2))
    assert (runs[1], 3) in Schedule(runs).remaining_after(plan, made)
    made.append(finished(runs[1], RunStatus.VALID, 3))
    assert runs[1].key not in {planned.key for planned, _ in Schedule(runs).remaining_after(plan, made)}


def test_a_run_is_repeated_until_its_mean_is_known_and_no_further(plan: Plan) -> None:
    careful = replace(plan, repetitions=2, until=PrecisionGoal(0.05, 9))
    runs = planned_runs(careful)
    assert max(run.repetition for run in runs) == 9
    repeated = [run for run in runs if run.key[:2] == runs[0].key[:2]]
    steady = [replace(finished(run), duration_s=10.0 + run.repetition / 100) for run in repeated[:5]]
    assert repeated[4] in remaining_planned(careful, runs, steady[:4])  # four runs are not believed
    assert repeated[5] not in remaining_planned(careful, runs, steady)
    assert repeated[1] in remaining_planned(
        careful, runs, [run for run in steady if run.repetition != 2]
    )  # the plan's own
    restless = [replace(run, duration_s=10.0 * (1 + run.repetition % 2)) for run in steady]
    assert repeated[5] in remaining_planned(careful, runs, restless)
    assert repeated[5] in remaining_planned(careful, runs, [replace(run, status=RunStatus.INVALID) for run in steady])
    remaining = {planned.key for planned, _ in Schedule(runs).remaining_after(careful, steady)}
    assert not remaining & {run.key for run in repeated}
    assert len(remaining) == len(runs) - len(repeated)


def test_a_finished_run_is_recognised_as_its_planned_one(plan: Plan) -> None:
    for planned in planned_runs(plan):
        assert key_of(finished(planned)) == planned.key


def test_the_same_plan_continues_and_another_starts_anew(plan: Plan, tmp_path: Path) -> None:
    schedule = Schedule(planned_runs(plan))
    assert find_campaign(tmp_path, plan, [], schedule, again=True) is None
    first = create_campaign(tmp_path, plan, len(schedule.runs))
    assert find_campaign(tmp_path, plan, [], schedule, again=True) == first
    assert find_campaign(tmp_path, replace(plan, fingerprint="another"), [], schedule, again=True) is None


def test_a_complete_campaign_is_repeated_only_when_asked(plan: Plan, tmp_path: Path) -> None:
    schedule = Schedule(planned_runs(plan))
    first = create_campaign(tmp_path, plan, len(schedule.runs))
    made = [replace(finished(run, number=run.index), campaign_id=first.campaign_id) for run in schedule.runs]
    assert find_campaign(tmp_path, plan, made, schedule, again=False) == first
    assert find_campaign(tmp_path, plan, made, schedule, again=True) is None


def test_an_interrupted_campaign_is_reached_after_the_clock_went_back(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = Schedule(planned_runs(plan))
    first = create_campaign(tmp_path, plan, len(schedule.runs))
    made = [replace(finished(run, number=run.index), campaign_id=first.campaign_id) for run in schedule.runs]
    monkeypatch.setattr(journal, "new_run_id", lambda: "00000000-0000-7000-8000-000000000000")
    second = create_campaign(tmp_path, plan, len(schedule.runs))
    assert second.campaign_id < first.campaign_id
    for again in (True, False):
        assert find_campaign(tmp_path, plan, made, schedule, again=again) == second


def test_a_folder_that_cannot_be_written_is_an_error(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryError, match="can't be stored"):
        create_campaign(tmp_path / "file", plan, 1)
    created = create_campaign(tmp_path, plan, 1)
    (created.folder / journal.JOURNAL).mkdir()
    with pytest.raises(RepositoryError, match="can't be stored"):
        created.write("start")


def test_only_one_process_carries_out_a_campaign(plan: Plan, tmp_path: Path) -> None:
    journal = create_campaign(tmp_path, plan, 1)
    with journal.hold(), pytest.raises(RepositoryError, match="running already"), journal.hold():
        pass
    with journal.hold():
        journal.write("begin", run=0)
    lines = (journal.folder / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["begin"]


def test_the_expected_time_comes_from_history_when_there_is_one(plan: Plan) -> None:
    planned = planned_runs(plan)[0]
    guess = expected_s(planned, plan, [])
    data_bytes = workloads()[planned.workload.name].data_bytes(size_of(planned, plan))
    past = [
        replace(finished(planned, number=i), duration_s=40.0 + i, cluster=plan.cluster.name, data_bytes=data_bytes)
        for i in range(3)
    ]
    assert expected_s(planned, plan, past) != guess
    assert 41.0 <= expected_s(planned, plan, past) <= 50.0


def test_without_history_an_hdd_run_is_expected_to_take_longer(plan: Plan) -> None:
    runs = [run for run in planned_runs(plan) if run.workload.name == "terasort"]
    by_layout = {run.configuration.layout.name: expected_s(run, plan, []) for run in runs}
    assert by_layout["HD2"] > by_layout["SS2"] > 0
    assert remaining_s(runs, plan, []) > sum(expected_s(run, plan, []) for run in runs)


def test_time_before_the_first_run_and_after_the_last_is_expected_too(plan: Plan) -> None:
    local, hosts = (
        replace(plan, cluster=replace(plan.cluster, placement=placement, lab=None))
        for placement in (Placement.LOCAL, Placement.SSH)
    )
    theirs = replace(hosts, cluster=replace(hosts.cluster, attached=ATTACHMENT))
    assert call_overhead_s(local) == CONNECT_S + STOP_S
    assert call_overhead_s(plan) == CONNECT_S + BASELINE_S + LAB_S + STOP_S
    assert call_overhead_s(hosts) == CONNECT_S + HOST_CHECKS_S + INSTALL_S + BASELINE_S + STOP_S
    assert call_overhead_s(theirs) == CONNECT_S + HOST_CHECKS_S
    assert call_overhead_s(hosts, Overheads(begin_s=70.0)) == 70.0 + STOP_S
    assert call_overhead_s(replace(plan, cluster=replace(plan.cluster, simulated=True))) == 0.0
    schedule = prepare(hosts, None, again=False, write=False)
    assert schedule.expected_s == call_overhead_s(hosts) + remaining_s(
        [run for run, _ in schedule.remaining], hosts, []
    )


def test_daemons_that_run_already_and_those_of_an_attached_cluster_are_not_expected_to_start(plan: Plan) -> None:
    runs = planned_runs(plan)[:2]
    assert runs[0].configuration == runs[1].configuration, "the first two runs share their daemons"
    starting_s = remaining_s(runs, plan, [])
    assert remaining_s(runs, plan, [], running_configuration=runs[0].configuration) == starting_s - RESTART_S
    theirs = replace(plan, cluster=replace(plan.cluster, attached=ATTACHMENT))
    assert restarts(planned_runs(plan), theirs) == [None] * len(planned_runs(plan))
