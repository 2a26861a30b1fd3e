"""Compare how many events of a job history assay and Hadoop's Rumen TraceBuilder read per second.

A history of one job is generated in both encodings, with the schema of the installed Hadoop and the counters of its
tasks. The readers alternate over each file several times, so that other load affects both. Rumen runs within one JVM:
its start-up is printed separately, and its just-in-time compiler warms up during the first reads. The table compares
the first reads, which a single use sees, and the fastest reads, a warm JVM with a warm Python.

Run: ``.venv/bin/python benchmarks/jhist_rumen.py [attempts] [times]`` (20,000 and 8: about 2 min, 300 MB of temporary
files). It needs a JDK and a Hadoop (HADOOP_HOME, or the one that ``assay hadoop fetch`` assembled); Maven fetches Rumen
into a temporary folder if the Hadoop has none.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro

from assay.execution.engines.hadoop.deployment.distribution import Distribution, find
from assay.store.formats.hadoop.jhist import parse_jhist

JOB = "1700000000000_0001"
SUBMIT_MS = 1_700_000_100_000
REDUCE_SHARE = 0.1
HARNESS = """
import org.apache.hadoop.mapreduce.jobhistory.Event;
import org.apache.hadoop.tools.rumen.TraceBuilder;

public class Harness {
  public static void main(String[] args) throws Throwable {
    if (args.length == 0) { System.out.println(Event.SCHEMA$); return; }
    while (System.in.read() == '\\n') {
      long began = System.nanoTime();
      TraceBuilder.main(new String[] {args[0], args[1], args[2]});
      System.out.println("took_ns " + (System.nanoTime() - began));
    }
  }
}
"""
FILE_SYSTEM_COUNTERS = [
    f"{scheme}_{what}"
    for scheme in ("FILE", "HDFS")
    for what in ("BYTES_READ", "BYTES_WRITTEN", "READ_OPS", "LARGE_READ_OPS", "WRITE_OPS")
]
MAP_COUNTERS = [
    "MAP_INPUT_RECORDS",
    "MAP_OUTPUT_RECORDS",
    "MAP_OUTPUT_BYTES",
    "MAP_OUTPUT_MATERIALIZED_BYTES",
    "SPLIT_RAW_BYTES",
    "COMBINE_INPUT_RECORDS",
    "SPILLED_RECORDS",
    "FAILED_SHUFFLE",
    "MERGED_MAP_OUTPUTS",
    "GC_TIME_MILLIS",
    "CPU_MILLISECONDS",
    "PHYSICAL_MEMORY_BYTES",
    "VIRTUAL_MEMORY_BYTES",
    "COMMITTED_HEAP_BYTES",
    "MAP_PHYSICAL_MEMORY_BYTES_MAX",
    "MAP_VIRTUAL_MEMORY_BYTES_MAX",
]
REDUCE_COUNTERS = [
    "COMBINE_INPUT_RECORDS",
    "COMBINE_OUTPUT_RECORDS",
    "REDUCE_INPUT_GROUPS",
    "REDUCE_SHUFFLE_BYTES",
    "REDUCE_INPUT_RECORDS",
    "REDUCE_OUTPUT_RECORDS",
    "SPILLED_RECORDS",
    "SHUFFLED_MAPS",
    "FAILED_SHUFFLE",
    "MERGED_MAP_OUTPUTS",
    "GC_TIME_MILLIS",
    "CPU_MILLISECONDS",
    "PHYSICAL_MEMORY_BYTES",
    "VIRTUAL_MEMORY_BYTES",
    "COMMITTED_HEAP_BYTES",
]

Json = dict[str, Any]


class Schema:
    """Fills records of an Avro schema: missing fields get an empty value of their type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.event = json.loads(text)
        self.named: dict[str, Any] = {}
        self._register(self.event)

    def _register(self, kind: Any) -> None:
        if isinstance(kind, list):
            for option in kind:
                self._register(option)
        elif isinstance(kind, dict):
            if "name" in kind and kind["type"] in ("record", "enum"):
                self.named[kind["name"]] = kind
            for inner in (*(field["type"] for field in kind.get("fields", ())), kind.get("items"), kind.get("type")):
                self._register(inner)

    def filled(self, kind: Any, partial: Any, as_json: bool) -> Any:
        """Return the completed record in the form of the binary writer, or of Avro's JSON."""
        if isinstance(kind, str) and kind.rpartition(".")[2] in self.named:
            kind = self.named[kind.rpartition(".")[2]]
        if isinstance(kind, list):
            if partial is None:
                return None
            (branch,) = [option for option in kind if option != "null"]
            value = self.filled(branch, partial, as_json)
            return {self.name(branch): value} if as_json else value
        name = kind["type"] if isinstance(kind, dict) else kind
        if name == "record":
            values = partial or {}
            return {
                field["name"]: self.filled(field["type"], values.get(field["name"]), as_json)
                for field in kind["fields"]
            }
        if name == "array":
            return [self.filled(kind["items"], item, as_json) for item in partial or ()]
        empty_values: dict[str, Any] = {"map": {}, "string": "", "boolean": False}
        return empty_values.get(name, 0) if partial is None else partial

    def name(self, kind: Any) -> str:
        """Return the name of a union's branch in Avro's JSON."""
        text = kind if isinstance(kind, str) else kind.get("name", kind["type"])
        return f"{self.event['namespace']}.{text}" if text in self.named else str(text)


def counter_value(kind: str, name: str, number: int) -> int:
    """Return a counter's value: 0 where a TeraSort without errors counts nothing, else a different value for each
    task."""
    unused_counters = ("FILE_BYTES_READ", "HDFS_BYTES_WRITTEN") if kind == "MAP" else ("HDFS_BYTES_READ",)
    if name in unused_counters or any(
        word in name for word in ("LARGE", "COMBINE", "FAILED", "MERGED", "FILE_READ_OPS")
    ):
        return 0
    if "BYTES" in name:
        return 134_000_000 + number * 131 + len(name)
    return (1_340_000 if "RECORDS" in name else 2_000 if "MILLI" in name else 5) + number % 1009


def counters(kind: str, number: int) -> Json:
    """Return the counters of one task."""
    kind_counters = MAP_COUNTERS if kind == "MAP" else REDUCE_COUNTERS
    groups = {"FileSystemCounter": FILE_SYSTEM_COUNTERS, "TaskCounter": kind_counters}
    if kind == "MAP":
        groups["lib.input.FileInputFormatCounter"] = ["BYTES_READ"]
    return {
        "name": "COUNTERS",
        "groups": [
            {
                "name": f"org.apache.hadoop.mapreduce.{group}",
                "displayName": group,
                "counts": [
                    {
                        "name": name,
                        "displayName": name.replace("_", " ").capitalize(),
                        "value": counter_value(kind, name, number),
                    }
                    for name in names
                ],
            }
            for group, names in groups.items()
        ],
    }


def events(attempts: int) -> Iterator[tuple[str, str, Json]]:
    """Yield a job's events: type, record, and the fields that are not empty."""
    job = f"job_{JOB}"
    reduces = int(attempts * REDUCE_SHARE)
    end_ms = SUBMIT_MS + 100_000 + attempts * 20
    yield (
        "JOB_SUBMITTED",
        "JobSubmitted",
        {
            "jobid": job,
            "jobName": "TeraSort",
            "userName": "ann",
            "submitTime": SUBMIT_MS,
            "jobQueueName": "default",
            "jobConfPath": "hdfs://master:9000/job.xml",
        },
    )
    yield (
        "JOB_INITED",
        "JobInited",
        {
            "jobid": job,
            "launchTime": SUBMIT_MS + 5000,
            "totalMaps": attempts - reduces,
            "totalReduces": reduces,
            "jobStatus": "INITED",
        },
    )
    for number in range(attempts):
        yield from _attempt_events(number, "MAP" if number < attempts - reduces else "REDUCE")
    yield (
        "JOB_FINISHED",
        "JobFinished",
        {
            "jobid": job,
            "finishTime": end_ms,
            "finishedMaps": attempts - reduces,
            "finishedReduces": reduces,
            "totalCounters": counters("MAP", attempts),
            "mapCounters": counters("MAP", attempts),
            "reduceCounters": counters("REDUCE", attempts),
        },
    )


def _attempt_events(number: int, kind: str) -> Iterator[tuple[str, str, Json]]:
    """Yield the events of a task with one attempt."""
    letter, begin_ms = kind[0].lower(), SUBMIT_MS + 6000 + number * 20
    task = {"taskid": f"task_{JOB}_{letter}_{number:06d}", "taskType": kind}
    attempt = task | {"attemptId": f"attempt_{JOB}_{letter}_{number:06d}_0"}
    node = f"worker{number % 40}"
    finish_fields = {"finishTime": begin_ms + 30_000, "counters": counters(kind, number)}
    phase_fields = (
        {"mapFinishTime": begin_ms + 29_000}
        if kind == "MAP"
        else {"shuffleFinishTime": begin_ms + 9_000, "sortFinishTime": begin_ms + 10_000}
    )
    yield "TASK_STARTED", "TaskStarted", task | {"startTime": begin_ms, "splitLocations": node}
    yield (
        f"{kind}_ATTEMPT_STARTED",
        "TaskAttemptStarted",
        attempt
        | {
            "startTime": begin_ms + 900,
            "trackerName": node,
            "httpPort": 8042,
            "shufflePort": 13562,
            "containerId": f"container_{JOB}_01_{number + 2:06d}",
            "locality": "NODE_LOCAL",
            "avataar": "VIRGIN",
        },
    )
    yield (
        f"{kind}_ATTEMPT_FINISHED",
        f"{kind.capitalize()}AttemptFinished",
        attempt
        | finish_fields
        | phase_fields
        | {
            "taskStatus": "SUCCEEDED",
            "hostname": node,
            "port": 45454,
            "rackname": "/default-rack",
            "state": "done",
            **dict.fromkeys(("clockSplits", "cpuUsages", "vMemKbytes", "physMemKbytes"), [number % 97] * 12),
        },
    )
    yield (
        "TASK_FINISHED",
        "TaskFinished",
        task | finish_fields | {"status": "SUCCEEDED", "successfulAttemptId": attempt["attemptId"]},
    )


def write(path: Path, schema: Schema, attempts: int, *, as_json: bool) -> int:
    """Write the history and return how many events it has."""
    parsed = fastavro.parse_schema(json.loads(schema.text))
    count = 0
    with path.open("wb") as file:
        file.write((b"Avro-Json\n" if as_json else b"Avro-Binary\n") + schema.text.encode() + b"\n")
        for kind, record, values in events(attempts):
            completed_record = schema.filled(record, values, as_json)
            name = f"{schema.event['namespace']}.{record}"
            if as_json:
                file.write(
                    json.dumps({"type": kind, "event": {name: completed_record}}, separators=(",", ":")).encode()
                    + b"\n\n"
                )
            else:
                stream = io.BytesIO()
                fastavro.schemaless_writer(stream, parsed, {"type": kind, "event": (name, completed_record)})
                file.write(stream.getvalue())
            count += 1
    return count


def classpath(hadoop: Distribution, scratch: Path) -> str | None:
    """Return Hadoop's class path with Rumen; None, with a message, if Rumen is not available."""
    hadoop_jars = hadoop.classpath_at(str(hadoop.home))
    if tools := [*hadoop.home.rglob("hadoop-rumen-*.jar")]:
        return f"{hadoop_jars}:{tools[0]}"
    command = [
        "mvn",
        "-B",
        "-q",
        "dependency:copy",
        f"-DoutputDirectory={scratch / 'rumen'}",
        f"-Dartifact=org.apache.hadoop:hadoop-rumen:{hadoop.version}",
    ]
    result = None
    if shutil.which("mvn"):
        result = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=300, check=False)
    jars = [*(scratch / "rumen").glob("*.jar")]
    if not jars:
        print("Hadoop has no Rumen, and Maven did not fetch it:", result.stdout[-500:] if result else "no mvn here")
        return None
    return f"{hadoop_jars}:{jars[0]}"


def java(path: str, scratch: Path, *arguments: str) -> tuple[str, float]:
    """Run the harness; return its output and its wall time."""
    began = time.perf_counter()
    command = ["java", "-cp", path, str(scratch / "Harness.java"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if result.returncode != 0:
        raise SystemExit(f"java failed:\n{result.stderr[-2000:]}")
    return result.stdout, time.perf_counter() - began


def reader_times_s(path: str, scratch: Path, history: Path, times: int) -> tuple[list[float], list[float]]:
    """Return the times of parse_jhist and TraceBuilder, and require that both found every event."""
    trace, parsed = scratch / "trace.json", None
    files = (f"file://{trace}", f"file://{scratch / 'topology.json'}", f"file://{history}")
    command = ["java", "-cp", path, str(scratch / "Harness.java"), *files]
    assay_s: list[float] = []
    rumen_s: list[float] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as jvm:
        assert jvm.stdin is not None
        assert jvm.stdout is not None
        for _ in range(times):
            parsed = None
            began = time.perf_counter()
            parsed = parse_jhist(history.read_bytes(), start_unix_s=None)
            assay_s.append(time.perf_counter() - began)
            jvm.stdin.write("\n")
            jvm.stdin.flush()
            answer = next((line for line in jvm.stdout if line.startswith("took_ns")), None)
            if answer is None:
                raise SystemExit("java failed: run the harness by hand")
            rumen_s.append(int(answer.split()[1]) / 1e9)
        jvm.stdin.close()
    assert parsed is not None
    summary = json.loads(trace.read_text())
    tasks = sum(len(task["attempts"]) for task in summary["mapTasks"] + summary["reduceTasks"])
    print(f"  attempts found: {len(parsed.tasks)} by assay, {tasks} by Rumen")
    return assay_s, rumen_s


def main(attempts: int, times: int) -> None:
    """Generate the history, measure, and print."""
    hadoop = find()
    if hadoop is None:
        raise SystemExit("no Hadoop here: set HADOOP_HOME, or run `assay hadoop fetch`")
    with tempfile.TemporaryDirectory(prefix="jhist-") as folder:
        scratch = Path(folder)
        (scratch / "Harness.java").write_text(HARNESS)
        path = classpath(hadoop, scratch)
        if path is None:
            raise SystemExit(1)
        schema, start_up_s = java(path, scratch)
        print(f"Hadoop {hadoop.version}; JVM's start-up, compiling the harness: {start_up_s:.1f} s (not counted)")
        for encoding, as_json in (("Avro-Binary", False), ("Avro-Json", True)):
            history = scratch / f"job_{JOB}-{SUBMIT_MS}-ann-TeraSort-{SUBMIT_MS}-1-1-SUCCEEDED-default-0.jhist"
            count = write(history, Schema(schema.strip()), attempts, as_json=as_json)
            print(f"{encoding}: {count} events, {history.stat().st_size / 1e6:.0f} MB, {times} times each")
            assay_s, rumen_s = reader_times_s(path, scratch, history, times)
            for name, times_s in (("assay parse_jhist", assay_s), ("Rumen TraceBuilder", rumen_s)):
                fastest_s = min(times_s)
                print(
                    f"  {name}: first {times_s[0]:.2f} s, fastest {fastest_s:.2f} s = {count / fastest_s:,.0f} events/s"
                )
            print(
                f"  ratio: {rumen_s[0] / assay_s[0]:.1f} of the first reads, "
                f"{min(rumen_s) / min(assay_s):.1f} of the fastest reads (n = {times})"
            )


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(numbers[0] if numbers else 20_000, numbers[1] if len(numbers) > 1 else 8)
