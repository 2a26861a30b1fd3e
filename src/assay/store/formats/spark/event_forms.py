"""Define the events of a Spark event log as they are written, with the fields that assay needs.

The format is defined by org.apache.spark.util.JsonProtocol: keys are the listener's names, times are milliseconds since
1970, sizes are bytes. Keys that are not named here are skipped.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

Number = Annotated[int, Meta(ge=-(2**62), le=2**62 - 1)]
"""An amount: two of them add up to a number of 64 bits."""
Index = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A number that Spark counts up, such as a stage's: Java's ``int``."""
TimeMs = Annotated[int, Meta(ge=0, le=2**53)]
REASON_LENGTH_MAX: Final = 300
"""Maximum length of a stored reason of failure, in characters."""


def _named(name: str, default: Any = msgspec.NODEFAULT) -> Any:
    return msgspec.field(name=name, default=default)


class AnyEvent(Struct):
    """Any event, by its name."""

    name: str = _named("Event")


class LogStart(Struct):
    """The first line of a log."""

    spark_version: str = _named("Spark Version")


class ApplicationStart(Struct):
    """The application begins."""

    name: str = _named("App Name")
    time_ms: TimeMs = _named("Timestamp")
    app_id: str | None = _named("App ID", None)
    attempt_id: str | None = _named("App Attempt ID", None)


class ApplicationEnd(Struct):
    """The application ends."""

    time_ms: TimeMs = _named("Timestamp")
    exit_code: Number | None = _named("ExitCode", None)


class EnvironmentUpdate(Struct):
    """The application's properties."""

    properties: dict[str, str] = _named("Spark Properties")
    jvm: dict[str, Any] = msgspec.field(name="JVM Information", default_factory=dict)


class ExecutorInfo(Struct):
    """An executor's cores and host."""

    cores: Number = _named("Total Cores")
    host: str = _named("Host", "")


class ExecutorAdded(Struct):
    """An executor is added."""

    executor_id: str = _named("Executor ID")
    info: ExecutorInfo = _named("Executor Info")


class ExecutorRemoved(Struct):
    """An executor is removed."""

    executor_id: str = _named("Executor ID")
    reason: str = _named("Removed Reason", "")


class JobProperties(Struct):
    """A program's description of a job."""

    description: str = _named("spark.job.description", "")
    batch_time: str = _named("spark.streaming.internal.batchTime", "")
    query_id: str = _named("sql.streaming.queryId", "")


class JobStart(Struct):
    """A job is submitted."""

    job_id: Index = _named("Job ID")
    submitted_ms: TimeMs | None = _named("Submission Time", None)
    stage_ids: list[Index] = msgspec.field(name="Stage IDs", default_factory=list)
    properties: JobProperties | None = _named("Properties", None)


class JobFailure(Struct):
    """The cause of a job's failure."""

    message: str | None = _named("Message", None)


class JobResult(Struct):
    """The result of a job."""

    result: str = _named("Result")
    exception: JobFailure | None = _named("Exception", None)


class JobEnd(Struct):
    """A job ends."""

    job_id: Index = _named("Job ID")
    result: JobResult = _named("Job Result")
    completed_ms: TimeMs | None = _named("Completion Time", None)


class StageInfo(Struct):
    """An attempt of a stage."""

    stage_id: Index = _named("Stage ID")
    attempt: Index = _named("Stage Attempt ID", 0)
    name: str = _named("Stage Name", "")
    tasks: Index = _named("Number of Tasks", 0)
    parents: list[Index] = msgspec.field(name="Parent IDs", default_factory=list)
    submitted_ms: TimeMs | None = _named("Submission Time", None)
    completed_ms: TimeMs | None = _named("Completion Time", None)
    failure: str | None = _named("Failure Reason", None)


class StageCompleted(Struct):
    """An attempt of a stage ends."""

    info: StageInfo = _named("Stage Info")


class TaskInfo(Struct):
    """A task attempt."""

    task_id: Number = _named("Task ID")
    index: Index = _named("Index")
    launch_ms: TimeMs = _named("Launch Time")
    attempt: Index = _named("Attempt", 0)
    host: str = _named("Host", "")
    executor_id: str = _named("Executor ID", "")
    finish_ms: TimeMs = _named("Finish Time", 0)
    failed: bool = _named("Failed", False)
    killed: bool = _named("Killed", False)


class TaskStart(Struct):
    """A task attempt begins."""

    stage_id: Index = _named("Stage ID")
    info: TaskInfo = _named("Task Info")
    stage_attempt: Index = _named("Stage Attempt ID", 0)


class ShuffleRead(Struct):
    """Shuffle data that an attempt fetched."""

    remote_bytes: Number = _named("Remote Bytes Read", 0)
    local_bytes: Number = _named("Local Bytes Read", 0)
    wait_ms: Number = _named("Fetch Wait Time", 0)


class ShuffleWrite(Struct):
    """Shuffle data that an attempt wrote."""

    written_bytes: Number = _named("Shuffle Bytes Written", 0)
    time_ns: Number = _named("Shuffle Write Time", 0)


class InputMetrics(Struct):
    """Data that an attempt read from storage."""

    read_bytes: Number = _named("Bytes Read", 0)


class OutputMetrics(Struct):
    """Data that an attempt wrote to storage."""

    written_bytes: Number = _named("Bytes Written", 0)


class Metrics(Struct):
    """An attempt's times, memory and data."""

    run_ms: Number = _named("Executor Run Time", 0)
    cpu_ns: Number | None = _named("Executor CPU Time", None)
    deserialize_cpu_ns: Number = _named("Executor Deserialize CPU Time", 0)
    gc_ms: Number = _named("JVM GC Time", 0)
    memory_spilled_bytes: Number = _named("Memory Bytes Spilled", 0)
    disk_spilled_bytes: Number = _named("Disk Bytes Spilled", 0)
    peak_bytes: Number = _named("Peak Execution Memory", 0)
    shuffle_read: ShuffleRead | None = _named("Shuffle Read Metrics", None)
    shuffle_write: ShuffleWrite | None = _named("Shuffle Write Metrics", None)
    input: InputMetrics | None = _named("Input Metrics", None)
    output: OutputMetrics | None = _named("Output Metrics", None)


class Reason(Struct):
    """The reason for the end of an attempt."""

    reason: str = _named("Reason")
    class_name: str = _named("Class Name", "")
    description: str | None = _named("Description", None)
    loss: str | None = _named("Loss Reason", None)
    message: str | None = _named("Message", None)

    def line(self) -> str:
        """Return why an attempt failed, in one line."""
        text = self.description or self.loss or self.message or ""
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        return f"{': '.join(part for part in (self.class_name or self.reason, first) if part)}"[:REASON_LENGTH_MAX]


class ExecutorPeaks(Struct):
    """Peak values of the attempt's executor during the attempt, in bytes."""

    heap_bytes: Number = _named("JVMHeapMemory", 0)


class TaskEnd(Struct):
    """A task attempt ends."""

    stage_id: Index = _named("Stage ID")
    reason: Reason = _named("Task End Reason")
    info: TaskInfo = _named("Task Info")
    stage_attempt: Index = _named("Stage Attempt ID", 0)
    type: str = _named("Task Type", "")
    metrics: Metrics | None = _named("Task Metrics", None)
    executor: ExecutorPeaks | None = _named("Task Executor Metrics", None)
