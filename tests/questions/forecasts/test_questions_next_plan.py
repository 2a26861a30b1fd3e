"""Test the plan of the next runs: executable, exactly the proposed combinations, and omissions."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.execution.planning.expansion import expand
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import checked_plan, load_plan
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.questions.forecasts.next_plan import next_plan
from assay.store import Repository
from assay.store.bundles.ids import new_run_id
from assay.store.campaigns.journal import create_campaign
from builders import make_run
from paths import ROOT

BASE = ROOT / "examples" / "bsc-2015" / "plan.yaml"
LAB = ROOT / "examples" / "bsc-2015" / "quick-containers.yaml"


def runs_of(path: Path) -> set[tuple[str, ...]]:
    plan = load_plan(path)
    return {(run.workload.key, *run.configuration.levels.values()) for run in schedule(plan, expand(plan))}


def test_a_plan_runs_only_the_combinations_that_it_names(tmp_path: Path) -> None:
    text = LAB.read_text().replace("lab-cluster.yaml", str(LAB.parent / "lab-cluster.yaml"))
    path = tmp_path / "plan.yaml"
    path.write_text(f"{text}only:\n  - {{layout: HDD, containers: 4}}\n  - {{containers: 2, workload: terasort}}\n")
    assert runs_of(path) == {("terasort", "HDD", "4"), ("terasort", "HDD", "2"), ("terasort", "HD5", "2")}
    plan = load_plan(path)
    assert checked_plan(plan).fingerprint == plan.fingerprint != load_plan(LAB).fingerprint
    path.write_text(f"{text}only:\n  - {{layout: HDX}}\n  - {{disks: 1}}\n")
    with pytest.raises(SpecificationError, match=r"level of layout 'HDX'(.|\n)*factor 'disks'"):
        load_plan(path)


def compressed(switch: str, codec: str) -> dict[str, str]:
    classes = {"mapreduce.map.output.compress.codec": f"org.apache.hadoop.io.compress.{codec}Codec"}
    return {"mapreduce.map.output.compress": switch, **classes}


def test_configurations_become_a_plan_by_the_names_that_plans_use() -> None:
    made = next_plan(
        [
            {
                "workload": "dfsioe_read",
                "cluster": "m1000-01",
                "layout": "HDD",
                "mapreduce.tasktracker.map.tasks.maximum": "8",
                "mapreduce.map.output.compress": "true",
                "mapreduce.map.output.compress.codec": "org.apache.hadoop.io.compress.SnappyCodec",
                "dfs.blocksize": "none",
            },
            {
                "workload": "terasort",
                "cluster": "m1000-01",
                "layout": "SSD",
                "mapreduce.tasktracker.map.tasks.maximum": "16",
                "mapreduce.map.output.compress": "false",
            },
            {"workload": "pagerank", "layout": "SSD"},
            {"workload": "terasort", "layout": "SSD", "mapreduce.map.output.compress.codec": "com.hadoop.LzoCodec"},
            {"workload": "terasort", "layout": "RR9"},
        ],
        load_plan(BASE),
    )
    assert made.runs == 2
    assert made.plan.only == (
        {"workload": "dfsioe-read", "layout": "HDD", **compressed("true", "Snappy"), "containers": "8"},
        {"workload": "terasort", "layout": "SSD", **compressed("false", "Default"), "containers": "16"},
    )
    assert sorted(made.left_out) == [
        "bsc-2015 has no layout RR9",
        "stock Hadoop has no codec LzoCodec",
        "the plan bsc-2015 has no workload pagerank",
    ]
    assert any("chosen for m1000-01" in words for words in made.notices)


def test_impossible_configurations_are_omitted_and_an_empty_rest_is_an_error() -> None:
    fits = {"workload": "terasort", "layout": "HDD", "containers": "2"}
    made = next_plan([fits, {**fits, "containers": "900"}], load_plan(LAB))
    assert made.runs == 1
    assert "a worker has" in " ".join(made.left_out)
    with pytest.raises(SpecificationError, match="none of these configurations"):
        next_plan([{"workload": "sleep"}], load_plan(LAB))


@pytest.mark.slow
def test_next_writes_a_plan_that_run_takes(tmp_path: Path) -> None:
    plan = load_plan(LAB)
    repository = Repository.create(tmp_path / "repository")
    campaign = create_campaign(repository.folders.campaigns, plan, 4)
    levels = itertools.product(("HDD", "HD5"), (1, 2, 3, 4), (4, 8, 16))
    for layout, containers, sort in itertools.islice(levels, 0, 23):
        repository.publish(
            make_run(
                run_id=new_run_id(),
                campaign_id=campaign.campaign_id,
                cluster=plan.cluster.name,
                workload="terasort",
                layout=layout,
                levels={"layout": layout, "containers": str(containers), "mapreduce.task.io.sort.mb": str(sort)},
                parameters={"mapreduce.task.io.sort.mb": str(sort)},
                duration_s=100.0 / containers + sort + 50 * (layout == "HDD"),
            )
        )
    out = tmp_path / "next.yaml"
    arguments = ["next", "--budget", "1runs", "-o", str(out), "--repository", str(tmp_path / "repository")]
    done = CliRunner().invoke(assay, arguments)
    assert done.exit_code == 0, done.output
    assert runs_of(out) == {("terasort", "HD5")}  # what is alike in all is no factor
    assert load_plan(out).parameters["containers"] == "4"
    assert load_plan(out).parameters["mapreduce.task.io.sort.mb"] == "16"
    assert (tmp_path / "next-cluster.yaml").read_text() == plan.cluster_source
    dry = CliRunner().invoke(assay, ["run", str(out), "--dry-run", "--repository", str(tmp_path / "none")])
    assert "1 configuration " in dry.output
    refused = CliRunner().invoke(
        assay, ["next", "--budget", "1runs", "--like", str(LAB), "--repository", str(tmp_path)]
    )
    assert isinstance(refused.exception, SpecificationError)
