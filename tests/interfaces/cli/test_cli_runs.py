"""Test ``assay runs``, ``show`` and ``verify``: output and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.interfaces.cli.explain.run_text import phase_bars
from assay.interfaces.cli.main import GC_THRESHOLD
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.run import CacheState, Check, Run
from assay.model.runs.run_status import RunStatus
from assay.model.runs.task_attempt import TaskAttempt
from assay.questions.runs.complete_run import read_complete_run, with_figures
from assay.store import Repository
from builders import coded_warnings, make_run
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from jhist_samples import SUBMIT_MS, as_json, sort_job
from program import called as assay
from program import started

TASK = TaskAttempt(
    "job_1", "task_1", "attempt_1", "map", "w1", "succeeded", 1.5, 2.5, None, None, 10, 20, 30, 40, 50, 0.5, 0.1
)


def full_run() -> Run:
    return make_run(
        1,
        status=RunStatus.INVALID,
        cause="2 blocks lack a replica",
        origin=Origin.MEASURED,
        duration_s=70.0,
        layout="HD2",
        levels={"layout": "HD2", "dfs.blocksize": "64MB"},
        cold=False,
        metrics={"per_stream_mb_per_s": 12.345, "hdfs_read_bytes": 5e8, "cpu_busy_share": 0.876},
        phases=(Phase("map", 0, 35), Phase("reduce", 35, 70)),
        checks=(Check("replicas", False, "298 of 300"), Check("exit status", True, "0")),
        caches=(
            CacheState("w1", 900_000_000, 20_000_000, 4_000_000, 0, True, None),
            CacheState("w2", 900_000_000, 900_000_000, None, None, False, "no sudo"),
        ),
        warnings=coded_warnings("the CPU was the limit"),
        sources={"phases": "job history", "per_stream_mb_per_s": "TestDFSIO"},
        environment={"kernel": "6.1", "nodes": {"w1": {}}},
    )


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "r")
    repository.publish(
        full_run(), tasks=[TASK, TASK], logs={"client": "done ✓\n".encode()}, files={"baseline.json": b"{}"}
    )
    repository.publish(make_run(2, layout="SS2", workload="dfsio-read", cold=None))
    return repository.root


@pytest.mark.slow
def test_a_command_uses_one_thread_for_matrices_and_collects_garbage_rarely(stored: Path) -> None:
    code = (
        "import sys; from assay.interfaces.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "import gc, threadpoolctl\n"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()}, gc.get_threshold()[0])"
    )
    command = [sys.executable, "-c", code, "runs", "--repository", str(stored)]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == f"{{1}} {GC_THRESHOLD}"


@pytest.mark.slow
def test_runs_lists_every_run_with_the_newest_last(stored: Path) -> None:
    result = started("runs", "--repository", stored)
    assert result.returncode == 0, result.stderr
    assert result.stdout == assay("runs", "--repository", stored).stdout
    header, first, second = result.stdout.splitlines()
    assert header.split() == [
        "run",
        "started",
        "(UTC)",
        "workload",
        "configuration",
        "repetition",
        "status",
        "origin",
        "caches",
        "duration",
    ]
    assert " ".join(first.split()).endswith(
        "TeraSort 2 hard disks (HD2), HDFS block size 64 MB 1 invalid measured warm 1 min 10 s"
    )
    assert "SS2" in second
    assert "not known" in second
    assert make_run(2).run_id.startswith(second.split()[0])
    assert first.split()[0] != second.split()[0]


def test_runs_as_json_has_everything_but_the_environment(stored: Path) -> None:
    first, second = json.loads(assay("runs", "--json", "--repository", stored).stdout)
    assert (
        first["run_id"],
        first["status"],
        first["origin"],
        first["workload"],
        first["layout"],
        first["duration_s"],
        first["cold"],
    ) == (full_run().run_id, "invalid", "measured", "terasort", "HD2", 70.0, False)
    assert first["levels"] == {"layout": "HD2", "dfs.blocksize": "64MB"}
    assert first["phases"][1] == {"name": "reduce", "start_s": 35, "end_s": 70}
    assert "environment" not in first
    assert set(first) | {"environment"} == {*Run.__dataclass_fields__, "anomaly"}
    assert second["cold"] is None


@pytest.mark.parametrize(
    ("option", "value", "count"),
    [("--workload", "terasort", 1), ("--layout", "SS2", 1), ("--status", "valid", 1), ("--layout", "HS5", 0)],
)
def test_runs_are_filtered(stored: Path, option: str, value: str, count: int) -> None:
    assert len(json.loads(assay("runs", "--json", option, value, "--repository", stored).stdout)) == count


def test_filters_without_a_match_list_the_levels(stored: Path) -> None:
    result = assay("runs", "--layout", "HS5", "--repository", stored)
    assert (result.returncode, result.stdout) == (
        0,
        "No run matches.\n  → There are runs of TestDFSIO read, TeraSort on 2 hard disks (HD2), 2 SSDs (SS2).\n",
    )


def test_an_empty_repository_has_the_next_step(tmp_path: Path) -> None:
    Repository.create(tmp_path)
    assert "assay demo" in assay("runs", "--repository", tmp_path).stdout
    assert json.loads(assay("runs", "--json", "--repository", tmp_path).stdout) == []


def test_a_wrong_path_names_the_repository_near_it(tmp_path: Path) -> None:
    root = Repository.create(tmp_path / "results").root
    for wrong in (tmp_path, tmp_path / "result", root / "bundles"):
        answer = assay("runs", "--repository", wrong)
        assert answer.returncode == 6
        assert answer.stderr.endswith(f"  → did you mean --repository {root}?\n")


def test_an_empty_folder_is_filled_by_an_import_and_an_unlike_name_names_no_repository(tmp_path: Path) -> None:
    Repository.create(tmp_path / "results")
    (tmp_path / "empty").mkdir()
    empty = assay("runs", "--repository", tmp_path / "empty")
    assert empty.stderr.endswith(f"`assay import FILES --repository {tmp_path / 'empty'}` fills it\n")
    assert "did you mean" not in assay("runs", "--repository", tmp_path / "nowhere").stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("decide", "storage", "--cost", "x"), "Did you mean '--prices'?"),
        (("cost",), "An example is examples/hardware/prices.yaml"),
        (("recommend",), "An example is examples/hardware/catalogue.yaml"),
        (("decide", "ssd"), "did you mean 'storage'?"),
        (("decide", "price"), "did you mean 'cheapest'?"),
        (("compare", "123"), "compare needs 2 to 6 runs"),
        (("runs", "--where", "layout=HD2,SS2"), "--where layout=HD2 --where layout=SS2"),
    ],
)
def test_a_similar_name_is_suggested(stored: Path, words: tuple[str, ...], error: str) -> None:
    given: tuple[str | Path, ...] = words if len(words) == 1 else (*words, "--repository", stored)
    result = assay(*given)
    assert result.returncode != 0
    assert error in result.stderr


@pytest.mark.parametrize("command", [["runs"], ["show", "x"], ["verify"]])
def test_without_a_repository_every_command_ends_with_a_message(tmp_path: Path, command: list[str]) -> None:
    result = assay(*command, "--repository", tmp_path / "none")
    assert result.returncode == 6
    assert result.stderr.startswith(f"assay: {tmp_path / 'none'}: there is no repository here\n  → ")
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_run_has_a_line_in_a_terminal_of_80_columns(tmp_path: Path) -> None:
    """Values that all rows share are printed once below the table; JSON and CSV have every column."""
    root = Repository.create(tmp_path / "r").root
    for number in range(3):
        run = make_run(number, workload="terasort", layout="HD2", repetition=number + 1)
        Repository(root).publish(replace(run, run_id=f"{number:08x}{run.run_id[8:]}"))
    terminal, stdout = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "40", "TERM": "dumb"}
    command = [sys.executable, "-m", "assay", "runs", "--repository", str(root)]
    subprocess.run(command, env=environment, stdout=stdout, check=True)
    os.close(stdout)
    output = os.read(terminal, 65536).decode()  # a pty holds that little
    os.close(terminal)
    lines = output.replace("\r", "").strip().splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("All of them: ")
    assert "origin measured" in lines[-1]
    plain = assay("runs", "--repository", root).stdout.splitlines()
    assert len(plain) == 4
    assert "origin" in plain[0]


def test_a_table_wider_than_the_terminal_splits_no_word_and_no_number() -> None:
    """Values that all rows share are printed once; columns that do not fit are on a second line with their names."""
    program = (
        "from assay.interfaces.cli.common import print_table\n"
        "print_table(('Rank', 'Place', 'Time (s)', 'Origin', 'Interval', 'Why'), ["
        "('1', 'm1000-01 with SSDs', '12,522', 'measured', '$0.22 to $0.57', 'a model of all factors says 1,180 s'),"
        "('2', 'al-02', '2,690', 'measured', '$1.22 to $3.57', 'a model of all factors says so')], title='Costs')"
    )
    terminal, stdout = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "LINES": "40", "TERM": "dumb"}
    subprocess.run([sys.executable, "-c", program], env=environment, stdout=stdout, check=True)
    os.close(stdout)
    output = re.sub(r"\x1b\[[0-9;]*m", "", os.read(terminal, 65536).decode()).replace("\r", "").splitlines()
    os.close(terminal)
    assert output == [
        "Costs",
        "Rank  Place               Time (s)        Interval",
        "   1  m1000-01 with SSDs    12,522  $0.22 to $0.57",
        "    why a model of all factors says 1,180 s",
        "   2  al-02                  2,690  $1.22 to $3.57",
        "    why a model of all factors says so",
        "All of them: origin measured.",
    ]


def test_show_prints_how_the_run_ended_and_its_metrics(stored: Path) -> None:
    result = assay("show", full_run().run_id[:36], "--repository", stored)
    assert result.returncode == 0, result.stderr
    for expected in (
        "TeraSort on 2 hard disks (HD2), HDFS block size 64 MB, repetition 1: invalid, measured",
        "cause: 2 blocks lack a replica",
        "took 1 min 10 s, caches warm",
        "The resource that limited the run is unknown: the run has no traces of its workers.",
        "map               1   2       0       0",
        "✗ replicas: 298 of 300",
        "✓ exit status: 0",
        "w1: cached 900 MB → 20 MB, of the data files 4 MB → 0 B",
        "w2: cached 900 MB → 900 MB; not dropped: no sudo",
        "the CPU was the limit",
        "a lab at 1/20 of full size",
        "logs/client.gz",
        "baseline.json",
    ):
        assert expected in result.stdout, result.stdout
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "throughput per stream 12.35 MB/s from TestDFSIO" in lines
    assert "data hdfs read 500 MB" in lines
    assert "CPU cpu busy share 87.6 %" in lines
    assert "phases job history" in lines


def test_show_as_json_has_the_environment_and_the_files(stored: Path) -> None:
    shown = json.loads(assay("show", full_run().run_id, "--json", "--repository", stored).stdout)
    assert shown["environment"] == {"kernel": "6.1", "nodes": {"w1": {}}}
    assert shown["logs"] == ["client"]
    assert {"name": "baseline.json", "size_bytes": 2} in shown["files"]


def test_show_prints_a_log_as_it_was(stored: Path) -> None:
    assert assay("show", full_run().run_id, "--log", "client", "--repository", stored).stdout == "done ✓\n"
    missing = assay("show", full_run().run_id, "--log", "nope", "--repository", stored)
    assert (missing.returncode, "it has: client" in missing.stderr) == (6, True)


@pytest.fixture
def hybrid(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "h")
    repository.publish(hybrid_run(), tasks=hybrid_tasks(), trace=hybrid_trace())
    return repository.root


def test_show_fits_80_columns_and_prints_time_tasks_disks_and_nodes(hybrid: Path) -> None:
    shown = assay("show", "0", "--repository", hybrid).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for expected in (
        "overhead 0.0 40.0 8.0 8.0 8.0 20 %",
        "all 0.0 40.0 40.0 100 %",
        "job_1_0002 second 24.0 14.0 1 0 succeeded",
        "map 0001 5 4 0 1 4 2 4.0 8.0 1",
        "slow: 0001_m_000003_0 on worker1 took 8.0 s, 2.0 times its kind's median",
        "spilled 25 records, 2.50 × the map output",
        "maps ran 3 on a node with the data, 1 in its rack, 0 elsewhere",
        "hdd1 HDFS read 512 MB 128 kB 20 % 5 ms 50 % 1.50",
        "intermediate 24 MB 16 kB 19.2 MB 64 kB 710 B 700 B",
        "both – – 1.92 MB 64 kB – –",
        "Busiest worker / mean of the workers: CPU 1.50, disks 1.46, network 1.00.",
    ):
        assert expected in lines, shown
    assert any(line.endswith(" s. More: --limits.") for line in lines[:5]), lines[:5]
    timing = shown.split("\nsources")[0].split("where the time went")[1]
    assert max(map(len, timing.splitlines())) <= 80


def test_show_prints_parts_by_name(hybrid: Path) -> None:
    attempts = assay("show", "0", "--tasks", "--repository", hybrid).stdout
    assert "0002_m_000007_0  worker2  map     succeeded   26.0  10.0" in attempts
    assert "where the time went" not in attempts
    phases = assay("show", "0", "--phases", "--repository", hybrid).stdout
    assert "map and shuffle at once: 5.0 s" in phases
    assert "job_1_0002 second" in phases
    counters = assay("show", "0", "--counters", "--repository", hybrid).stdout
    assert "job_1_0001 JobCounter" in counters
    assert "DATA_LOCAL_MAPS" in counters
    assert max(len(line) for line in (attempts + phases + counters).splitlines()) <= 80


def test_show_as_json_is_complete(hybrid: Path) -> None:
    shown = json.loads(assay("show", "0", "--json", "--repository", hybrid).stdout)
    assert len(shown["tasks"]) == len(hybrid_tasks())
    assert shown["tasks"][4]["cpu_s"] is None
    assert shown["jobs"][0]["counters"]["org.apache.hadoop.mapreduce.JobCounter"]["DATA_LOCAL_MAPS"] == 3
    assert sum(phase["share_s"] for phase in shown["detail"]["breakdown"]["phases"]) == pytest.approx(40)
    assert {use["purpose"] for use in shown["detail"]["by_purpose"]} == {"hdfs", "intermediate", "shared"}


def test_a_run_with_few_facts_is_described_as_such(stored: Path) -> None:
    parts = assay("show", make_run(2).run_id, "--tasks", "--counters", "--repository", stored).stdout
    assert "This run has no task attempts on record." in parts
    assert "This run has no counters on record." in parts


def test_histories_among_the_logs_tell_what_older_bundles_do_not(tmp_path: Path) -> None:
    logs = {"job_1_0001.jhist": as_json(sort_job()), "job_2_0001.jhist": b"damaged"}
    repository = Repository.create(tmp_path)
    start = datetime.fromtimestamp(SUBMIT_MS / 1000 - 2, UTC).isoformat()
    run = make_run(3, started_at=start, duration_s=20.0, workload_parameters={"program": "terasort"})
    repository.publish(run, logs={"job_1_0001.jhist": logs["job_1_0001.jhist"]})
    seen = read_complete_run(repository, run)
    assert [(job.job_id, job.submit_s, job.finish_s) for job in seen.run.jobs] == [("job_1", 2.0, 14.5)]
    assert with_figures(repository, [run])[0].metrics["hdfs_read_bytes"] == 2000
    damaged = replace(run, run_id=make_run(4).run_id)
    repository.publish(damaged, logs=logs)
    assert read_complete_run(repository, damaged).run.jobs == ()


def test_profile_compares_with_terasort(hybrid: Path) -> None:
    repository = Repository.open(hybrid)
    metrics = {"hdfs_read_bytes": 2e9, "hdfs_write_bytes": 1e9, "shuffle_bytes": 1e9, "cpu_busy_share": 0.5}
    for number, workload in enumerate(("terasort", "wordcount"), start=5):
        factor = 1.0 if workload == "terasort" else 0.5
        levels = {name: factor * value for name, value in metrics.items()}
        repository.publish(make_run(number, workload=workload, metrics=levels, layout="SS2", levels={"layout": "SS2"}))
    shown = assay("profile", "--layout", "SS2", "--repository", hybrid).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "WordCount 2 SSDs (SS2) 1 0.50 0.50 0.50 0.50" in lines
    assert "TeraSort 2 SSDs (SS2) 2 GB 1 GB 1 GB – 50 %" in lines
    rows = json.loads(assay("profile", "--json", "--repository", hybrid).stdout)["rows"]
    assert {row["layout"] for row in rows} == {"HD2", "SS2"}
    nowhere = assay("profile", "--layout", "HS9", "--repository", hybrid)
    assert (nowhere.returncode != 0, "HD2, SS2" in nowhere.stderr) == (True, True)


def test_show_names_the_candidates_of_an_ambiguous_id(stored: Path) -> None:
    result = assay("show", "0", "--repository", stored)
    assert result.returncode == 6
    assert full_run().run_id in result.stderr
    assert make_run(2).run_id in result.stderr


def test_a_long_environment_is_cut_short(tmp_path: Path) -> None:
    environment = {f"key{number}": number for number in range(500)}
    Repository.create(tmp_path).publish(replace(full_run(), environment=environment))
    shown = assay("show", full_run().run_id, "--repository", tmp_path).stdout
    assert "and 460 more" in shown
    assert "key41" not in shown


def test_verify_accepts_an_intact_repository(stored: Path) -> None:
    result = assay("verify", "--repository", stored)
    assert (result.returncode, result.stdout) == (0, "Every bundle is intact.\n")
    assert json.loads(assay("verify", "--json", "--repository", stored).stdout) == []


def test_verify_lists_damage_and_ends_with_code_6(stored: Path) -> None:
    (stored / "bundles" / full_run().run_id / "baseline.json").write_text("{ }")
    result = assay("verify", "--json", "--repository", stored)
    assert result.returncode == 6
    assert json.loads(result.stdout) == [
        {
            "run_id": full_run().run_id,
            "file": "baseline.json",
            "kind": "changed",
            "detail": "the content differs from its checksum",
        }
    ]
    table = assay("verify", "--repository", stored)
    assert (table.returncode, "baseline.json" in table.stdout) == (6, True)
    assert "1 problem in 1 bundle" in table.stderr


def test_phase_bars_are_at_the_times_of_the_phases() -> None:
    first, second = phase_bars((Phase("map", 0, 5), Phase("reduce", 5, 10)), 10)
    assert first == "map    │" + "█" * 24 + " " * 24 + "│       5.0 s  (0.0 – 5.0 s)"
    assert second == "reduce │" + " " * 24 + "█" * 24 + "│       5.0 s  (5.0 – 10.0 s)"


def test_phase_bars_keep_their_width_for_phases_of_no_length_and_before_the_start() -> None:
    lines = list(phase_bars((Phase("a", -2, -2), Phase("b", 10, 10), Phase("c", 0, 30)), 10))
    assert {line.index("│", 3) for line in lines} == {51}
    assert all("█" in line for line in lines)
    assert list(phase_bars((Phase("a", 0, 0),), 0)) != []
    assert list(phase_bars((), 10)) == []
