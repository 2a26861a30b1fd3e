"""Define the events of a Spark event log, with the fields that assay needs.

The format is defined by org.apache.spark.util.JsonProtocol: keys are the listener's names, times are milliseconds since
1970, sizes are bytes. Keys that are not named here are skipped.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

Number = Annotated[int, Meta(ge=-(2**62), le=2**62 - 1)]
"""An amount, limited so that the sum of two fits into 64 bits."""
Index = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A serial number of Spark, such as that of a stage: Java's ``int``."""
TimeMs = Annotated[int, Meta(ge=0, le=2**53)]
REASON_LENGTH_MAX: Final = 300
"""Maximum length of a stored reason of failure, in characters."""


def _key(name: str, default: Any = msgspec.NODEFAULT) -> Any:
    return msgspec.field(name=name, default=default)


class AnyEvent(Struct):
    """Any event, by its name."""

    name: str = _key("Event")


class LogStart(Struct):
    """The first line of a log."""

    spark_version: str = _key("Spark Version")


class ApplicationStart(Struct):
    """The start of the application."""

    name: str = _key("App Name")
    time_ms: TimeMs = _key("Timestamp")
    app_id: str | None = _key("App ID", None)
    attempt_id: str | None = _key("App Attempt ID", None)


class ApplicationEnd(Struct):
    """The end of the application."""

    time_ms: TimeMs = _key("Timestamp")
    exit_code: Number | None = _key("ExitCode", None)


class EnvironmentUpdate(Struct):
    """The application's properties."""

    properties: dict[str, str] = _key("Spark Properties")
    jvm: dict[str, Any] = msgspec.field(name="JVM Information", default_factory=dict)


class ExecutorInfo(Struct):
    """An executor's cores and host."""

    cores: Number = _key("Total Cores")
    host: str = _key("Host", "")


class ExecutorAdded(Struct):
    """The addition of an executor."""

    executor_id: str = _key("Executor ID")
    info: ExecutorInfo = _key("Executor Info")


class ExecutorRemoved(Struct):
    """The removal of an executor."""

    executor_id: str = _key("Executor ID")
    reason: str = _key("Removed Reason", "")


class JobProperties(Struct):
    """A program's description of a job."""

    description: str = _key("spark.job.description", "")
    batch_time: str = _key("spark.streaming.internal.batchTime", "")
    query_id: str = _key("sql.streaming.queryId", "")


class JobStart(Struct):
    """The submission of a job."""

    job_id: Index = _key("Job ID")
    submitted_ms: TimeMs | None = _key("Submission Time", None)
    stage_ids: list[Index] = msgspec.field(name="Stage IDs", default_factory=list)
    properties: JobProperties | None = _key("Properties", None)


class JobFailure(Struct):
    """The cause of a job's failure."""

    message: str | None = _key("Message", None)


class JobResult(Struct):
    """The result of a job."""

    result: str = _key("Result")
    exception: JobFailure | None = _key("Exception", None)


class JobEnd(Struct):
    """The end of a job."""

    job_id: Index = _key("Job ID")
    result: JobResult = _key("Job Result")
    completed_ms: TimeMs | None = _key("Completion Time", None)


class StageInfo(Struct):
    """An attempt of a stage."""

    stage_id: Index = _key("Stage ID")
    attempt: Index = _key("Stage Attempt ID", 0)
    name: str = _key("Stage Name", "")
    tasks: Index = _key("Number of Tasks", 0)
    parents: list[Index] = msgspec.field(name="Parent IDs", default_factory=list)
    submitted_ms: TimeMs | None = _key("Submission Time", None)
    completed_ms: TimeMs | None = _key("Completion Time", None)
    failure: str | None = _key("Failure Reason", None)


class StageCompleted(Struct):
    """The end of an attempt of a stage."""

    info: StageInfo = _key("Stage Info")


class TaskInfo(Struct):
    """A task attempt."""

    task_id: Number = _key("Task ID")
    index: Index = _key("Index")
    launch_ms: TimeMs = _key("Launch Time")
    attempt: Index = _key("Attempt", 0)
    host: str = _key("Host", "")
    executor_id: str = _key("Executor ID", "")
    finish_ms: TimeMs = _key("Finish Time", 0)
    failed: bool = _key("Failed", False)
    killed: bool = _key("Killed", False)


class TaskStart(Struct):
    """The start of a task attempt."""

    stage_id: Index = _key("Stage ID")
    info: TaskInfo = _key("Task Info")
    stage_attempt: Index = _key("Stage Attempt ID", 0)


class ShuffleRead(Struct):
    """Shuffle data that an attempt fetched."""

    remote_bytes: Number = _key("Remote Bytes Read", 0)
    local_bytes: Number = _key("Local Bytes Read", 0)
    wait_ms: Number = _key("Fetch Wait Time", 0)


class ShuffleWrite(Struct):
    """Shuffle data that an attempt wrote."""

    written_bytes: Number = _key("Shuffle Bytes Written", 0)
    time_ns: Number = _key("Shuffle Write Time", 0)


class InputMetrics(Struct):
    """Data that an attempt read from storage."""

    read_bytes: Number = _key("Bytes Read", 0)


class OutputMetrics(Struct):
    """Data that an attempt wrote to storage."""

    written_bytes: Number = _key("Bytes Written", 0)


class Metrics(Struct):
    """An attempt's times, memory and data."""

    run_ms: Number = _key("Executor Run Time", 0)
    cpu_ns: Number | None = _key("Executor CPU Time", None)
    deserialize_cpu_ns: Number = _key("Executor Deserialize CPU Time", 0)
    gc_ms: Number = _key("JVM GC Time", 0)
    memory_spilled_bytes: Number = _key("Memory Bytes Spilled", 0)
    disk_spilled_bytes: Number = _key("Disk Bytes Spilled", 0)
    peak_bytes: Number = _key("Peak Execution Memory", 0)
    shuffle_read: ShuffleRead | None = _key("Shuffle Read Metrics", None)
    shuffle_write: ShuffleWrite | None = _key("Shuffle Write Metrics", None)
    input: InputMetrics | None = _key("Input Metrics", None)
    output: OutputMetrics | None = _key("Output Metrics", None)


class Reason(Struct):
    """The reason for the end of an attempt."""

    reason: str = _key("Reason")
    class_name: str = _key("Class Name", "")
    description: str | None = _key("Description", None)
    loss: str | None = _key("Loss Reason", None)
    message: str | None = _key("Message", None)

    def line(self) -> str:
        """Return why an attempt failed, in one line."""
        text = self.description or self.loss or self.message or ""
        first_line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        return f"{': '.join(part for part in (self.class_name or self.reason, first_line) if part)}"[:REASON_LENGTH_MAX]


class ExecutorPeaks(Struct):
    """Peak values of the attempt's executor during the attempt, in bytes."""

    heap_bytes: Number = _key("JVMHeapMemory", 0)


class TaskEnd(Struct):
    """The end of a task attempt."""

    stage_id: Index = _key("Stage ID")
    reason: Reason = _key("Task End Reason")
    info: TaskInfo = _key("Task Info")
    stage_attempt: Index = _key("Stage Attempt ID", 0)
    type: str = _key("Task Type", "")
    metrics: Metrics | None = _key("Task Metrics", None)
    executor: ExecutorPeaks | None = _key("Task Executor Metrics", None)
