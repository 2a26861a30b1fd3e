"""Test what limits the workloads on each kind of storage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.analysis.run_profile.limits.loads import DISKS, Resource
from assay.analysis.run_profile.limits.run_limits import Limits, LimitTime
from assay.analysis.run_profile.tables.limits_tables import limit_sentence
from assay.model.runs.imported import ImportedRun, foreign_run
from assay.questions.runs.limits import (
    configuration_limit,
    limits_of_run,
    listed_limits,
    run_limit_answer,
    run_limit_sentence,
)
from assay.questions.runs.workload_limits import WorkloadLimit, limit_text, limits_sentence, workload_limits
from assay.store import ImportRequest, Repository
from builders import build_repository, make_run
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from simulator_support import command_result
from web_support import client_of


def row(storage: str, workload: str, limit: Resource, runs_with_limit: int = 3, clear: int = 2) -> WorkloadLimit:
    return WorkloadLimit(storage, workload, limit, 0.5, 3, runs_with_limit, clear)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], ""),
        ([row("SSDs", "terasort", Resource.CPU)], "On SSDs, the CPU limits TeraSort (50 % of the run time)."),
        ([row("", "terasort", Resource.DISK)], "The disks limit TeraSort (50 % of the run time)."),
        (
            [row("hard disks", name, Resource.DISK) for name in ("sort", "terasort")]
            + [row("SSDs", "sort", Resource.CPU), row("SSDs", "terasort", Resource.NETWORK)],
            "On hard disks, the disks limit Sort (50 % of the run time) and TeraSort (50 % of the run time). "
            "On SSDs, the CPU limits Sort (50 % of the run time) and the network limits TeraSort "
            "(50 % of the run time).",
        ),
        (
            [row("SSDs", name, Resource.CPU) for name in ("a", "b", "c")] + [row("SSDs", "sort", Resource.FIXED)],
            "On SSDs, the CPU limits 3 of 4 workloads (50 % of the run time) and fixed costs of jobs limit "
            "Sort (50 % of the run time).",
        ),
        (
            [row("hard disks", "terasort", Resource.DISK), row("hard disks", "sort", Resource.DISK, 2)],
            "On hard disks, the disks limit TeraSort (50 % of the run time). No clear limit: Sort on hard disks.",
        ),
        ([row("SSDs", "sort", Resource.CPU, clear=1)], "No clear limit: Sort on SSDs."),
    ],
)
def test_the_sentence_names_the_limit_on_each_kind_of_storage(rows: list[WorkloadLimit], text: str) -> None:
    assert limits_sentence(rows) == text


def test_imported_runs_without_traces_are_named_as_such(tmp_path: Path) -> None:
    """Only imports: the answer says so. A run that assay made has no trace for another reason."""
    repository = build_repository(tmp_path / "r", [make_run(1)])
    assert "imported" not in workload_limits(repository, repository.table()).answer
    other = Repository.create(tmp_path / "s")
    runs = [ImportedRun("1", "runs:1", foreign_run(workload="sort", duration_s=60.0, layout="HDD"), (), None)]
    source = tmp_path / "runs"
    source.write_text("60\n")
    other.import_runs("lines", lambda: iter(runs), [("runs", source)], ImportRequest(plan="test", strict=True))
    limits = workload_limits(other, other.table())
    assert limits.answer == (
        "Not measured: the imported files of these runs contain no traces of the load of their devices over time."
    )
    assert limits.next_step().startswith("Run a plan with `assay run PLAN.yaml`: it stores the traces of its runs.")


def test_the_limit_of_a_workload_is_the_longest_of_its_newest_traced_runs(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    repository.publish(make_run(1, levels={"layout": "HD2"}))
    assert workload_limits(repository, repository.table()).sentence == ""
    traced = replace(hybrid_run(), workload="wordcount")
    for number in range(4):
        run = replace(traced, run_id=make_run(10 + number).run_id)
        repository.publish(run, tasks=hybrid_tasks(), trace=hybrid_trace())
    answer = workload_limits(repository, repository.table())
    alone = limits_of_run(repository, make_run(10).run_id)
    by_limit: dict[Resource, float] = {}
    for entry in alone.times:
        limit = Resource.DISK if entry.limit in DISKS else entry.limit
        by_limit[limit] = by_limit.get(limit, 0.0) + entry.time_s
    longest = max(by_limit, key=lambda limit: by_limit[limit])
    [workload] = answer.workloads
    assert (workload.storage, workload.workload, workload.limit) == ("hard disks", "wordcount", longest)
    assert workload.time_share == pytest.approx(by_limit[longest] / alone.duration_s)
    assert (workload.runs, workload.runs_with_limit, answer.runs, answer.traced) == (3, 3, 3, 4)
    ids = [make_run(number).run_id for number in (1, 10)]
    table = repository.table()
    configuration = configuration_limit(repository, table, ids[1])
    assert configuration == replace(workload, storage="")
    assert listed_limits(repository, table, ids) == {ids[1]: run_limit_sentence(alone, configuration)}


def test_a_run_alone_has_no_clear_limit_if_its_configuration_has_none(tmp_path: Path) -> None:
    """A run that is clear alone has repetitions that are not: home, the list and the run name one verdict."""
    repository = Repository.create(tmp_path / "r")
    run = replace(hybrid_run(), workload="wordcount")
    repository.publish(run, tasks=hybrid_tasks(), trace=hybrid_trace())
    alone = listed_limits(repository, repository.table(), [run.run_id])[run.run_id]
    assert not alone.startswith("No clear limit")
    for number in (10, 11):  # its disk is busy for almost as long as the fixed costs
        repetition = replace(run, run_id=make_run(number).run_id)
        repository.publish(repetition, tasks=hybrid_tasks(), trace=hybrid_trace(hdd1_busy_s=40.0))
    [row_of_home] = workload_limits(repository, repository.table()).workloads
    assert not row_of_home.is_clear
    sentence = run_limit_answer(
        limits_of_run(repository, run.run_id), configuration_limit(repository, repository.table(), run.run_id)
    )
    listed = listed_limits(repository, repository.table(), [run.run_id])[run.run_id]
    assert sentence.startswith(listed)
    assert listed == (
        f"No clear limit over 3 runs of this configuration ({row_of_home.longest}). In this run, {alone[0].lower()}"
        f"{alone[1:]}"
    )
    page = client_of(repository.root).get(f"/runs/{run.run_id}").text
    home = client_of(repository.root).get("/").text
    assert f"<strong>{sentence}</strong>" in page
    assert "No clear limit: WordCount on hard disks." in home
    assert sentence in command_result("show", run.run_id, "--limits", "--repository", str(repository.root)).output


@pytest.mark.parametrize(
    ("second_s", "text"),
    [
        (30.0, "Fixed costs of jobs limited 39.0 of 125.0 s."),
        (35.0, "No clear limit: fixed costs of jobs limited 39.0 of 125.0 s, CPU 35.0 s."),
    ],
)
def test_a_limit_is_not_clear_where_another_one_held_for_almost_as_long(second_s: float, text: str) -> None:
    times = (
        LimitTime("job", Resource.FIXED, 20.0),
        LimitTime("reduce", Resource.FIXED, 19.0),
        LimitTime("map", Resource.CPU, second_s),
    )
    limits = Limits("0", "measured", 125.0, 1.0, ("w1",), Resource.FIXED, times, (), (), ())
    assert limit_sentence(limits) == text
    assert (limits.rival is None) == (not text.startswith("No clear"))


def test_all_kinds_of_disks_are_one_limit_of_a_run() -> None:
    times = (
        LimitTime("map", Resource.DISK_HDFS, 20.0),
        LimitTime("map", Resource.CPU, 25.0),
        LimitTime("reduce", Resource.DISK_INTERMEDIATE, 19.0),
    )
    limits = Limits("0", "measured", 64.0, 1.0, ("w1",), Resource.DISK_HDFS, times, (), (), ())
    assert limit_sentence(limits) == "The disks limited 39.0 of 64.0 s."


def test_a_workload_without_a_clear_limit_names_its_two_longest_limits() -> None:
    unclear = replace(row("SSDs", "sort", Resource.CPU, clear=1), second=Resource.FIXED, second_share=0.45)
    assert unclear.line == "Sort on SSDs: no clear limit (CPU 50 %, fixed costs 45 % of the run time), 3 runs"
    assert limit_text(unclear) == "no clear limit"
    assert row("SSDs", "sort", Resource.CPU).line == "Sort on SSDs: CPU, 50 % of the run time, 3 runs"
