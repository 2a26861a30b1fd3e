"""Test Spark's stages and executors from the event log, and their tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import spark_samples as samples
from assay.analysis.run_profile.tables.stage_tables import executors_table, stage_sums_table, stages_table
from assay.model.runs.imported import ImportedRun
from assay.model.runs.job import Executor
from assay.model.runs.run import Run
from assay.store.formats.source import Source
from assay.store.formats.spark.event_import import FORMAT


def run_of(folder: Path, events: list[samples.Event]) -> Run:
    (folder / "log").write_bytes(samples.log(events))
    (item,) = FORMAT.read([Source(folder / "log", "log")])
    assert isinstance(item, ImportedRun)
    return item.run


def test_a_run_has_its_stage_graph_with_traffic_and_executor_use(tmp_path: Path) -> None:
    """Sums leave out the attempt without metrics; peaks are the largest of any attempt."""
    events = samples.application()
    for event in events:
        if event["Event"] == "SparkListenerStageCompleted":
            event["Stage Info"]["Parent IDs"] = [0] if event["Stage Info"]["Stage ID"] == 1 else []
    ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    ends[1]["Task Metrics"] = samples.metrics(**{"Peak Execution Memory": 5_000_000})
    ends[1]["Task Executor Metrics"] = {"JVMHeapMemory": 2 * 10**8, "OnHeapExecutionMemory": 7}
    ends[2]["Task Executor Metrics"] = {"JVMHeapMemory": 10**8}
    run = run_of(tmp_path, events)
    first, second = run.stages
    assert ((first.stage_id, first.parents), (second.stage_id, second.parents)) == ((0, ()), (1, (0,)))
    assert (first.start_s, first.end_s, first.tasks) == (1.0, 4.0, 2)
    assert (first.read_bytes, first.shuffle_read_bytes, first.shuffle_write_bytes) == (2000, 1000, 1200)
    assert (first.written_bytes, first.spilled_bytes, first.gc_s) == (180, 2048, 0.06)
    assert (first.peak_memory_bytes, second.peak_memory_bytes) == (5_000_000, 1)
    assert run.executors == (
        Executor(
            executor_id="1",
            node="w1",
            cores=4,
            attempts=4,
            busy_s=2.7,
            gc_s=0.09,
            spilled_bytes=3072,
            peak_memory_bytes=5_000_000,
            peak_heap_bytes=2 * 10**8,
        ),
    )
    assert stages_table(run).rows == (
        ("0", "–", "1.0", "4.0", "2", "map at 0"),
        ("1", "0", "4.0", "6.0", "1", "map at 1"),
    )
    assert stage_sums_table(run).rows[0] == ("0", "2 kB", "1 kB", "1.2 kB", "180 B", "2.05 kB", "0.1 s", "5 MB")
    assert executors_table(run).rows == (("1", "w1", "4", "4", "2.7 s", "3.33 %", "3.07 kB", "200 MB"),)


def test_of_many_stages_those_that_took_longest_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    run = run_of(tmp_path, samples.application())
    many = replace(
        run, stages=tuple(replace(run.stages[0], stage_id=n, end_s=1.0 + n) for n in range(40)), executors=()
    )
    table = stages_table(many)
    assert [row[0] for row in table.rows] == [str(number) for number in range(10, 40)]
    assert table.notes == ("The longest 30 of 40 stages; --json has all.",)
    assert not executors_table(many)
