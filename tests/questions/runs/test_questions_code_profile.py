"""Test ``assay profile``: phases, attempts, runs without a profile, and the former meaning of the command."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import FormatError
from assay.interfaces.cli.main import assay
from assay.model import Executor
from assay.questions.runs.code_profiles.code_profile import CodeProfileRequest, code_profile
from assay.store import Repository
from builders import build_repository, make_run

RECORDED = Path(__file__).parents[2] / "data" / "profiles" / "terasort-merge.collapsed.gz"
FACTS = {"kind": "cpu", "method": "async-profiler 4.6, ctimer", "reason": "no perf_events", "interval_ms": 10}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    store = Repository.create(tmp_path / "repository")
    merge = gzip.decompress(RECORDED.read_bytes())
    logs = {
        "profiles/attempt_1.merge.collapsed": merge,
        "profiles/attempt_1.reduce.collapsed": b"a;com/example/Join.reduce 30\nno stack\n",
        "profiles/attempt_2.unknown.collapsed": b"a;b 5\n",
        "profiles/attempt_1.jfr": b"FLR",
    }
    spark = {
        "profiles/executor-1.stage-0.collapsed": b"a;b 7\n",
        "profiles/executor-1.stage-0+1.collapsed": b"a;c 2\n",
        "profiles/executor-2.stage-1.collapsed": b"a;c 4\n",
        "profiles/driver.no-stage.collapsed": b"d 1\n",
    }
    run = make_run(1)
    store.publish(replace(run, environment={**run.environment, "profile": FACTS}), logs=logs)
    store.publish(make_run(2))
    executors = tuple(Executor(str(number), f"worker{number}", 2, 1, 1.0, 0.0, 0, 0, None) for number in (1, 2))
    third = make_run(3)
    store.publish(replace(third, executors=executors, environment={**third.environment, "profile": FACTS}), logs=spark)
    return store


def test_counts_of_all_phases_and_the_share_in_a_named_phase(repository: Repository) -> None:
    answer = code_profile(repository, make_run(1).run_id)
    assert answer.phases == (("merge", 65), ("reduce", 30), ("unknown", 5))
    assert (answer.total, answer.named_share, answer.skipped_lines) == (100, 0.95, 1)
    assert (answer.method, answer.reason) == ("async-profiler 4.6, ctimer", "no perf_events")


def test_one_phase_or_attempt_is_chosen_and_a_wrong_choice_lists_the_right_ones(repository: Repository) -> None:
    answer = code_profile(repository, make_run(1).run_id, CodeProfileRequest(phase="reduce"))
    assert (answer.total, answer.categories[0].category) == (30, "user code")
    assert code_profile(repository, make_run(1).run_id, CodeProfileRequest(attempt="attempt_2")).total == 5
    with pytest.raises(FormatError) as error:
        code_profile(repository, make_run(1).run_id, CodeProfileRequest(phase="map"))
    assert "merge, reduce, unknown" in str(error.value.hint)


def test_daemons_are_processes_and_no_phases_of_the_job(repository: Repository) -> None:
    logs = {
        "profiles/attempt_1.map.collapsed": b"a;b 6\n",
        "profiles/attempt_2.unknown.collapsed": b"a;b 2\n",
        "profiles/datanode-worker1.datanode.collapsed": b"a;org/apache/hadoop/hdfs/server/datanode/Sender.send 3\n",
        "profiles/datanode-worker2.datanode.collapsed": b"a;b 1\n",
        "profiles/nodemanager-worker1.nodemanager.collapsed": b"a;c 4\n",
    }
    executor = Executor("1", "worker1", 2, 1, 1.0, 0.0, 0, 0, None)
    run = make_run(4)
    repository.publish(
        replace(run, executors=(executor,), environment={**run.environment, "profile": FACTS}), logs=logs
    )
    answer = code_profile(repository, run.run_id)
    assert answer.processes == (("job", 8), ("datanode", 4), ("nodemanager", 4))
    assert (answer.total, answer.named_share) == (16, 0.75)
    datanodes = code_profile(repository, run.run_id, CodeProfileRequest(process="datanode"))
    assert (datanodes.total, datanodes.categories[0].category, datanodes.named_share) == (4, "HDFS server", 0)
    assert code_profile(repository, run.run_id, CodeProfileRequest(process="job")).attempts == (
        "attempt_1",
        "attempt_2",
    )
    assert code_profile(repository, run.run_id, CodeProfileRequest(node="worker1")).total == 7
    command = ["profile", run.run_id, "--repository", str(repository.root)]
    assert "processes: job 8, datanode 4, nodemanager 4" in CliRunner().invoke(assay, command).output
    printed = CliRunner().invoke(assay, [*command, "--process", "nodemanager"]).output
    assert "4 samples of 10 ms: nodemanager 4\n" in printed


def test_a_stage_has_the_samples_of_all_parts_in_which_it_ran(repository: Repository) -> None:
    run_id = make_run(3).run_id
    totals = [code_profile(repository, run_id, CodeProfileRequest(stage=number)).total for number in (0, 1)]
    assert totals == [9, 6]
    assert code_profile(repository, run_id, CodeProfileRequest(node="worker2")).total == 4
    assert code_profile(repository, run_id, CodeProfileRequest(attempt="driver")).phases == (("no-stage", 1),)
    assert code_profile(repository, run_id).named_share == 1
    with pytest.raises(FormatError) as error:
        code_profile(repository, run_id, CodeProfileRequest(stage=7))
    assert "stage-0+1" in str(error.value.hint)
    done = CliRunner().invoke(assay, ["profile", run_id, "--stage", "1", "--repository", str(repository.root)])
    assert "stage-1 4, stage-0+1 2" in done.output


def test_a_run_without_a_profile_explains_how_to_record_it(repository: Repository) -> None:
    done = CliRunner().invoke(assay, ["profile", make_run(2).run_id, "--repository", str(repository.root)])
    assert done.exit_code != 0
    assert "--profile cpu" in done.output + str(getattr(done.exception, "hint", ""))


def test_the_command_prints_categories_and_methods(repository: Repository) -> None:
    done = CliRunner().invoke(assay, ["profile", make_run(1).run_id, "--repository", str(repository.root)])
    assert done.exit_code == 0, done.output
    assert "100 samples of 10 ms: merge 65, reduce 30, unknown 5; 95.0 % in a named phase" in done.output
    assert "not used: no perf_events" in done.output
    assert "com/example/Join.reduce" in done.output


def test_without_a_run_the_command_still_prints_the_data_flow(tmp_path: Path) -> None:
    build_repository(tmp_path / "repository")
    old, new = (
        CliRunner().invoke(assay, [name, "--repository", str(tmp_path / "repository")])
        for name in ("profile", "data-flow")
    )
    assert (old.exit_code, new.exit_code) == (0, 0), old.output
    assert old.output == new.output
