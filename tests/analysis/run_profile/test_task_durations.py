"""Test task durations by phase and node, with outliers, in the question, terminal, API and page."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from assay.analysis.run_profile.task_durations import BINS_MAX, BINS_MIN, task_durations
from assay.foundation.errors import SpecificationError
from assay.interfaces.charts.single_runs.durations import duration_histograms
from assay.interfaces.cli.explain.tasks import tasks as command
from assay.model import Job, TaskAttempt
from builders import build_repository, make_run
from detail_support import make_task
from web_support import client_of


def maps_and_reduces() -> list[TaskAttempt]:
    """Return 30 maps of about 10 s and one of 60 s, ten reduces that start early, and a failed map."""
    maps = [make_task(n, 1.0, 11.0 + n / 30) for n in range(30)]
    maps[7] = make_task(7, 1.0, 61.0)
    reduces = [make_task(n, 5.0, 90.0 + n / 10, kind="reduce", shuffle_end_s=71.0, merge_end_s=73.0) for n in range(10)]
    return [*maps, *reduces, make_task(40, 1.0, 99.0, status="failed")]


def test_phases_have_histograms_over_all_tasks_and_rows_for_each_node() -> None:
    durations = task_durations(make_run(duration_s=100.0), maps_and_reduces())
    assert [phase.phase for phase in durations.phases] == ["map", "shuffle", "merge", "reduce"]
    assert (durations.attempts, durations.succeeded, durations.not_examined) == (41, 40, 0)
    maps, shuffle, merge, reduce = durations.phases
    assert (maps.tasks, maps.longest_s, maps.outliers) == (30, 60.0, 1)
    assert BINS_MIN <= len(maps.bins) <= BINS_MAX
    assert sum(part.tasks for part in maps.bins) == 30
    assert (maps.bins[-1].tasks, maps.bins[-1].outliers, maps.bins[-1].high_s) == (1, 1, 60.0)
    assert shuffle.median_s == 10.0  # from the end of the last map at 61 s, not from its own start
    assert merge.median_s == 2.0
    assert reduce.median_s == pytest.approx(17.45)
    of_maps = [row for row in durations.nodes if row.phase == "map"]
    assert [row.node for row in of_maps] == list(durations.node_names)
    assert sum(row.tasks for row in of_maps) == 30


def test_an_outlier_names_the_quantity_in_which_it_differs() -> None:
    durations = task_durations(make_run(duration_s=100.0), maps_and_reduces())
    (outlier,) = durations.outliers
    assert outlier.attempt_id == maps_and_reduces()[7].attempt_id
    assert outlier.duration_s == 60.0
    assert [reason.quantity for reason in outlier.deviations] == ["map_s"]
    assert outlier.deviations[0].median == pytest.approx(10.5, abs=0.1)


def test_a_node_has_the_same_bins_and_only_its_tasks() -> None:
    every = task_durations(make_run(), maps_and_reduces())
    node = every.node_names[0]
    of_node = task_durations(make_run(), maps_and_reduces(), node)
    assert [part.low_s for part in of_node.phases[0].bins] == [part.low_s for part in every.phases[0].bins]
    assert of_node.phases[0].tasks < every.phases[0].tasks
    with pytest.raises(SpecificationError, match="no task of this run succeeded on node 'nothing'"):
        task_durations(make_run(), maps_and_reduces(), "nothing")


def test_a_job_has_only_its_tasks_and_every_job_is_named() -> None:
    second = [msgspec.structs.replace(task, job_id="job_2") for task in maps_and_reduces()]
    run = make_run(jobs=(Job("job_2", "validate", "succeeded", 0.0, 1.0, 9.0, 30, 6),))
    every = task_durations(run, [*maps_and_reduces(), *second])
    of_job = task_durations(run, [*maps_and_reduces(), *second], None, "job_2")
    assert list(every.jobs.values())[1] == of_job.jobs["job_2"] == "validate"
    assert len(every.jobs) == 2
    assert every.attempts == 2 * of_job.attempts
    assert every.outliers_total == 2 * of_job.outliers_total
    assert {outlier.job_id for outlier in of_job.outliers} == {"job_2"}
    with pytest.raises(SpecificationError, match="no task of this run is of job 'nothing'"):
        task_durations(run, second, None, "nothing")


def test_stages_of_spark_are_compared_by_themselves() -> None:
    stages = [
        make_task(n, 0.0, 1.0 + 20 * stage, kind="result") for stage, tasks in ((0, 40), (1, 9)) for n in range(tasks)
    ]
    numbered = [
        msgspec.structs.replace(task, task_id=f"{int(task.end_s) // 20}.0.{n}") for n, task in enumerate(stages)
    ]
    assert task_durations(make_run(), numbered).outliers == ()


def test_equal_durations_make_one_bin_and_small_groups_are_counted_as_not_examined() -> None:
    durations = task_durations(make_run(), [make_task(n, 0.0, 5.0) for n in range(5)])
    assert [(part.tasks, part.low_s) for part in durations.phases[0].bins] == [(5, 5.0)]
    assert durations.not_examined == 5
    assert duration_histograms(durations.phases)["data"]["values"]


def test_terminal_api_and_page_show_the_same_durations(tmp_path: Path) -> None:
    run = make_run(duration_s=100.0)
    build_repository(tmp_path / "r", [make_run(1)]).publish(run, tasks=maps_and_reduces())
    client = client_of(tmp_path / "r")
    answer = client.get(f"/api/v1/runs/{run.run_id}/task-durations").json()
    folder = ("--repository", str(tmp_path / "r"))
    assert json.loads(CliRunner().invoke(command, [run.run_id, "--json", *folder]).stdout) == answer
    text, page = CliRunner().invoke(command, [run.run_id, *folder]), client.get(f"/runs/{run.run_id}/tasks").text
    attempt = maps_and_reduces()[7].attempt_id
    for shown in (text.output, page):
        assert "1 outlier among 40 tasks. Left out: 1 failed or killed attempt." in shown
        assert attempt in shown
        assert "map 60 s, median 10.5" in shown
    assert f'href="/runs/{run.run_id}/tasks"' in client.get(f"/runs/{run.run_id}").text
    node = answer["node_names"][0]
    assert client.get(f"/api/v1/runs/{run.run_id}/task-durations", params={"node": node}).json()["node"] == node
    assert client.get(f"/runs/{run.run_id}/tasks", params={"node": "nothing"}).status_code == 400
    assert client.get(f"/api/v1/runs/{make_run(1).run_id}/task-durations").status_code == 404
    without = CliRunner().invoke(command, [make_run(1).run_id, *folder])
    assert "it has no task attempts" in str(without.exception)
