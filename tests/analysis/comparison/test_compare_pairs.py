"""Test comparisons of runs: which runs count, which are paired, and the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.comparison.claims.contrasts import INFINIBAND
from assay.analysis.comparison.comparison import WELCH, compare
from assay.analysis.comparison.details.level_summary import summarise_group
from assay.analysis.comparison.details.run_groups import run_groups
from assay.analysis.comparison.details.threats import threats
from assay.analysis.comparison.matched import PAIRED
from assay.analysis.comparison.result import Exclusion, clearest
from assay.analysis.run_profile.traffic import counter_growth, disk_traffic
from assay.analysis.statistics import Verdict
from assay.analysis.statistics.keys import hard_disk_layouts
from assay.analysis.statistics.runs.factors_of_runs import (
    factors_of,
    layout_devices,
    layouts_on_hard_disks,
    level_of,
    levels_of,
)
from assay.analysis.statistics.runs.run_table import table_of
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.model import ClusterFacts, Network, NetworkKind
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.model.runs.traces.trace import Trace
from assay.model.runs.warning import CodedWarning, WarningCode
from assay.questions.comparisons.result_sentences import sentence
from builders import make_run, make_trace, runs_with, study_runs, words_of
from paths import EXAMPLES


def test_the_ratio_is_baseline_time_over_candidate_time() -> None:
    (comparison,) = compare(
        runs_with({"HD2": [20.0, 22.0, 24.0], "SS2": [10.0, 11.0, 12.0]}), factor="layout", baseline="HD2"
    )
    assert comparison.ratio == pytest.approx(2.0)
    assert (comparison.baseline, comparison.candidate, comparison.runs_baseline, comparison.runs_candidate) == (
        "HD2",
        "SS2",
        3,
        3,
    )
    assert comparison.runs is not None
    assert (comparison.runs.baseline.median_s, comparison.runs.candidate.median_s) == (22.0, 11.0)
    assert comparison.origin == Origin.MEASURED


def test_complete_blocks_are_paired_and_drift_cancels() -> None:
    times = [20.0013, 30.0017, 44.0011, 60.0019, 80.0007]  # not rounded to a second
    drifting = runs_with({"HD2": times, "SS2": [time / 2.0 for time in times]})
    (paired,) = compare(drifting, factor="layout", baseline="HD2")
    assert paired.method == PAIRED
    assert (paired.low, paired.high) == pytest.approx((2.0, 2.0))
    unpaired_runs = [replace(run, block=run.block + (7 if run.layout == "SS2" else 0)) for run in drifting]
    (welch,) = compare(unpaired_runs, factor="layout", baseline="HD2")
    assert welch.method == WELCH
    assert welch.low is not None
    assert welch.low < 1 < 2 < (welch.high or 0)


def test_a_block_with_one_side_missing_is_not_paired() -> None:
    runs = runs_with({"HD2": [20.0, 21.0, 22.0], "SS2": [10.0, 11.0]})
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.method == WELCH
    assert (comparison.runs_baseline, comparison.runs_candidate) == (3, 2)


def test_fewer_than_five_blocks_are_two_samples() -> None:
    for blocks, paired in ((3, False), (4, False), (5, True)):
        runs = runs_with({"HD2": [20.0 + n for n in range(blocks)], "SS2": [10.0 + n for n in range(blocks)]})
        (comparison,) = compare(runs, factor="layout", baseline="HD2")
        assert (comparison.method == PAIRED) is paired


def test_blocks_with_two_of_each_are_paired_by_repetition() -> None:
    runs = [replace(run, block=run.repetition // 2) for run in runs_with({"HD2": [20.0] * 6, "SS2": [10.0] * 6})]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.method == PAIRED


def test_runs_that_are_not_valid_are_counted_and_left_out() -> None:
    runs = runs_with({"HD2": [20.0, 20.0, 999.0], "SS2": [10.0, 10.0, 999.0]})
    runs[2] = replace(runs[2], status=RunStatus.INVALID)
    runs[5] = replace(runs[5], status=RunStatus.FAILED, duration_s=0.0)
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.ratio == pytest.approx(2.0)
    assert (comparison.runs_baseline, comparison.runs_candidate, dict(comparison.excluded)) == (
        2,
        2,
        {Exclusion.INVALID: 1, Exclusion.FAILED: 1},
    )


def test_warm_runs_do_not_count_together_with_cold_ones() -> None:
    runs = runs_with({"HD2": [20.0, 20.0, 5.0], "SS2": [10.0, 10.0]})
    runs[2] = replace(runs[2], cold=False)
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert (comparison.runs_baseline, dict(comparison.excluded)) == (2, {Exclusion.WARM: 1})
    assert "1 warm runs are left out" in comparison.warnings[0].words


def test_warm_runs_count_when_all_are_warm_and_a_warning_says_so() -> None:
    (comparison,) = compare(
        runs_with({"HD2": [2.0, 2.0], "SS2": [1.0, 1.0]}, cold=False), factor="layout", baseline="HD2"
    )
    assert comparison.runs_baseline == 2
    assert "all 4 runs are warm" in comparison.warnings[0].words


def test_warm_runs_count_together_with_unknown_ones() -> None:
    runs = runs_with({"HD2": [2.0, 2.0], "SS2": [1.0, 1.0]}, cold=False)
    runs[0] = replace(runs[0], cold=None)
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert (comparison.runs_baseline, comparison.runs_candidate, dict(comparison.excluded)) == (2, 2, {})
    assert "3 of 4 runs are warm" in comparison.warnings[0].words


def test_unknown_cache_state_is_a_warning() -> None:
    (comparison,) = compare(
        runs_with({"HD2": [2.0, 2.0], "SS2": [1.0, 1.0]}, cold=None), factor="layout", baseline="HD2"
    )
    assert "not known for 4 of 4 runs" in comparison.warnings[0].words


@pytest.mark.parametrize(
    "change",
    [
        {"origin": Origin.SIMULATED},
        {"engine_version": "3.5.0"},
        {"cluster": "other"},
        {"lab_scale": None},
        {"data_bytes": 1},
        {"parameters": {"dfs.blocksize": "128MiB"}},
        {"workload_parameters": {"reduces": "9"}},
    ],
)
def test_runs_under_other_circumstances_are_never_mixed(change: dict[str, object]) -> None:
    same = runs_with({"HD2": [20.0] * 3, "SS2": [10.0] * 3})
    other = [replace(r, run_id=f"x{r.run_id}", **change) for r in runs_with({"HD2": [50.0] * 3, "SS2": [10.0] * 3})]  # type: ignore[arg-type]
    comparisons = compare([*same, *other], factor="layout", baseline="HD2")
    assert sorted(round(c.ratio or 0, 6) for c in comparisons) == [2.0, 5.0]
    assert all(c.context for c in comparisons)


def test_a_candidate_without_a_comparable_baseline_is_reported() -> None:
    runs = [make_run(0, layout="HD2"), make_run(1, layout="SS2", engine_version="9")]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert (comparison.ratio, comparison.runs_baseline, comparison.verdict) == (None, 0, Verdict.NOT_COMPARED)
    assert "2 hard disks per worker (HD2) has no valid run" in sentence(comparison)


def test_an_engine_parameter_and_a_workload_option_can_be_the_factor() -> None:
    runs = [
        make_run(n, parameters={"dfs.blocksize": size}, levels={"dfs.blocksize": size}, duration_s=time_s, block=n // 2)
        for n, (size, time_s) in enumerate([("64MiB", 10.0), ("128MiB", 5.0)] * 3)
    ]
    (comparison,) = compare(runs, factor="dfs.blocksize", baseline="64MiB")
    assert comparison.ratio == pytest.approx(2.0)
    options = [
        make_run(n, workload="big", workload_parameters={"program": "terasort", "reduces": count}, duration_s=time_s)
        for n, (count, time_s) in enumerate([("3", 9.0), ("6", 3.0)] * 2)
    ]
    (by_option,) = compare(options, factor="terasort.reduces", baseline="3")
    assert by_option.ratio == pytest.approx(3.0)
    assert factors_of([*runs, *options]).keys() >= {"dfs.blocksize", "terasort.reduces"}


def test_another_workloads_option_does_not_split_a_comparison() -> None:
    runs = [
        replace(run, workload="wordcount", levels={**run.levels, "terasort.reduces": str(run.block)})
        for run in runs_with({"HD2": [2.0] * 3, "SS2": [1.0] * 3})
    ]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.runs_baseline == 3
    assert level_of(runs[0], "terasort.reduces") is None


def test_directories_that_follow_from_the_layout_do_not_split_it() -> None:
    runs = [
        replace(r, parameters={"dfs.datanode.data.dir": f"/{r.layout}"}) for r in runs_with({"A": [2.0], "B": [1.0]})
    ]
    (comparison,) = compare(runs, factor="layout", baseline="A")
    assert comparison.ratio == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("times", "conclusion", "words"),
    [
        ({"HD2": [20.0, 21.0, 22.0], "SS2": [10.0, 10.4, 11.1]}, Verdict.FASTER, "(SS2) is 2.00× as fast as"),
        ({"HD2": [10.0, 10.4, 11.1], "SS2": [20.0, 21.0, 22.0]}, Verdict.SLOWER, "(SS2) is slower than"),
        (
            {"HD2": [10.0, 11.0, 12.0], "SS2": [11.0, 12.0, 10.0]},
            Verdict.NOT_DISTINGUISHABLE,
            "not distinguishable: 1.00×",
        ),
        ({"HD2": [20.0, 21.0], "SS2": [10.0, 10.4]}, Verdict.NOT_ENOUGH_RUNS, "Not enough runs to compare"),
        ({"HD2": [20.0], "SS2": [10.0]}, Verdict.NOT_ENOUGH_RUNS, "(no interval, 1 run each)"),
    ],
)
def test_the_verdict_says_no_more_than_the_runs(times: dict[str, list[float]], conclusion: Verdict, words: str) -> None:
    (comparison,) = compare(runs_with(times), factor="layout", baseline="HD2")
    assert comparison.verdict is conclusion
    assert words in sentence(comparison)
    n = len(times["HD2"])
    assert (comparison.low is None) == (n == 1)


def test_four_runs_a_side_have_the_p_value_of_the_rank_test() -> None:
    (comparison,) = compare(
        runs_with({"HD2": [20.0] * 4, "SS2": [10.0, 10.1, 10.2, 10.3]}), factor="layout", baseline="HD2"
    )
    assert comparison.runs is not None
    assert comparison.runs.rank_test is not None
    assert comparison.runs.rank_test.p == pytest.approx(2 / 70)


def test_cpu_limits_and_differing_hosts_are_warnings() -> None:
    runs = runs_with({"HD2": [20.0, 20.0], "SS2": [10.0, 10.0]})
    runs[3] = replace(runs[3], metrics={"cpu_busy_share": 0.9})
    runs[2] = replace(runs[2], warnings=(CodedWarning(WarningCode.CPU_LIMIT, "busy on average"),))
    runs[0] = replace(runs[0], environment={**runs[0].environment, "kernel": "5.10", "uptime_s": 1e9})
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.warnings[0].words.startswith("CPU was the limit in 2 of 4 runs")
    assert comparison.warnings[1].words == "kernel was not the same in all runs: 5.10 or 6.1.0-18 against 6.1.0-18"
    assert len(comparison.warnings) == 2


def test_effective_parameters_that_were_not_varied_on_purpose_are_a_warning() -> None:
    runs = [
        replace(run, environment={"parameters": {"io.sort": f"{run.layout}", "x.data.dir": run.layout, "factor": "1"}})
        for run in runs_with({"HD2": [2.0, 2.0], "SS2": [1.0, 1.0]})
    ]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert words_of(comparison.warnings) == ("parameters.io.sort was not the same in all runs: HD2 against SS2",)


def test_throttled_disks_against_modelled_ones_are_a_warning() -> None:
    emulators = {"HD2": "throttle", "SS2": "model"}
    runs = [
        replace(run, environment={"lab": {"disks": {"emulator": emulators[run.layout], "reason": run.layout}}})
        for run in runs_with({"HD2": [2.0, 2.0], "SS2": [1.0, 1.0]})
    ]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert words_of(comparison.warnings) == ("lab.disks.emulator was not the same in all runs: throttle against model",)


def test_phases_and_throughputs_stand_side_by_side() -> None:
    runs = runs_with({"HD2": [20.0] * 3, "SS2": [10.0] * 3})
    runs = [
        replace(
            r,
            phases=(Phase("reduce", 4.0, r.duration_s), Phase("map", 0.0, 2.0), Phase("map", 3.0, 4.0)),
            metrics={"job_throughput_mb_per_s": 100 / r.duration_s},
        )
        for r in runs
    ]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.runs is not None
    baseline, candidate = comparison.runs.baseline, comparison.runs.candidate
    assert [(phase.name, phase.duration_s) for phase in baseline.phases] == [("map", 3.0), ("reduce", 16.0)]
    assert candidate.throughputs_mb_per_s["job_throughput_mb_per_s"] == pytest.approx(10.0)
    assert baseline.throughputs_mb_per_s["per_stream_mb_per_s"] is None


def test_levels_come_in_the_order_of_the_runs() -> None:
    runs = study_runs()
    assert levels_of(runs[::-1], "layout") == ["HD2", "SS2"]
    assert [s.n for group in run_groups(runs, "layout") for s in summarise_group(group)] == [3] * 6


def test_the_clearest_comparison_has_the_largest_certain_effect() -> None:
    comparison = compare(study_runs(), factor="layout", baseline="HD2")
    best = clearest(comparison)
    assert best is not None
    assert best.group == "terasort"
    assert clearest([]) is None


def test_threats_are_read_off_the_runs() -> None:
    runs = study_runs()
    assert [threat.title for threat in threats(table_of(runs), (), runs)] == ["CPU was the limit"]
    real = [replace(r, lab_scale=None, origin=Origin.MEASURED, metrics={}) for r in study_runs(repetitions=6)[:36]]
    assert threats(table_of(real), (), real) == []


def test_disk_traffic_adds_up_to_the_bytes_moved() -> None:
    run = make_run(duration_s=60.0)
    series = disk_traffic(make_trace(run), run.duration_s)
    assert [(s.device, s.direction) for s in series] == [
        ("hdd1", "read"),
        ("hdd1", "write"),
        ("hdd2", "read"),
        ("hdd2", "write"),
    ]
    for traffic in series:
        assert sum(traffic.mb_per_s) * 1e6 == pytest.approx(traffic.total_bytes)
        assert max(traffic.mb_per_s) <= 18.0 + 1e-9  # three nodes of 6 MB/s at most


def test_nodes_can_be_chosen_and_an_empty_trace_has_no_traffic() -> None:
    run = make_run(duration_s=60.0)
    whole = disk_traffic(make_trace(run), 60.0)
    traffic = disk_traffic(make_trace(run), 60.0, nodes=frozenset({"worker1"}))
    assert 0 < traffic[0].total_bytes < whole[0].total_bytes
    assert disk_traffic(Trace(), 60.0) == []


def test_a_counter_that_starts_again_and_a_gap_in_the_samples_lose_nothing() -> None:
    assert counter_growth([(0, 100), (1, 110), (2, 5), (3, 15)], [0, 1, 2, 3]) == [10, 5, 10]
    assert counter_growth([(0, 0), (4, 40)], [0, 1, 2, 3, 4, 5]) == [10, 10, 10, 10, 0]


def test_mount_options_are_compared_and_device_numbers_are_not() -> None:
    runs = runs_with({"HD2": [2.0, 2.0], "SS2": [1.0, 1.0]})
    runs = [
        replace(
            run,
            environment={
                "nodes": {
                    "w1": {
                        "captured_at": str(number),
                        "hardware": {"disks": {"loop0": {"device": f"7:{number}"}}},
                        "file_systems": {
                            "mounts": {"/data": {"options": "rw" if number else "rw,noatime", "device": "7:1"}}
                        },
                    }
                }
            },
        )
        for number, run in enumerate(runs)
    ]
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    path = "nodes.w1.file_systems.mounts./data.options"
    assert words_of(comparison.warnings) == (f"{path} was not the same in all runs: rw or rw,noatime against rw",)


def test_hard_disks_are_the_baseline_whichever_ran_first() -> None:
    def chosen(*layouts: str, factor: str = "layout", devices: dict[str, dict[str, int]] | None = None) -> str:
        known = {name: {"cluster": {"layout_devices": parts}} for name, parts in (devices or {}).items()}
        runs = [
            make_run(number, levels={factor: name, "layout": name}, layout=name, environment=known.get(name, {}))
            for number, name in enumerate(layouts)
        ]
        disks = layouts_on_hard_disks((run.layout, layout_devices(run)) for run in runs)
        assert disks == hard_disk_layouts(table_of(runs))
        return baseline_of(table_of(runs), factor)

    assert chosen("SS2", "HS5", "HD5", "HDD") == "HD5"
    assert chosen("Hybrid", "All-SSD", "All-HDD") == "All-HDD"
    assert chosen("SS2", "SSD") == "SS2"
    assert chosen("SS2", "HD2", factor="storage") == "SS2"
    assert chosen("SS2", "HDFS-on-NVMe", "HD2") == "HD2"
    assert chosen("SS2", "HDD-on-NVMe") == "SS2"
    assert chosen("fast", "HDD", "slow", devices={"fast": {"ssd": 2}, "HDD": {"nvme": 1}, "slow": {"hdd": 4}}) == "slow"


def test_the_baseline_level_is_the_smallest_number_no_codec_or_the_most_frequent_level() -> None:
    def chosen(factor: str, *levels: str) -> str:
        return baseline_of(table_of([make_run(n, levels={factor: name}) for n, name in enumerate(levels)]), factor)

    assert chosen("containers", "12", "4", "8") == "4"
    assert chosen("compression", "snappy", "none") == "none"
    assert chosen("network", "IB", "IB", "ETH") == "ETH"
    assert chosen("scheduler", "fifo", "fair", "fair") == "fair"


def test_parameters_set_by_a_level_are_no_difference_between_levels() -> None:
    name = "yarn.nodemanager.resource.memory-mb"
    runs = [
        make_run(
            number,
            levels={"layout": "HDD", "containers": count},
            parameters={name: str(384 * int(count))},
            environment={"parameters": {name: str(384 * int(count))}},
        )
        for number, count in enumerate(["2", "4", "2", "4"])
    ]
    (comparison,) = compare(runs, factor="containers", baseline="2")
    assert comparison.warnings == ()


def test_the_recorded_kind_of_a_network_has_priority_over_its_name() -> None:
    def run_on(number: int, name: str, kind: str) -> Run:
        facts = {"cluster": {"network_kind": kind}} if kind else {}
        return make_run(number, levels={"network": name}, environment=facts)

    runs = [
        run_on(0, "fast", "infiniband"),
        run_on(1, "IB-port", "ethernet"),
        run_on(2, "IB", ""),
        run_on(3, "new", ""),
    ]
    table = table_of(runs)
    assert "network_kind" not in table.factors
    np.testing.assert_equal(INFINIBAND.values(table), [1.0, 0.0, 1.0, np.nan])
    assert baseline_of(table, "network") == "IB-port"


def test_a_cluster_file_states_the_kind_of_a_network_and_a_run_records_it() -> None:
    plan = load_plan(EXAMPLES / "lab" / "hdd-vs-ssd.yaml")
    layout = next(iter(plan.layouts.values()))
    networks = {"fast": Network("fast", 56e9, {}, NetworkKind.INFINIBAND), "old": Network("old", 1e9)}
    cluster = replace(plan.cluster, networks=networks)
    assert ClusterFacts.of(ClusterFacts.of_layout(cluster, layout, "fast").tree()).network_kind == "infiniband"
    assert "network_kind" not in ClusterFacts.of_layout(cluster, layout, "old").tree()
    assert "network_kind" not in ClusterFacts.of_layout(cluster, layout).tree()


def test_several_factors_have_the_baseline_of_each_and_accept_printed_labels() -> None:
    """InfiniBand has most runs; the baseline is on hard disks with Ethernet and the fewest workers."""
    factor = "layout + network + workers"
    levels = ["HDD + IB + 4"] * 3 + ["HDD + ETH + 8", "HDD + ETH + 4", "SSD + ETH + 4"]
    table = table_of([make_run(number, levels={factor: level}) for number, level in enumerate(levels)])
    assert baseline_of(table, factor) == "HDD + ETH + 4"
    pairs = table_of(
        [make_run(n, levels={"layout + network": f"HS5 + {name}"}) for n, name in enumerate(["IB", "ETH"])]
    )
    for label in (
        "HS5 + IB",
        "5 hard disks + 1 SSD (HS5) + InfiniBand",
        "5 hard disks per worker, intermediate data on one SSD (HS5) with InfiniBand",
    ):
        assert baseline_of(pairs, "layout + network", requested=label) == "HS5 + IB"
    with pytest.raises(SpecificationError, match="no run has"):
        baseline_of(pairs, "layout + network", requested="5 hard disks (HD5) + InfiniBand")
