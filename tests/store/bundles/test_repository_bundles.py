"""Test the repository: published runs return unchanged, filters match, nothing is overwritten."""

from __future__ import annotations

import dataclasses
import gzip
import json
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.foundation.errors import RepositoryError
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.run import CacheState, Check, Run
from assay.model.runs.run_status import RunStatus
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from assay.model.runs.warning import CodedWarning, WarningCode
from assay.store import Repository, new_run_id, short_length
from assay.store.bundles.bundle import write_sums
from builders import make_run
from effort import examples

TASK = TaskAttempt(
    "job_1", "task_1", "attempt_1", "map", "w1", "succeeded", 1.5, 2.5, None, None, 10, 20, 30, 40, 50, 0.5, 0.1
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(2**63), 2**63 - 1)
texts = st.dictionaries(text, text, max_size=3)
json_values = st.recursive(
    st.none() | st.booleans() | whole | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
runs = st.builds(
    Run,
    run_id=st.uuids().map(str),
    campaign_id=text,
    plan=text,
    origin=st.sampled_from(Origin),
    status=st.sampled_from(RunStatus),
    cause=st.none() | text,
    cluster=text,
    lab_scale=st.none() | number,
    engine=text,
    engine_version=text,
    workload=text,
    workload_parameters=texts,
    layout=text,
    levels=texts,
    parameters=texts,
    repetition=whole,
    block=whole,
    position=whole,
    attempt=whole,
    started_at=text,
    duration_s=number,
    cold=st.none() | st.booleans(),
    data_bytes=whole,
    metrics=st.dictionaries(text, number, max_size=3),
    phases=st.lists(st.builds(Phase, text, number, number), max_size=3).map(tuple),
    checks=st.lists(st.builds(Check, text, st.booleans(), text), max_size=3).map(tuple),
    caches=st.lists(
        st.builds(
            CacheState, text, whole, whole, st.none() | whole, st.none() | whole, st.booleans(), st.none() | text
        ),
        max_size=2,
    ).map(tuple),
    warnings=st.lists(st.builds(CodedWarning, st.sampled_from(WarningCode), text), max_size=2).map(tuple),
    environment=st.dictionaries(text, json_values, max_size=3),
    baseline_id=st.none() | text,
    sources=texts,
    schema_version=st.just(1),
)
tasks = st.builds(
    TaskAttempt,
    text,
    text,
    text,
    text,
    text,
    text,
    number,
    number,
    st.none() | number,
    st.none() | number,
    whole,
    whole,
    whole,
    whole,
    whole,
    number,
    number,
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "repository")


def small_trace() -> Trace:
    trace = Trace()
    for second in range(3):
        for node in ("w1", "w2"):
            trace.append(second - 0.5, node, "disk:sda", "read_bytes", counter=True, value=1e9 + second)
            trace.append(second - 0.5, node, "memory", "free_bytes", counter=False, value=5.0)
    return trace


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(run=runs, attempts=st.lists(tasks, max_size=4))
def test_every_run_is_read_back_unchanged(run: Run, attempts: list[TaskAttempt]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository.create(Path(folder) / "r")
        repository.publish(run, tasks=attempts)
        assert repository.run(run.run_id) == run
        assert repository.runs() == [run]
        assert repository.runs(environment=False) == [dataclasses.replace(run, environment={})]
        assert repository.tasks(run.run_id) == attempts
        assert repository.verify() == []


def test_a_bundle_has_the_documented_files_and_passes_sha256sum(repository: Repository, tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    log.write_bytes(b"line\n" * 1000)
    run = make_run(1)
    bundle = repository.publish(
        run,
        tasks=[TASK],
        trace=small_trace(),
        logs={"w1/daemon": log, "client": b"done"},
        files={"baseline.json": b"{}"},
    )
    assert bundle == repository.root / "bundles" / run.run_id == repository.bundle_path(run.run_id)
    names = [
        "baseline.json",
        "logs/client.gz",
        "logs/w1/daemon.gz",
        "run.json",
        "tasks.parquet",
        "trace/w1.parquet",
        "trace/w2.parquet",
    ]
    assert list(repository.files(run.run_id)) == names
    sha256sum = subprocess.run(
        ["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=bundle, capture_output=True, text=True
    )
    assert sha256sum.returncode == 0
    assert sha256sum.stdout.splitlines() == [f"{name}: OK" for name in names]
    assert gzip.decompress((bundle / "logs/w1/daemon.gz").read_bytes()) == b"line\n" * 1000
    assert json.loads((bundle / "run.json").read_text())["workload"] == "terasort"
    assert list((repository.root / "partial").iterdir()) == []


def test_tasks_trace_and_logs_are_read_back_unchanged(repository: Repository) -> None:
    run, trace = make_run(1), small_trace()
    repository.publish(run, tasks=[TASK, TASK], trace=trace, logs={"client": b"\x00\xff"})
    assert repository.tasks(run.run_id) == [TASK, TASK]
    assert repository.log(run.run_id, "client") == b"\x00\xff"
    assert repository.logs(run.run_id) == ["client"]
    stored_trace = repository.trace(run.run_id)
    assert len(stored_trace) == len(trace) == 12
    assert stored_trace.node == ["w1"] * 6 + ["w2"] * 6
    for node in ("w1", "w2"):
        for subject, metric in (("disk:sda", "read_bytes"), ("memory", "free_bytes")):
            assert stored_trace.series(node, subject, metric) == trace.series(node, subject, metric)
    assert stored_trace.counter[:2] == [True, False]


def test_a_run_without_tasks_trace_and_logs_has_none(repository: Repository) -> None:
    run = make_run(1)
    repository.publish(run)
    assert (repository.tasks(run.run_id), len(repository.trace(run.run_id)), repository.logs(run.run_id)) == ([], 0, [])
    with pytest.raises(RepositoryError, match="no log 'client'") as caught:
        repository.log(run.run_id, "client")
    assert caught.value.hint == "it has no logs"


def test_a_bundle_is_never_overwritten(repository: Repository) -> None:
    repository.publish(make_run(1))
    with pytest.raises(RepositoryError, match="already stored"):
        repository.publish(make_run(1, workload="other"))
    assert repository.run(make_run(1).run_id).workload == "terasort"
    assert list((repository.root / "partial").iterdir()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": {"x_s": float("nan")}},
        {"duration_s": float("inf")},
        {"environment": {"x": object()}},
        {"cause": "\ud800"},
    ],
)
def test_values_json_cannot_hold_are_refused_and_nothing_is_stored(
    repository: Repository, changes: dict[str, object]
) -> None:
    with pytest.raises(RepositoryError, match="can't be stored as JSON"):
        repository.publish(make_run(1, **changes))
    assert repository.runs() == []
    assert list((repository.root / "partial").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../escape", "/etc/passwd", "run.json", "SHA256SUMS", "logs/x", ".hidden", "", "a\nb"]
)
def test_a_file_cannot_leave_its_bundle_or_replace_another(repository: Repository, name: str) -> None:
    with pytest.raises(RepositoryError):
        repository.publish(make_run(1), files={name: b""})
    assert list((repository.root / "bundles").iterdir()) == []


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "x" * 200, ".x"])
def test_a_run_id_that_is_no_folder_name_is_refused(repository: Repository, run_id: str) -> None:
    with pytest.raises(RepositoryError):
        repository.publish(make_run(1, run_id=run_id))
    with pytest.raises(RepositoryError):
        repository.bundle_path(run_id)


def test_a_missing_log_is_an_error_that_names_it(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="No such file") as caught:
        repository.publish(make_run(1), logs={"x": tmp_path / "gone.log"})
    assert caught.value.where == str(tmp_path / "gone.log")


def test_runs_are_filtered_and_the_newest_come_last(repository: Repository) -> None:
    first = make_run(1, layout="HD2", workload="terasort", campaign_id="a")
    second = make_run(2, layout="SS2", workload="terasort", status=RunStatus.FAILED, campaign_id="a")
    third = make_run(3, layout="SS2", workload="dfsio-read", plan="other", campaign_id="b")
    for run in (third, first, second):
        repository.publish(run)
    assert repository.runs() == [first, second, third]
    assert repository.runs(layout="SS2") == [second, third]
    assert repository.runs(workload="terasort", layout="SS2") == [second]
    assert repository.runs(status="failed") == [second]
    assert repository.runs(plan="other") == repository.runs(campaign_id="b") == [third]
    assert repository.runs(limit=2) == [second, third]
    assert repository.runs(limit=1, campaign_id="a") == [second]
    assert repository.runs(layout="' OR 1=1 --") == []


def test_factors_keep_the_order_of_the_plan(repository: Repository) -> None:
    levels = {"zeta": "1", "layout": "HD2", "alpha": "2"}
    repository.publish(make_run(1, levels=levels))
    assert list(repository.runs()[0].levels) == list(repository.run(make_run(1).run_id).levels) == list(levels)


def test_a_run_is_selected_by_a_unique_prefix_of_its_id(repository: Repository) -> None:
    for run_id in ("aaaa-1", "aaab-1", "aaab-12"):
        repository.publish(make_run(1, run_id=run_id))
    assert repository.run("aaaa").run_id == "aaaa-1"
    assert repository.run("aaab-1").run_id == "aaab-1"
    with pytest.raises(RepositoryError, match="3 runs have an id that begins with 'aaa'") as caught:
        repository.run("aaa")
    assert "aaab-12" in (caught.value.hint or "")
    for prefix in ("b", "", "%", "*"):
        with pytest.raises(RepositoryError, match="no run has an id that begins"):
            repository.run(prefix)


def test_unknown_keys_of_a_later_version_are_ignored(repository: Repository) -> None:
    bundle = repository.publish(make_run(1))
    value = json.loads((bundle / "run.json").read_text())
    (bundle / "run.json").write_text(json.dumps(value | {"novelty": {"a": 1}}))
    write_sums(bundle)
    assert repository.run(make_run(1).run_id) == make_run(1)
    assert repository.runs() == [make_run(1)]


def test_opening_a_folder_that_is_no_repository_gives_a_hint(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="no repository here") as caught:
        Repository.open(tmp_path / "none")
    assert "assay demo" in (caught.value.hint or "")
    (tmp_path / "repository.json").write_text('{"assay_repository": 99}')
    with pytest.raises(RepositoryError, match="repository: version 99"):
        Repository.open(tmp_path)
    for broken in ("", "[]", "{}", "\x00"):
        (tmp_path / "repository.json").write_text(broken)
        with pytest.raises(RepositoryError, match="marker"):
            Repository.open(tmp_path)


def test_a_folder_that_holds_something_else_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RepositoryError, match=r"neither empty.*thesis\.tex"):
        Repository.create(tmp_path)
    with pytest.raises(RepositoryError, match="can't make a repository"):
        Repository.create(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_creating_a_repository_again_opens_it(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    assert Repository.create(tmp_path / "r").runs() == [make_run(1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space", "it's [odd]*?", "ünï"])
def test_the_folders_name_does_not_matter(tmp_path: Path, name: str) -> None:
    repository = Repository.create(tmp_path / name)
    for index in (1, 2):
        repository.publish(make_run(index), tasks=[TASK], trace=small_trace())
        assert len(repository.runs()) == index
    assert repository.tasks(make_run(1).run_id) == [TASK]
    assert len(repository.trace(make_run(1).run_id)) == 12


@given(st.integers(0, 2**47 * 10**6), st.integers(0, 10**12))
def test_run_ids_are_version_7_and_sort_by_time(unix_ns: int, later_ns: int) -> None:
    first, second = new_run_id(unix_ns), new_run_id(unix_ns + later_ns)
    parsed = uuid.UUID(first)
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == unix_ns // 10**6
    assert first < second or later_ns < 250


def test_run_ids_differ() -> None:
    assert len({new_run_id(1) for _ in range(1000)}) == 1000


@given(st.sets(st.text("ab", min_size=12, max_size=12), min_size=1, max_size=20))
def test_short_ids_distinguish_runs_and_are_no_longer_than_needed(run_ids: set[str]) -> None:
    length = short_length(run_ids)
    assert len({run_id[:length] for run_id in run_ids}) == len(run_ids)
    assert length == 8 or len({run_id[: length - 1] for run_id in run_ids}) < len(run_ids)
