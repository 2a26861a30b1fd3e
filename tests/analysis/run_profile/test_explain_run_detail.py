"""Test the details of one run: time, tasks, devices by purpose, nodes, counters, and unknown values."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.run_profile.devices import Observation, Purpose, imbalances, workers
from assay.analysis.run_profile.job_figures import job_figures
from assay.analysis.run_profile.phases import divide, occupancy, phases_of_job, phases_of_run
from assay.analysis.run_profile.run_detail import detail_metrics, replication_of, request_limits_note, run_detail
from assay.analysis.run_profile.tables.environment_tables import ROWS_MAX, environment_tables
from assay.analysis.run_profile.tables.run_tables import purposes_table
from assay.analysis.run_profile.tasks import ATTEMPTS_SHOWN_MAX, lanes, summarise_kinds, timeline
from assay.model.runs.phase import Phase
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from builders import WORKERS, make_run
from detail_support import COUNTERS, hybrid_run, hybrid_tasks, hybrid_trace, make_task

moments = st.floats(min_value=-5, max_value=60, allow_nan=False)
intervals = st.builds(Phase, st.sampled_from(["map", "shuffle", "reduce", "waste"]), moments, moments)


def test_every_moment_of_a_run_has_its_phase_and_overlaps_are_reported() -> None:
    phases = phases_of_run(hybrid_run(), hybrid_tasks())
    share = {phase.name: phase.share_s for phase in phases.phases}
    # outside of jobs 2 + 4 + 2 s; setups 2 + 2 s; cleanups 2 + 2 s
    assert (share["overhead"], share["setup"], share["cleanup"]) == pytest.approx((8, 4, 4))
    # 4-6 maps alone; 6-8 four maps and two reduces; 8-12 one map, two reduces, from 9 to 10 a killed one too; 26-36
    assert share["map"] == pytest.approx(2 + 2 * 4 / 6 + 3 / 3 + 1 / 4 + 10)
    assert share["waste"] == pytest.approx(1 / 4)
    assert share["shuffle"] == pytest.approx(2 * 2 / 6 + 3 * 2 / 3 + 2 / 4 + 1)
    assert share["merge"] == pytest.approx(1 / 2)
    assert share["reduce"] == pytest.approx(1 / 2 + 4)
    assert sum(share.values()) == pytest.approx(40)
    assert {overlap.names: overlap.duration_s for overlap in phases.overlaps} == pytest.approx(
        {("map", "shuffle"): 5.0, ("map", "shuffle", "waste"): 1.0, ("merge", "reduce"): 1.0}
    )
    maps = next(phase for phase in phases.phases if phase.name == "map")
    assert (maps.start_s, maps.end_s, maps.active_s, maps.alone_s) == pytest.approx((4, 36, 18, 12))


def test_a_jobs_phases_add_up_to_the_job() -> None:
    job = hybrid_run().jobs[1]
    phases = phases_of_job(job, [task for task in hybrid_tasks() if task.job_id == job.job_id])
    assert [(p.name, p.share_s) for p in phases.phases] == [("setup", 2), ("map", 10), ("cleanup", 2)]


@given(st.lists(intervals, max_size=12), st.lists(st.tuples(moments, moments), max_size=3))
def test_parts_add_up_with_any_overlap(phases: list[Phase], jobs: list[tuple[float, float]]) -> None:
    divided = divide(phases, jobs, 0.0, 50.0)
    assert sum(phase.share_s for phase in divided.phases) == pytest.approx(50)
    for phase in divided.phases:
        assert 0 <= phase.start_s <= phase.end_s <= 50
        assert -1e-9 <= phase.alone_s <= phase.share_s + 1e-9
        assert phase.share_s <= phase.active_s + 1e-9
        assert phase.active_s <= phase.end_s - phase.start_s + 1e-9


@given(st.lists(st.tuples(moments, moments), max_size=20), st.floats(min_value=0.5, max_value=30))
def test_occupancy_holds_all_the_time_that_attempts_took(spans: list[tuple[float, float]], step_s: float) -> None:
    tasks = [make_task(n, min(span), max(span)) for n, span in enumerate(spans)]
    slots = occupancy(make_run(duration_s=50.0), tasks, step_s)
    inside_s = sum(max(0.0, min(task.end_s, 50) - max(task.start_s, 0)) for task in tasks)
    assert sum(sum(slot.tasks) for slot in slots) * step_s == pytest.approx(inside_s, abs=1e-6)


@given(st.lists(st.tuples(moments, moments, st.sampled_from(WORKERS)), max_size=30))
def test_no_two_attempts_are_in_one_lane_at_once(spans: list[tuple[float, float, str]]) -> None:
    tasks = [make_task(n, min(a, b), max(a, b), node=node) for n, (a, b, node) in enumerate(spans)]
    placed = lanes(tasks)
    assert len(placed) == sum(task.end_s > task.start_s for task in tasks)
    by_lane: dict[tuple[str, int], list[TaskAttempt]] = {}
    for attempt in placed:
        by_lane.setdefault((attempt.node, attempt.lane), []).append(attempt.task)
    for attempts in by_lane.values():
        assert all(before.end_s <= after.start_s for before, after in pairwise(attempts))


def test_a_timeline_leaves_out_whole_nodes_when_there_are_too_many_lanes() -> None:
    tasks = [make_task(n, 0.0, 1.0, node=f"w{n // 50}") for n in range(200)]
    shown = timeline(tasks)
    assert (shown.nodes, shown.nodes_shown, len(shown.placed)) == (4, 2, 100)
    many = timeline([make_task(n, float(n), n + 1.0, node="w") for n in range(2 * ATTEMPTS_SHOWN_MAX)])
    assert (many.nodes_shown, len(many.placed)) == (1, ATTEMPTS_SHOWN_MAX)
    assert timeline([]).placed == ()


def test_waves_stragglers_and_what_attempts_do_not_tell() -> None:
    maps, reduces, second = summarise_kinds(hybrid_tasks())
    assert (maps.tasks, maps.attempts, maps.succeeded, maps.killed, maps.at_once_max, maps.waves) == (5, 5, 4, 1, 4, 2)
    assert [(task.attempt_id, task.ratio) for task in maps.stragglers] == [("attempt_1_0001_m_000003_0", 2.0)]
    assert (maps.median_s, maps.longest_s, maps.spilled_records, maps.cpu_s) == (4, 8, 20, 4)
    assert (reduces.kind, reduces.waves, reduces.stragglers) == ("reduce", 1, ())
    assert (second.job_id, second.tasks) == ("job_1_0002", 1)
    silent = summarise_kinds([make_task(0, 0, 1, spilled_records=None, cpu_s=None, gc_s=None)])[0]
    assert (silent.spilled_records, silent.cpu_s, silent.gc_s) == (None, None, None)


def test_a_reduces_wait_for_maps_does_not_make_the_others_fast() -> None:
    early = [make_task(n, 1.0, 21.0, kind="reduce") for n in range(2)]
    late = [make_task(n, 20.0, 21.0, kind="reduce") for n in range(2, 5)]
    alone = summarise_kinds([*early, *late])[0]
    after_maps = summarise_kinds([make_task(9, 0.0, 20.0), *early, *late])[1]
    assert len(alone.stragglers) == 2
    assert after_maps.stragglers == ()


def test_devices_of_one_purpose_tell_exactly_and_shared_ones_stay_shared() -> None:
    seen = Observation.of(hybrid_run(), hybrid_tasks(), hybrid_trace())
    uses = {use.purpose: use for use in seen.by_purpose()}
    assert {purpose: use.devices for purpose, use in uses.items()} == {
        Purpose.HDFS: ("hdd1",),
        Purpose.INTERMEDIATE: ("ssd1",),
        Purpose.SHARED: ("hdd2",),
    }
    assert uses[Purpose.HDFS].transfers.read_request_bytes == 128_000
    assert uses[Purpose.HDFS].transfers.write_request_bytes is None  # no request, so no size
    assert uses[Purpose.INTERMEDIATE].transfers.read_request_bytes == 16_000
    assert uses[Purpose.INTERMEDIATE].transfers.write_request_bytes == 64_000
    hdd1 = next(use for use in seen.devices() if use.device == "hdd1")
    assert (hdd1.nodes, hdd1.busy_share, hdd1.queue) == pytest.approx((3, 0.5, 1.5))
    assert (hdd1.transfers.read_await_s, hdd1.transfers.read_merges) == pytest.approx((0.005, 1000))
    assert next(use for use in seen.devices() if use.device == "os").purpose is Purpose.NONE


def test_without_a_recorded_layout_no_purpose_is_guessed() -> None:
    bare = replace(hybrid_run(), environment={})
    assert {use.purpose for use in Observation.of(bare, [], hybrid_trace()).by_purpose()} == {Purpose.UNKNOWN}
    assert workers(bare, [], hybrid_trace()) == {*WORKERS, "master"}
    assert workers(bare, hybrid_tasks(), hybrid_trace()) == set(WORKERS)


def test_the_busiest_worker_is_named_and_negligible_activity_is_not() -> None:
    detail = run_detail(hybrid_run(), hybrid_tasks(), hybrid_trace())
    assert detail.imbalances["cpu_imbalance"] == pytest.approx(1.5)
    assert detail.imbalances["nic_imbalance"] == pytest.approx(1.0)
    assert detail.imbalances["disk_imbalance"] == pytest.approx((256 + 15.08) / ((256 + 128 + 128) / 3 + 15.08))
    assert [node.node for node in detail.nodes] == [*WORKERS, "master"]
    assert detail.nodes[0].cpu_busy_share == pytest.approx(0.5)
    idle = [replace(node, cpu_s=0.1, disk_read_bytes=9.0, disk_write_bytes=0.0) for node in detail.nodes]
    assert set(imbalances(idle)) == {"nic_imbalance"}
    assert imbalances(detail.nodes[:1]) == {}


def test_in_a_lab_cpu_time_of_the_machine_is_not_that_of_a_node() -> None:
    nodes = run_detail(hybrid_run(lab_scale=0.05), hybrid_tasks(), hybrid_trace()).nodes
    assert {node.cpu_s for node in nodes} == {None}
    assert nodes[0].cpu_busy_share is not None


def test_counters_become_figures() -> None:
    figures = job_figures(hybrid_run().jobs)
    assert (figures.spill_ratio, figures.node_local_share, figures.cpu_s, figures.gc_s) == (2.5, 0.75, 9.0, 0.4)
    assert figures.maps_off_rack is None
    nothing = job_figures(make_run().jobs)
    assert (nothing.hdfs_read_bytes, nothing.spill_ratio, nothing.node_local_share) == (None, None, None)
    below_zero = {"x.TaskCounter": {"SPILLED_RECORDS": -3}}
    assert job_figures([replace(hybrid_run().jobs[0], counters=below_zero)]).spilled_records is None


def test_metrics_of_a_run_end_in_their_units() -> None:
    metrics = detail_metrics(run_detail(hybrid_run(), hybrid_tasks(), hybrid_trace()))
    assert metrics["intermediate_disk_read_bytes_per_request"] == 16_000
    assert metrics["hdfs_disk_read_bytes"] == 512_000_000
    assert (metrics["map_waves"], metrics["map_stragglers"], metrics["map_tasks"]) == (2, 1, 6)
    assert metrics["phase_overhead_s"] == pytest.approx(8)
    assert (metrics["spill_ratio"], metrics["shuffle_bytes"]) == (2.5, 410)
    assert "hdfs_disk_write_bytes_per_request" not in metrics
    assert all(
        name.endswith(
            (
                "_s",
                "_ms",
                "_bytes",
                "_per_request",
                "_share",
                "_ratio",
                "_imbalance",
                "_records",
                "_tasks",
                "_waves",
                "_stragglers",
                "_failed",
            )
        )
        for name in metrics
    )


def test_a_run_without_facts_gets_no_assumed_facts() -> None:
    detail = run_detail(make_run(), [], Trace())
    assert (detail.breakdown.duration_s, detail.breakdown.phases, detail.jobs) == (60.0, (), ())
    assert (detail.devices, detail.nodes, detail.imbalances, detail.requested) == ((), (), {}, ())
    assert detail_metrics(detail) == {}


def test_phases_of_a_run_without_attempts_are_divided() -> None:
    phases = (Phase("setup", 0, 10), Phase("map", 10, 40), Phase("reduce", 30, 50), Phase("cleanup", 50, 55))
    parts = phases_of_run(make_run(phases=phases), [])
    assert [(phase.name, phase.share_s) for phase in parts.phases] == [
        ("overhead", 5),
        ("setup", 10),
        ("map", 25),
        ("reduce", 15),
        ("cleanup", 5),
    ]


def test_the_demand_counts_copies() -> None:
    detail = run_detail(hybrid_run(), hybrid_tasks(), hybrid_trace())
    assert [(demand.purpose, demand.read_bytes, demand.write_bytes) for demand in detail.requested] == [
        (Purpose.HDFS, 1000, 1000),
        (Purpose.INTERMEDIATE, 710, 700),
    ]
    assert COUNTERS["org.apache.hadoop.mapreduce.FileSystemCounter"]["HDFS_BYTES_WRITTEN"] == 500


def test_the_copies_of_an_imported_terasort_are_its_output_parameter() -> None:
    imported = make_run(workload_parameters={}, parameters={"dfs.replication": "3"})
    assert replication_of(imported) is None
    stated = replace(imported, parameters={"mapreduce.terasort.output.replication": "1", "dfs.replication": "3"})
    assert replication_of(stated) == 1
    assert replication_of(replace(imported, workload="wordcount")) == 3


def test_jobs_of_assay_write_the_requested_number_of_copies() -> None:
    plain = make_run(workload_parameters={"program": "terasort"}, parameters={"dfs.replication": "3"})
    assert replication_of(plain) == 3
    assert (
        replication_of(replace(plain, parameters={**plain.parameters, "mapreduce.terasort.output.replication": "1"}))
        == 1
    )
    assert replication_of(replace(plain, workload="w", workload_parameters={"program": "hdfs-write"})) == 1


LAB = {
    "scale": 0.02,
    "nodes": {
        "worker1": {
            "devices": {
                "hdd1": {"request_bytes": 12288},
                "hdd2": {"request_bytes": 12288},
                "ssd1": {"request_bytes": 24576},
                "idle9": {"request_bytes": 4096},
            }
        },
        "worker2": {"devices": {"hdd1": {"request_bytes": 12288}}},
    },
}
NOTE = (
    "The lab's largest request is 12 KiB on hdd1 and hdd2, 24 KiB on ssd1 (docs/explanation/lab.md): "
    "the limit follows from its scale."
)


def test_request_sizes_of_a_lab_have_the_limit_of_the_lab() -> None:
    run = hybrid_run()
    in_lab = replace(run, environment=run.environment | {"lab": LAB})
    detail = run_detail(in_lab, hybrid_tasks(), hybrid_trace())
    assert request_limits_note([detail, detail]) == NOTE
    shown = purposes_table(detail).notes
    assert shown[-1] == NOTE
    outside = run_detail(run, hybrid_tasks(), hybrid_trace())
    assert request_limits_note([outside]) is None
    assert not any("largest" in line for line in purposes_table(outside).notes)


@pytest.mark.parametrize(
    "lab", [None, "x", {"nodes": []}, {"nodes": {"w": {"devices": {"hdd1": {"request_bytes": "a"}}}}}]
)
def test_lab_records_of_an_old_bundle_may_have_any_form(lab: object) -> None:
    run = hybrid_run()
    detail = run_detail(replace(run, environment=run.environment | {"lab": lab}), [], hybrid_trace())
    assert detail.request_bytes_max == {}


def test_facts_equal_on_all_nodes_are_listed_once_in_the_environment() -> None:
    tree = {
        "assay": "0.2.0",
        "nodes": {"w1": {"cpu": {"cores": 4}, "id": "a"}, "w2": {"cpu": {"cores": 4}, "id": "b"}},
        "lab": {"name": "l", "nodes": {"w1": {"link": 1}, "w2": {"link": 2}}},
        "parameters": {f"p{n}": str(n) for n in range(ROWS_MAX + 5)},
        "empty": {},
    }
    tables = {table.title: table.rows for table in environment_tables(tree)}
    assert {title: rows for title, rows in tables.items() if title != "parameters"} == {
        "the run": (("assay", "0.2.0"),),
        "alike on all 2 nodes": (("cpu › cores", "4"),),
        "node w1": (("id", "a"),),
        "node w2": (("id", "b"),),
        "lab": (("name", "l"),),
        "lab: node w1": (("link", "1"),),
        "lab: node w2": (("link", "2"),),
    }
    assert len(tables["parameters"]) == ROWS_MAX + 1
    assert "and more" in tables["parameters"][-1][1]
