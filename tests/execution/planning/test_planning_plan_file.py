"""Test plan files: workloads, factors, layouts, expansion, fingerprint, errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.execution.planning.expansion import expand, workload_option
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.plan import Plan, WorkloadSpec
from assay.workloads.catalogue import workloads
from cluster_texts import HDD, SSD, cluster_text

CLUSTER = cluster_text({"hdd": HDD, "ssd": SSD})
PLAN = """\
plan: p
cluster: cluster.yaml
parameters: {dfs.replication: 3, dfs.blocksize: 64MiB, mapreduce.job.reduce.slowstart.completedmaps: 0.80}
workloads:
  - dfsio-write: {files: 6, data: 6GB}
  - terasort: {data: 10GB, reduces: 6}
  - terasort: {data: 1GB, label: small}
factors:
  layout: [HD2, SS2, split]
  dfs.blocksize: [32MiB, 128MiB]
  terasort.reduces: [3, 6]
layouts:
  split: {hdfs: [hdd1, hdd2], intermediate: {ssd1: 10}}
"""


def load(folder: Path, text: str) -> Plan:
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "plan.yaml").write_text(text)
    return load_plan(folder / "plan.yaml")


def refusal(folder: Path, text: str) -> list[str]:
    with pytest.raises(SpecificationError) as caught:
        load(folder, text)
    return str(caught.value).replace(f"{folder}/", "").split("\n")


def test_a_plan_holds_what_its_file_says_and_the_defaults(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN)
    assert (plan.name, plan.engine, plan.cluster.name) == ("p", "hadoop", "c")
    assert (plan.repetitions, plan.seed, plan.timeout_s, plan.attempts) == (3, 1, None, 7)
    assert plan.retries == {"infrastructure": 3, "engine": 2, "workload": 1, "validation": 0}
    assert plan.parameters == {
        "dfs.replication": "3",
        "dfs.blocksize": "64MiB",
        "mapreduce.job.reduce.slowstart.completedmaps": "0.80",
    }
    assert plan.workloads[0] == WorkloadSpec("dfsio-write", 6_000_000_000, {"files": "6"})
    assert plan.workloads[2] == WorkloadSpec("terasort", 1_000_000_000, {}, "small")
    assert plan.layouts["HD2"].hdfs == (Directories("hdd1"), Directories("hdd2"))
    assert plan.layouts["split"] == Layout("split", plan.layouts["HD2"].hdfs, (Directories("ssd1", 10),))
    assert plan.source == PLAN


def test_the_options_that_burn_cpu_take_0_as_option_and_as_level(tmp_path: Path) -> None:
    text = PLAN.replace("terasort: {data: 10GB, reduces: 6}", "shuffle: {data: 1GB, maps: 2, map_burn_ms: 0}")
    text = text.replace("terasort.reduces: [3, 6]", "shuffle.reduce_burn_ms: [0, 2000]")
    plan = load(tmp_path, text)
    assert plan.workloads[1] == WorkloadSpec("shuffle", 1_000_000_000, {"maps": "2", "map_burn_ms": "0"})
    assert [factor.levels for factor in plan.factors if "burn" in factor.name] == [("0", "2000")]
    (first, *_) = refusal(tmp_path, text.replace("[0, 2000]", "[-1, 2000]"))
    assert first.endswith("'-1' is not a whole number from 0 to 1000000000")
    (first, *_) = refusal(tmp_path, text.replace("maps: 2, ", "maps: 0, "))
    assert first.endswith("'0' is not a whole number from 1 to 1000000000")


def test_expansion_is_every_combination_in_the_plans_order(tmp_path: Path) -> None:
    configurations = expand(load(tmp_path, PLAN))
    assert [configuration.key for configuration in configurations[:4]] == [
        "layout=HD2 dfs.blocksize=32MiB terasort.reduces=3",
        "layout=HD2 dfs.blocksize=32MiB terasort.reduces=6",
        "layout=HD2 dfs.blocksize=128MiB terasort.reduces=3",
        "layout=HD2 dfs.blocksize=128MiB terasort.reduces=6",
    ]
    assert len({configuration.key for configuration in configurations}) == 3 * 2 * 2
    last = configurations[-1]
    assert last.layout.name == "split"
    assert last.parameters["dfs.blocksize"] == "128MiB", "a factor overrides the plan's parameter"
    assert last.parameters["dfs.replication"] == "3"
    assert "terasort.reduces" not in last.parameters, "a workload's option is no engine parameter"
    assert last.levels["terasort.reduces"] == "6"


def test_a_plan_that_does_not_vary_the_layout_has_it_as_a_factor_with_one_level(tmp_path: Path) -> None:
    plan = load(
        tmp_path, PLAN.replace("  layout: [HD2, SS2, split]\n", "").replace("layouts:", "layout: SSD\nlayouts:")
    )
    assert (plan.factors[0].name, plan.factors[0].levels) == ("layout", ("SSD",))
    assert list(plan.layouts) == ["SSD"]
    assert {configuration.layout.name for configuration in expand(plan)} == {"SSD"}


def test_a_factor_finds_its_workload_by_label_or_name(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN)
    assert workload_option("terasort.reduces", plan.workloads) == (plan.workloads[1], "reduces")
    assert workload_option("small.data", plan.workloads) == (plan.workloads[2], "data")
    assert workload_option("dfs.blocksize", plan.workloads) is None
    assert workload_option("layout", plan.workloads) is None


SAME = [
    ("plan: p", "# a comment\nplan:   'p'"),
    ("plan: p", "plan: other"),
    ("{dfs.replication: 3, dfs.blocksize: 64MiB,", "{dfs.blocksize: 64MiB, dfs.replication: '3',"),
    ("data: 10GB", "data: 10000MB"),
    ("layouts:", "timeout: 5min\nattempts: 1\nretries: {engine: 5}\nrepetitions: 3\nlayouts:"),
    ("layouts:", "layouts:\n  unused: {hdfs: [ssd1], intermediate: [ssd1]}"),
]
OTHER = [
    ("data: 10GB", "data: 11GB"),
    ("reduces: 6", "reduces: 7"),
    ("dfs.replication: 3", "dfs.replication: 2"),
    ("[HD2, SS2, split]", "[SS2, HD2, split]"),
    ("ssd1: 10", "ssd1: 9"),
    ("layouts:", "repetitions: 4\nlayouts:"),
    ("layouts:", "seed: 2\nlayouts:"),
    ("label: small", "label: tiny"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_form_names_and_limits_do_not_change_the_fingerprint(tmp_path: Path, old: str, new: str) -> None:
    assert old in PLAN
    assert load(tmp_path, PLAN.replace(old, new)).fingerprint == load(tmp_path, PLAN).fingerprint


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_everything_that_decides_the_runs_changes_the_fingerprint(tmp_path: Path, old: str, new: str) -> None:
    assert old in PLAN
    assert load(tmp_path, PLAN.replace(old, new)).fingerprint != load(tmp_path, PLAN).fingerprint


def test_the_cluster_counts_in_the_fingerprint_but_its_prices_do_not(tmp_path: Path) -> None:
    before = load(tmp_path, PLAN).fingerprint
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("480GB", "480GB, price: $400"))
    assert load_plan(tmp_path / "plan.yaml").fingerprint == before
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("read: 500MB/s", "read: 400MB/s"))
    assert load_plan(tmp_path / "plan.yaml").fingerprint != before


def test_how_hosts_are_logged_in_to_does_not_count_but_which_hosts_does(tmp_path: Path) -> None:
    hosts = CLUSTER.replace("lab: {scale: 1/20}\n", "").replace("count: 3", "addresses: [b, c, e]")
    hosts = hosts.replace("roles: [master]", "roles: [master], addresses: [a]")
    hosts = hosts.replace("500GB", "500GB, directories: [/h1, /h2]").replace("480GB", "480GB, directories: [/s1, /s2]")
    (tmp_path / "plan.yaml").write_text(PLAN)

    def fingerprint(cluster: str) -> str:
        (tmp_path / "cluster.yaml").write_text(cluster)
        return load_plan(tmp_path / "plan.yaml").fingerprint

    assert fingerprint(hosts + "ssh: {user: somebody, key: a, port: 2022}\n") == fingerprint(hosts)
    assert fingerprint(hosts + "home: /opt/assay\n") == fingerprint(hosts)
    assert fingerprint(hosts.replace("[b, c, e]", "[b, c, d]")) != fingerprint(hosts)


def test_hdfs_keeps_as_many_copies_as_the_cluster_can_hold_up_to_three(tmp_path: Path) -> None:
    silent = PLAN.replace("dfs.replication: 3, ", "")
    assert load(tmp_path, silent).parameters["dfs.replication"] == "3"
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("count: 3", "count: 2"))
    assert load_plan(tmp_path / "plan.yaml").parameters["dfs.replication"] == "2"


FITTING = "HDD, HD2, SSD, SS2, HS1, HS2, SH1, SH2, HY1, HY2"
MISTAKES = [
    (
        "[HD2, SS2, split]",
        "[HD2, SS4]",
        f"plan.yaml:9: layout 'SS4' asks for 4 SSDs per node, but node type 'worker' has 2; codes that fit: {FITTING}",
    ),
    (
        "[HD2, SS2, split]",
        "[HD2, NVE]",
        "plan.yaml:9: layout 'NVE' asks for 1 NVMe device per node, but node type 'worker' has none; "
        f"codes that fit: {FITTING}",
    ),
    (
        "[HD2, SS2, split]",
        "[HD2,\n   HS3]",
        f"plan.yaml:10: layout 'HS3' asks for 3 HDDs per node, but node type 'worker' has 2; codes that fit: {FITTING}",
    ),
    (
        "[HD2, SS2, split]",
        "[HD2, splt]",
        f"plan.yaml:9: unknown layout 'splt'; did you mean 'split'? valid: split, {FITTING}",
    ),
    ("[HD2, SS2, split]", "[HD2, HD2]", "plan.yaml:9: layout: level 'HD2' is given twice"),
    ("[HD2, SS2, split]", "[]", "plan.yaml:9: layout: at least one entry is needed"),
    (
        "layouts:",
        "until: {half_width: 5%, at_most: 2}\nlayouts:",
        "plan.yaml:12: at_most is 2, less than the 3 repetitions",
    ),
    (
        "layouts:",
        "until: {half_width: 0%}\nlayouts:",
        "plan.yaml:12: half_width must be above 0 %: a mean is never exact",
    ),
    (
        "dfs.replication: 3",
        "dfs.replication: 4",
        "plan.yaml:3: dfs.replication: 4 copies need 4 workers, but the cluster has 3",
    ),
    (
        "dfs.replication: 3",
        "dfs.replication: all",
        "plan.yaml:3: dfs.replication: 'all' is not a number of copies: write 1, 2, 3, …",
    ),
    (
        "[32MiB, 128MiB]",
        "[32MiB,\n   100kB]",
        "plan.yaml:11: dfs.blocksize: 100kB is not a block size: HDFS accepts multiples of 512 bytes, at least 1 MiB",
    ),
    ("[HD2, SS2, split]", "HD2", "plan.yaml:9: layout: a list is expected here, such as [a, b]"),
    (
        "  layout: [HD2, SS2, split]\n",
        "",
        f"plan.yaml:1: the plan needs a layout: as a factor, or 'layout: NAME'; valid: split, {FITTING}",
    ),
    (
        "layouts:",
        "layout: HD2\nlayouts:",
        "plan.yaml:12: layout is a factor of this plan; remove this key or the factor",
    ),
    (
        "{ssd1: 10}",
        "{ssd9: 10}",
        "plan.yaml:13: layout 'split', intermediate: unknown device 'ssd9'; did you mean 'ssd2'? "
        "valid: hdd1, hdd2, ssd1, ssd2",
    ),
    ("{ssd1: 10}", "{ssd1: 0}", "plan.yaml:13: intermediate: '0' is not a whole number from 1 to 1000"),
    ("[hdd1, hdd2]", "[hdd1, hdd1]", "plan.yaml:13: hdfs: device 'hdd1' is given twice"),
    ("  split:", "  SS1:", "plan.yaml:13: 'SS1' is a layout code; choose another name"),
    (
        "- dfsio-write:",
        "- dfsio-wirte:",
        f"plan.yaml:5: unknown key 'dfsio-wirte'; did you mean 'dfsio-write'? valid: {', '.join(workloads())}",
    ),
    (
        "- dfsio-write: {files: 6, data: 6GB}",
        "- dfsio-write",
        f"plan.yaml:5: workloads: keys with values are expected here; valid: {', '.join(workloads())}",
    ),
    (
        "- dfsio-write: {files: 6, data: 6GB}",
        "- {dfsio-write: {data: 6GB}, teragen: {data: 6GB}}",
        f"plan.yaml:5: workloads: each list item names one workload; valid: {', '.join(workloads())}",
    ),
    ("files: 6, data: 6GB", "files: 6", "plan.yaml:5: dfsio-write: data is missing: write data or data_per_node"),
    (
        "files: 6, data: 6GB",
        "reduces: 6, data: 6GB",
        "plan.yaml:5: unknown key 'reduces'; valid: data, data_per_node, waves, label, files",
    ),
    ("data: 6GB", "data: 6", 'plan.yaml:5: data: \'6\' is not a size; write "64GB", "128MiB" or "512B"'),
    (", label: small", "", "plan.yaml:7: workload 'terasort' is given twice; give each a label"),
    ("label: small", "label: wordcount", "plan.yaml:7: label 'wordcount' is the name of another workload"),
    (
        "terasort.reduces: [3, 6]",
        "small.reducess: [3, 6]",
        "plan.yaml:11: small.reducess: no configuration file of Hadoop has this parameter: its parameters start with "
        "fs., hadoop., ipc., io., dfs., yarn.scheduler.capacity., mapreduce., yarn.app.mapreduce., yarn.",
    ),
    (
        "terasort.reduces: [3, 6]",
        "terasort.reduces: [3, many]",
        "plan.yaml:11: terasort.reduces: 'many' is not a whole number from 1 to 1000000000",
    ),
    (
        "terasort.reduces: [3, 6]",
        "terasort.data: [3GB, 6]",
        'plan.yaml:11: terasort.data: \'6\' is not a size; write "64GB", "128MiB" or "512B"',
    ),
    (
        "terasort.reduces:",
        "terasort.files:",
        "plan.yaml:11: unknown option of terasort 'files'; valid: data, data_per_node, waves, maps, reduces",
    ),
    (
        "terasort.reduces:",
        "wordcount.reduces:",
        "plan.yaml:11: the plan has no workload 'wordcount'; it has dfsio-write, terasort, small",
    ),
    (
        "terasort.reduces:",
        "reduces:",
        "plan.yaml:11: unknown factor 'reduces'; valid: layout, engine, network, workers, containers, compression, "
        "profile, an engine parameter such as dfs.blocksize, WORKLOAD.option such as terasort.reduces, or a name of "
        "your own with levels that set several of these",
    ),
    (
        "dfs.replication: 3",
        "dfs.replication: [3]",
        "plan.yaml:3: dfs.replication: one value is expected here, not a list",
    ),
    (
        "dfs.replication: 3",
        "replication: 3",
        "plan.yaml:3: replication: 'replication' is not an engine parameter; write words joined by dots, or one of "
        "network, workers, containers, compression, profile",
    ),
    ("cluster: cluster.yaml", "cluster: clutser.yaml", "plan.yaml:2: cluster: clutser.yaml: there is no such file"),
    (
        "layouts:",
        "engine: spork\nlayouts:",
        "plan.yaml:12: engine: unknown engine 'spork'; did you mean 'spark'? valid: hadoop, spark",
    ),
    (
        "layouts:",
        "timeout: 10\nlayouts:",
        'plan.yaml:12: timeout: \'10\' is not a duration; write "30s", "5min", "2h", "1d" or "3y"',
    ),
    (
        "layouts:",
        "repititions: 3\nlayouts:",
        "plan.yaml:12: unknown key 'repititions'; did you mean 'repetitions'? "
        "valid: plan, cluster, engine, parameters, workloads, factors, only, layouts, layout, repetitions, until, "
        "seed, timeout, attempts, retries",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES, ids=[case[2][10:60] for case in MISTAKES])
def test_a_mistake_is_named_with_file_line_and_choices(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in PLAN
    assert expected in refusal(tmp_path, PLAN.replace(old, new, 1))


def test_a_mistake_in_the_cluster_file_is_reported_there(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("16GB", "16"))
    with pytest.raises(SpecificationError) as caught:
        load_plan(tmp_path / "plan.yaml")
    assert caught.value.where == f"{tmp_path / 'cluster.yaml'}:6"


def test_a_plan_of_too_many_configurations_is_refused(tmp_path: Path) -> None:
    levels = ", ".join(str(number) for number in range(1, 101))
    factors = "\n".join(f"  dfs.b{index}: [{levels}]" for index in range(3))
    lines = refusal(tmp_path, PLAN.replace("factors:", f"factors:\n{factors}"))
    assert lines == ["plan.yaml:8: the levels combine to 12,000,000 configurations; at most 10,000 are possible"]
