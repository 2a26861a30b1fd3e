"""Test questions about runs: lists, missing data, anomalies, directories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model.runs.run_status import RunStatus
from assay.questions.clusters.directories import DirectoryRequest, directory_plan, newest_baseline
from assay.questions.runs.run_quality import (
    NO_PLAN,
    anomalous_runs,
    causes_sentence,
    coverage,
    still_needed,
    traced_rows,
    why_not_valid,
)
from assay.questions.runs.runs import RunPageRequest, comparable, levels_in, run_page, selected
from assay.questions.trust.flags import flags
from assay.specs import load_cluster
from assay.store import Repository
from builders import make_run, make_trace, study_runs
from paths import ROOT


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository.create(tmp_path_factory.mktemp("r"))
    for number, run in enumerate(study_runs()):
        made.publish(run, trace=make_trace(run) if number == 0 else None)
    made.publish(make_run(950, status=RunStatus.FAILED, cause="the DataNode ended after 9 s", plan=""))
    return made


def test_a_workload_may_be_chosen_by_its_title(repository: Repository) -> None:
    table = repository.table()
    by_title, by_name = (selected(table, [f"workload={word}"]) for word in ("TeraSort", "terasort"))
    assert 0 < len(by_title) == len(by_name) < len(table)
    assert levels_in(by_name, "workload") == ["terasort"]
    assert run_page(repository, table, RunPageRequest(("workload=TeraSort",))).total == len(by_name)


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        ("storage=SSDs", "device_class=SSD"),
        ("storage=hdd", "device_class=hard disks"),
        ("storage=SS2", "layout=SS2"),
        ("Storage class=Hard disks", "device_class=hard disks"),
        ("Storage layout=ss2", "layout=SS2"),
        ("benchmark=TeraSort", "workload=terasort"),
        ("net=InfiniBand", "network=IB"),
        ("network=ethernet", "network=ETH"),
        ("nodes=3", "workers=3"),
    ],
)
def test_conditions_may_have_the_words_of_questions_and_pages(words: str, condition: str) -> None:
    settings = [("HD2", "ETH", "3"), ("SS2", "IB", "3"), ("SS2", "ETH", "6")]
    table = table_of(
        [
            make_run(n, layout=layout, parameters={"network": network, "workers": workers})
            for n, (layout, network, workers) in enumerate(settings)
        ]
    )
    by_words, by_names = selected(table, [words]), selected(table, [condition])
    assert len(by_words) > 0
    assert by_words.rows.tolist() == by_names.rows.tolist()


def test_a_message_lists_columns_and_levels_in_the_words_of_questions(repository: Repository) -> None:
    with pytest.raises(SpecificationError, match="no run has a column 'colour'") as column:
        selected(repository.table(), ["colour=red"])
    assert "columns: workload, storage, layout, " in (column.value.hint or "")
    table = table_of([make_run(0, parameters={"network": "IB"})])
    with pytest.raises(SpecificationError, match="no run has network 'ETH'") as level:
        selected(table, ["network=ETH"])
    assert (level.value.hint or "").endswith("its levels: IB (InfiniBand)")


def test_causes_of_excluded_runs_are_stated_with_their_numbers(tmp_path: Path) -> None:
    made = Repository.create(tmp_path / "r")
    causes = ["out of memory", "out of memory", "timed out after 60 s", "timed out after 90 s", "a", "b", None]
    for number, cause in enumerate(causes):
        made.publish(make_run(number, status=RunStatus.INVALID, cause=cause))
    sentence = causes_sentence(why_not_valid(made, made.table()))
    assert sentence.startswith('Recorded causes of all 7 runs that do not count: "')
    assert '"out of memory" (2 runs)' in sentence
    assert '"timed out after 90 s" (2 runs)' in sentence
    assert sentence.endswith(" and 2 more.")


def test_an_unknown_name_is_an_error_with_the_choices(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="no run has layout 'none'"):
        selected(repository.table(), ["layout=none"])
    with pytest.raises(RepositoryError, match="no runs yet"):
        selected(Repository.create(tmp_path / "empty").table(), [])


def test_a_page_has_the_newest_runs_first_and_columns_that_differ_before_the_others(repository: Repository) -> None:
    page = run_page(repository, repository.table(), RunPageRequest(limit=5))
    assert (len(page.runs), page.of, page.offset) == (5, len(repository.table()), 0)
    times = [row.started_at or "" for row in page.runs]
    assert times == sorted(times, reverse=True)
    assert [facet.column for facet in page.facets][:2] == ["workload", "layout"]
    assert comparable(repository.table())[0] == "layout"


def test_missing_runs_are_counted_by_plan(repository: Repository) -> None:
    table = repository.table()
    counts = {row.plan: row for row in coverage(table, traced_rows(repository, table))}
    assert sum(row.runs for row in counts.values()) == len(table)
    assert sum(row.traced for row in counts.values()) == 1
    assert (counts[NO_PLAN].runs, counts[NO_PLAN].traced) == (1, 0)
    few = selected(table, ["status=failed"])
    assert [row.traced for row in coverage(few, traced_rows(repository, table))] == [0, 0]


def test_causes_and_repetitions_name_existing_runs(repository: Repository) -> None:
    table = repository.table()
    causes = why_not_valid(repository, table)
    assert (causes.not_valid, causes.examined) == (3, 3)
    assert make_run(950).run_id in {run_id for cause in causes.causes for run_id in cause.examples}
    needed = still_needed(repository, table, 0.001)
    assert repository.run(needed.needs[0].run_id).workload == needed.needs[0].configuration["workload"]
    assert anomalous_runs(repository, flags(table), table, 0).anomalies == ()


def test_directories_follow_bandwidth_and_say_what_fills_first(repository: Repository) -> None:
    cluster = load_cluster(ROOT / "examples" / "lab" / "cluster.yaml")
    planned = directory_plan(
        cluster, None, DirectoryRequest(hdfs=("hdd1",), intermediate=("hdd1", "ssd1"), data_bytes=33e9)
    )
    assert list(planned.hdfs.directories) == ["hdd1"]
    assert set(planned.intermediate.directories) == {"hdd1", "ssd1"}
    assert any("first, after" in words for words in planned.warnings)
    assert directory_plan(replace(cluster, name="x"), None, DirectoryRequest()).data_bytes is None
    with pytest.raises(SpecificationError, match="device"):
        directory_plan(cluster, None, DirectoryRequest(hdfs=("hdd9",)))
    assert newest_baseline(repository, cluster.name) is None
