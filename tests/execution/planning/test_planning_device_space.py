"""Test free space on devices: kept inputs, full devices, refusals, and the time to generate inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.campaign.prepare import plan_lines, prepare
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.device_space import (
    Claims,
    SpaceClaim,
    SpreadBytes,
    claims_of,
    device_usages,
    refusal,
    shortage,
    warnings,
)
from assay.execution.planning.forecast.estimate import (
    JOB_START_S,
    call_overhead_s,
    existing_inputs,
    inputs_s,
    remaining_s,
)
from assay.execution.planning.forecast.forecast import rows
from assay.execution.planning.forecast.inputs import datasets_after, inputs_to_make
from assay.execution.planning.order import PlannedRun, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.model.plans.plan import Plan
from assay.model.runs.run import Run
from assay.store import Repository
from builders import make_run
from cluster_texts import cluster_text

DEVICES = {
    "hdd": "{kind: hdd, count: 2, read: 100MB/s, write: 100MB/s, capacity: 500GB, directories: [/h1, /h2]}",
    "ssd": "{kind: ssd, count: 2, read: 500MB/s, write: 500MB/s, capacity: 240GB, directories: [/s1, /s2]}",
}
HOSTS = cluster_text(DEVICES, header="")
PLAN = """\
plan: p
cluster: cluster.yaml
parameters: {dfs.replication: 2}
workloads:
  - terasort: {data: 100GB}
factors:
  layout: [SSD, SS2]
repetitions: 2
"""
AS_LAB = [
    ("cluster: c\n", "cluster: c\nlab: {scale: 1/20}\n"),
    (", directories: [/h1, /h2]", ""),
    (", directories: [/s1, /s2]", ""),
    (", addresses: [10.0.0.1]", ""),
    ("addresses: [10.0.0.2, 10.0.0.3]", "count: 2"),
]


def lab(hosts: str = HOSTS) -> str:
    for old, new in AS_LAB:
        hosts = hosts.replace(old, new)
    return hosts


def load(folder: Path, plan: str = PLAN, cluster: str = HOSTS) -> Plan:
    (folder / "cluster.yaml").write_text(cluster)
    (folder / "plan.yaml").write_text(plan)
    return load_plan(folder / "plan.yaml")


def runs_of(plan: Plan) -> list[PlannedRun]:
    return schedule(plan, expand(plan))


def kept_on(plan: Plan) -> dict[str, dict[str, float]]:
    devices = device_usages(
        claims_of(plan, runs_of(plan)), {f"{kind}{n}": 1e12 for kind in ("hdd", "ssd") for n in (1, 2)}
    )
    return {device.device: dict(device.stored_bytes) for device in devices}


def test_layouts_that_share_a_device_add_up_on_it(tmp_path: Path) -> None:
    """100 GB in two copies on two workers: 100 GB a worker, all on one SSD, or half on each of two."""
    plan = load(tmp_path)
    capacities = {"hdd1": 1.0, "ssd1": 240e9, "ssd2": 240e9}
    devices = {device.device: device for device in device_usages(claims_of(plan, runs_of(plan)), capacities)}
    assert devices["hdd1"].needed_bytes == 0
    assert devices["ssd1"].stored_bytes == {"SSD": 100e9, "SS2": 50e9}
    assert devices["ssd2"].stored_bytes == {"SS2": 50e9}
    # Two copies of the output, and map output with what reduces fetched of it.
    assert (devices["ssd1"].temporary_description, devices["ssd1"].temporary_bytes) == (
        "terasort on SSD",
        100e9 + 2 * 50e9,
    )
    assert warnings(plan, runs_of(plan))[0] == (
        "no room: ssd1 of a worker would have to hold 350 GB but has 240 GB: inputs that stay take 150 GB (SSD 100 GB, "
        "SS2 50 GB), terasort on SSD up to 200 GB more while it runs"
    )


def test_directories_policies_workers_and_replication_decide_where_data_is_stored(tmp_path: Path) -> None:
    split = "layout: x\nlayouts:\n  x: {hdfs: {hdd1: 1, ssd1: 3}, intermediate: [hdd1]POLICY}\n"
    text = PLAN.replace("factors:\n  layout: [SSD, SS2]\n", split)
    teraread = text.replace("terasort", "teraread")
    assert kept_on(load(tmp_path, teraread.replace("POLICY", ""))) == {
        "hdd1": {"x": 25e9},
        "hdd2": {},
        "ssd1": {"x": 75e9},
        "ssd2": {},
    }
    tiered = load(tmp_path, teraread.replace("POLICY", ", policy: ONE_SSD"))
    assert {name: dict(on) for name, on in kept_on(tiered).items() if on} == {
        "hdd1": {"x.ONE_SSD": 50e9},
        "ssd1": {"x.ONE_SSD": 50e9},
    }
    few = load(tmp_path, PLAN.replace("layout: [SSD, SS2]", "workers: [1, 2]\nlayout: SSD").replace(": 2}", ": 1}"))
    assert kept_on(few)["ssd1"] == {"SSD.1": 100e9, "SSD": 50e9}


def test_an_input_counts_once_for_all_readers_and_so_does_the_output_of_a_write_test(tmp_path: Path) -> None:
    several = PLAN.replace("layout: [SSD, SS2]", "layout: [SSD]\n  containers: [2, 3]").replace(
        "workloads:\n",
        "workloads:\n  - dfsio-write: {data: 12GB}\n  - dfsio-read: {data: 12GB}\n"
        "  - teraread: {data: 100GB}\n  - teravalidate: {data: 100GB}\n",
    )
    plan = load(tmp_path, several)
    runs = runs_of(plan)
    assert {claim.description for claim in claims_of(plan, runs).stored} >= {"teragen's data", "terasort's data"}
    dfsio_bytes = 6 * round(2e9 / 2**20) * 2**20
    assert kept_on(plan)["ssd1"]["SSD"] == pytest.approx(200e9 + dfsio_bytes)
    made = [[kept.name for kept in new] for new in inputs_to_make(runs, plan, ())]
    assert made[:5] == [[], [], ["teragen"], ["terasort"], []]  # dfsio-write's files are there for dfsio-read
    assert not any(made[5:])


def test_hdfs_write_and_terasort_write_their_number_of_copies(tmp_path: Path) -> None:
    once = PLAN.replace("{dfs.replication: 2}", "{dfs.replication: 2, mapreduce.terasort.output.replication: 1}")
    for text in (once, PLAN.replace("terasort", "hdfs-write")):
        plan = load(tmp_path, text)
        passing = claims_of(plan, runs_of(plan)).temporary
        assert [part.bytes for claim in passing for part in claim.hdfs] == [100e9, 100e9]
    plan = load(tmp_path)
    passing = claims_of(plan, runs_of(plan)).temporary
    assert [part.bytes for claim in passing for part in claim.hdfs] == [200e9, 200e9]


def test_intermediate_data_follows_the_rule_of_the_engine(tmp_path: Path) -> None:
    """Hadoop removes an iteration's with its job; Spark's shuffle files stay until the application ends."""
    text = PLAN.replace("terasort: {data: 100GB}", "pagerank: {data: 10GB, iterations: 4}").replace(
        "layout: [SSD, SS2]", "layout: [SSD]\n  engine: [hadoop, spark]"
    )
    plan = load(tmp_path, text)
    directories = {}
    for run in runs_of(plan):
        (claim,) = claims_of(plan, [run]).temporary
        assert claim.intermediate is not None
        written_bytes = sum(part.bytes for part in claim.hdfs) / 2
        directories[run.configuration.engine] = (written_bytes, round(claim.intermediate.bytes / 10e9, 3))
    # On Spark the graph is shuffled once, and 0.45 of it in each iteration; one more of it may be kept on disks.
    assert directories == {"hadoop": (20e9, 2.0), "spark": (10e9, 1 + 4 * 0.45 + 1)}


def test_a_plan_that_must_fail_is_refused_before_it_starts_and_in_a_dry_run(tmp_path: Path) -> None:
    """170 GB in two copies are kept on two disks of 240 GB, and the output takes as much."""
    plan = load(tmp_path, PLAN.replace("100GB", "170GB"))
    repository = Repository.create(tmp_path / "repository")
    with pytest.raises(SpecificationError, match="not fit on its devices: 480 GB on ssd1 of 2") as caught:
        prepare(plan, repository, again=False)
    assert "take 680 GB, all copies and the largest output included" in str(caught.value)
    assert "docs/explanation/campaigns.md says how to remove them" in str(caught.value)
    assert list((tmp_path / "repository").glob("campaigns/*")) == []
    shown = plan_lines(plan, prepare(plan, repository, again=False, write=False), tmp_path)
    assert any(line.startswith("warning: the plan can't be executed: the plan does not fit") for line in shown)
    only = prepare(plan, repository, again=False, only=["layout=SS2"])
    assert only.warnings
    assert len(only.remaining) == 2


def test_a_dry_run_prints_warnings_as_text_and_as_json(tmp_path: Path) -> None:
    load(tmp_path, PLAN.replace("repetitions: 2", "repetitions: 1"))
    arguments = ["run", str(tmp_path / "plan.yaml"), "--dry-run", "--repository", str(tmp_path / "none")]
    assert "warning: no room: ssd1 of a worker would have to hold 350 GB" in CliRunner().invoke(assay, arguments).output
    shown = json.loads(CliRunner().invoke(assay, [*arguments, "--json"]).output)
    assert [words.split()[0] for words in shown["warnings"]] == ["the", "no", "remedies:"]
    assert "YARN gets 1.61 GB of its 16 GB" in shown["warnings"][0]
    assert [run["input_s"] > 0 for run in shown["runs"]] == [True, True]


def test_a_lab_is_checked_against_its_scale_and_this_machine_is_never_refused(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN.replace("100GB", "170GB"), lab())
    assert "24 GB on ssd1 of 2 workers at the lab's scale" in (refusal(plan, runs_of(plan)) or "")
    assert "--only layout=NAME" in warnings(plan, runs_of(plan))[-1]
    local = (
        lab()
        .replace("lab: {scale: 1/20}", "local: {}")
        .replace(
            "  head: {type: worker, roles: [master]}\n  data: {type: worker, roles: [worker], count: 2}",
            "  node: {type: worker, roles: [master, worker]}",
        )
    )
    plan = load(tmp_path, PLAN.replace("100GB", "170GB").replace(": 2}", ": 1}"), local)
    assert refusal(plan, runs_of(plan)) is None
    assert warnings(plan, runs_of(plan))


def test_containers_that_are_stated_are_not_warned_of(tmp_path: Path) -> None:
    plan = load(
        tmp_path, PLAN.replace("dfs.replication: 2", "dfs.replication: 2, containers: 6").replace("100GB", "60GB")
    )
    assert prepare(plan, None, again=False).warnings == ()


def test_fitting_containers_get_no_warning(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN.replace("100GB", "60GB"))
    assert (refusal(plan, runs_of(plan)), warnings(plan, runs_of(plan))) == (None, [])


@st.composite
def placed(draw: st.DrawFn) -> tuple[Claims, dict[str, float]]:
    """Return claims that were cut out of devices with room for them."""
    devices = ["a", "b", "c"]
    free = {(n, name): draw(st.integers(0, 1000)) for n in range(3) for name in devices}
    capacity = {name: float(max(free[n, name] for n in range(3))) for name in devices}
    claims: list[SpaceClaim] = []
    for number in range(draw(st.integers(0, 5))):
        used = draw(st.lists(st.sampled_from(devices), unique=True, min_size=1))
        workers = draw(st.integers(1, 3))
        total = 0
        for worker_device in [(n, name) for n in range(workers) for name in used]:
            taken = draw(st.integers(0, free[worker_device]))
            free[worker_device] -= taken
            total += taken
        claims.append(SpaceClaim(str(number), f"L{number}", workers, (SpreadBytes(dict.fromkeys(used, 1), total),)))
    cut = draw(st.integers(0, len(claims)))
    return Claims(tuple(claims[:cut]), tuple(claims[cut:])), capacity


@given(placed())
def test_nothing_that_can_be_placed_is_refused(case: tuple[Claims, dict[str, float]]) -> None:
    assert shortage(*case) is None


parts = st.builds(
    SpreadBytes, st.dictionaries(st.sampled_from("abc"), st.integers(1, 4), min_size=1), st.integers(0, 10**6)
)
claim_lists = st.lists(
    st.builds(
        SpaceClaim,
        st.just("x"),
        st.sampled_from(["L", "M"]),
        st.integers(1, 4),
        st.lists(parts, max_size=2).map(tuple),
        st.none() | parts,
    ),
    max_size=4,
).map(tuple)


@given(claim_lists, claim_lists, st.dictionaries(st.just("a"), st.integers(1, 10**6), min_size=1))
def test_bytes_are_conserved_and_a_refused_value_has_a_warning(
    stored: tuple[SpaceClaim, ...], passing: tuple[SpaceClaim, ...], capacities_: Mapping[str, int]
) -> None:
    capacities = {name: float(capacities_["a"] + 7 * index) for index, name in enumerate("abc")}
    claims = Claims(stored, passing)
    devices = device_usages(claims, capacities)
    both = [(claim, [*claim.hdfs, *([claim.intermediate] if claim.intermediate else [])]) for claim in stored]
    staying = sum(part.bytes / claim.workers for claim, parts_ in both for part in parts_)
    assert sum(sum(device.stored_bytes.values()) for device in devices) == pytest.approx(staying)
    if shortage(claims, capacities):
        assert any(device.needed_bytes > device.capacity_bytes * (1 - 1e-9) for device in devices)


def test_the_first_run_on_each_file_system_is_expected_to_make_its_input(tmp_path: Path) -> None:
    """200 GB on two workers' SSDs at half of 500 MB/s each take 400 s, on two SSDs each 200 s."""
    plan = load(tmp_path)
    runs = runs_of(plan)
    took_s = dict.fromkeys(("SSD", "SS2"), 0.0)
    for run, making_s in zip(runs, inputs_s(runs, plan, ()), strict=True):
        took_s[run.configuration.layout.name] += making_s
    assert took_s == pytest.approx({"SSD": JOB_START_S + 400, "SS2": JOB_START_S + 200})
    todo = prepare(plan, None, again=False, write=False)
    listed = rows(plan, todo, [], 0.0)
    assert [row.input_s > 0 for row in listed] == [True, True, False, False]
    assert listed[0].starts_after_s == call_overhead_s(plan)
    assert todo.expected_s == pytest.approx(listed[-1].starts_after_s + listed[-1].expected_s)
    without_s = remaining_s(runs, plan, [], existing_keys=_all_of(runs, plan))
    assert todo.expected_s == pytest.approx(call_overhead_s(plan) + without_s + sum(took_s.values()))


def _all_of(runs: list[PlannedRun], plan: Plan) -> set[tuple[str, str]]:
    return {kept.key for run in runs for kept in datasets_after(run, plan)}


def test_existing_inputs_are_not_generated_again_except_in_a_lab(tmp_path: Path) -> None:
    plan = load(tmp_path)
    runs = runs_of(plan)
    past = [_past(run, plan) for run in runs if run.configuration.layout.name == "SSD"]
    assert {where for where, _ in existing_inputs(runs, plan, past)} == {"SSD"}
    on_lab = load(tmp_path, cluster=lab())
    like = [replace(run, lab_scale=0.05, data_bytes=5 * 10**9) for run in past]
    assert existing_inputs(runs_of(on_lab), on_lab, like) == frozenset()


def _past(planned: PlannedRun, plan: Plan) -> Run:
    return make_run(
        cluster=plan.cluster.name,
        lab_scale=None,
        workload=planned.workload.key,
        workload_parameters={"program": planned.workload.name, **planned.workload.parameters},
        layout=planned.configuration.layout.name,
        levels=dict(planned.configuration.levels),
        parameters=dict(planned.configuration.parameters),
        data_bytes=100 * 10**9,
    )
