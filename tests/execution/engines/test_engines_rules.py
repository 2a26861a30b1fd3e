"""Test engines at plan time: lookup by name, without imports of modules that access hosts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.configuration import properties
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.model.clusters.cluster import Attachment, Placement
from assay.model.plans.configuration import Configuration
from campaign_support import write_local_plan
from engine_samples import CLUSTER, HYBRID, deployment
from program import called as assay

RULES = engine_kind("hadoop").rules
BASE = Configuration({}, HYBRID, {"dfs.replication": "2"})


def test_an_unknown_engine_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SpecificationError, match=r"unknown engine 'hadop'; did you mean 'hadoop'\? valid: hadoop"):
        engine_kind("hadop")


def test_rules_are_asked_without_reaching_for_hosts_or_arrays() -> None:
    loaded = "sorted({'asyncio', 'asyncssh', 'numpy'} & set(sys.modules))"
    script = f"import sys, assay.execution.engines.catalogue; print(*{loaded})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_default_is_listed_once_with_its_reason_and_set_on_the_nodes() -> None:
    assert len({default.name for default in RULES.defaults}) == len(RULES.defaults)
    set_there = properties(deployment(), CLUSTER.master)
    for default in RULES.defaults:
        assert len(default.reason) > 15
        assert default.name in set_there


def test_configurations_share_daemons_and_file_systems_as_far_as_jobs_carry_what_differs() -> None:
    carried = replace(BASE, parameters={**BASE.parameters, "mapreduce.task.io.sort.mb": "9"})
    daemons = replace(BASE, parameters={**BASE.parameters, containers.NODE_MEMORY: "2048"})
    fewer, all_of_them = replace(BASE, workers=1), replace(BASE, workers=len(CLUSTER.workers))
    key = RULES.deployment_key(BASE, CLUSTER)
    assert key == RULES.deployment_key(carried, CLUSTER) == RULES.deployment_key(all_of_them, CLUSTER)
    assert key != RULES.deployment_key(daemons, CLUSTER)
    assert key != RULES.deployment_key(fewer, CLUSTER)
    file_system = RULES.file_system(BASE, CLUSTER)
    assert file_system == RULES.file_system(daemons, CLUSTER)
    assert file_system != RULES.file_system(fewer, CLUSTER)
    assert RULES.job_can_set("mapreduce.task.io.sort.mb")
    assert not RULES.job_can_set(containers.NODE_MEMORY)


def test_short_setting_names_become_engine_parameters() -> None:
    parameters = RULES.parameters(
        {"containers": "3", "compression": "snappy", "profile": "cpu", "dfs.replication": "2"}
    )
    targets = {name for names in RULES.shorthands.values() for name in names}
    assert set(parameters) == {*targets, "dfs.replication"}
    assert containers.containers_per_node(parameters, containers.MAP_MEMORY) == 3
    assert not [*RULES.mistakes(parameters, CLUSTER, len(CLUSTER.workers))]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dfs.replication", "0", "not a number of copies"),
        ("dfs.replication", "99", "the cluster has"),
        ("dfs.blocksize", "1000", "not a block size"),
        ("containers", "0", "0"),
        ("compression", "zip", "unknown compression 'zip'"),
    ],
)
def test_an_impossible_setting_is_reported_alone(name: str, value: str, words: str) -> None:
    assert words in (RULES.setting_mistake(name, value, CLUSTER) or "")


def test_a_mistake_names_the_setting_as_the_plan_wrote_it() -> None:
    much = {containers.NODE_MEMORY: "9999999"}
    [by_word] = RULES.mistakes(much, CLUSTER, 1, ("containers",))
    [by_name] = RULES.mistakes(much, CLUSTER, 1)
    assert by_word.reason.startswith("containers: ")
    assert by_name.reason.startswith(containers.NODE_MEMORY)
    assert by_word.names == by_name.names == (containers.NODE_MEMORY,)


def test_defaults_of_assay_are_not_checked_against_containers_of_an_external_cluster() -> None:
    """Their heap is not the lab's: a sort buffer that would not fit into that may well fit into theirs."""
    theirs = replace(CLUSTER, attached=Attachment("node", "hadoop", "/conf", "q", "/user/me/assay"))
    parameters = {"mapreduce.task.io.sort.mb": "512", "dfs.replication": "1"}
    assert [*RULES.mistakes(parameters, CLUSTER, 1)]
    assert not [*RULES.mistakes(parameters, theirs, 1)]
    assert [*RULES.mistakes({"dfs.replication": "9"}, theirs, 1)]
    assert RULES.warnings({}, replace(theirs, placement=Placement.SSH)) == ()


@pytest.mark.parametrize("engine", ["hadoop", "spark"])
def test_options_of_workloads_can_vary_on_an_attached_cluster(tmp_path: Path, engine: str) -> None:
    body = "layout: SSD\nworkloads: [shuffle: {data: 1MB}]\nfactors: {shuffle.reduce_burn_ms: [0, 2000]}\n"
    path = write_local_plan(tmp_path, "attached", body)
    path.write_text(path.read_text().replace("engine: hadoop", f"engine: {engine}"))
    cluster = tmp_path / "cluster.yaml"
    attached = "provider: attached\nattached: {queue: default, directory: /user/me/assay}\n"
    cluster.write_text(cluster.read_text() + attached)
    assert load_plan(path).factors[-1].levels == ("0", "2000")


@pytest.mark.parametrize(
    ("engine", "varied", "words"),
    [
        ("spark", "spark.master: [yarn, standalone]", "spark.master is set by the cluster file"),
        ("spark", "layout: [SSD, two]", "layout needs daemons to be restarted or reconfigured"),
        ("hadoop", "containers: [2, 4]", "containers configures daemons, which are externally managed"),
        ("hadoop", "dfs.datanode.handler.count: [10, 20]", "dfs.datanode.handler.count configures daemons"),
        ("hadoop", "layout: [SSD, two]", "layout needs daemons to be restarted or reconfigured"),
    ],
)
def test_factors_an_attached_cluster_cannot_vary_are_refused_before_hosts_are_contacted(
    tmp_path: Path, engine: str, varied: str, words: str
) -> None:
    layout = "layouts: {two: {hdfs: {ssd1: 2}, intermediate: [ssd1]}}\n" if "two" in varied else ""
    body = f"{layout}workloads: [terasort: {{data: 1MB}}]\n" + (f"factors: {{{varied}}}\n" if varied else "")
    body = body if "layout: [" in varied else f"layout: SSD\n{body}"
    path = write_local_plan(tmp_path, "attached", body)
    path.write_text(path.read_text().replace("engine: hadoop", f"engine: {engine}"))
    cluster = tmp_path / "cluster.yaml"
    before = load_plan(path).fingerprint
    cluster.write_text(cluster.read_text() + "provider: deployed\n")
    assert load_plan(path).fingerprint == before, "what campaigns are found by stays as it was"
    attached = "provider: attached\nattached: {queue: default, directory: /user/me/assay}\n"
    cluster.write_text(cluster.read_text().replace("provider: deployed\n", attached))
    done = assay("run", path, "--repository", tmp_path / "repository")
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "repository").exists()
