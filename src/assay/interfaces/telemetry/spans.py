"""Send the runs of a campaign as OpenTelemetry spans: campaign, run, job, stage, task attempt.

In: runs with their task attempts, and the address of a receiver. Out: spans in OTLP over HTTP. A run's span has the run
time; a stage's span goes from the start of its first attempt to the end of its last one. A stage is a phase of a
MapReduce job (map, reduce) or a stage attempt of Spark.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.version import __version__
from assay.model import Run, RunStatus, TaskAttempt
from assay.store import Repository

Facts = Mapping[str, str | int | float]
BATCH_SPANS = 512
"""Maximum number of spans in one request."""
TIMEOUT_S = 10.0
"""Maximum time for one request with its repetitions, in seconds."""
TRACES_PATH = "/v1/traces"
"""Path that OTLP defines for spans."""
_SPARK_KINDS = ("shuffle_map", "result", "task")


def receiver_address(url: str) -> str:
    """Return the address that takes spans; an address without a path gets OTLP's path. Raises SpecificationError."""
    url_parts = urlsplit(url)
    if url_parts.scheme not in ("http", "https") or not url_parts.netloc:
        raise SpecificationError(
            f"{url!r} is not an HTTP address", where="--otlp", hint="such as http://localhost:4318"
        )
    return url if url_parts.path.strip("/") else url.rstrip("/") + TRACES_PATH


def send_spans(repository: Repository, run_ids: Sequence[str], address: str) -> int:
    """Send the spans of a campaign's runs; return their number. Raises AssayError if the receiver refuses them."""
    span_collector = InMemorySpanExporter()
    resource = Resource.create({"service.name": "assay", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(span_collector))
    runs = [run for run in map(repository.run, run_ids) if run.started_at]
    if runs:
        _make_spans(provider.get_tracer("assay", __version__), repository, runs)
    spans = span_collector.get_finished_spans()
    exporter = OTLPSpanExporter(endpoint=address, timeout=TIMEOUT_S)
    try:
        for start_index in range(0, len(spans), BATCH_SPANS):
            if exporter.export(spans[start_index : start_index + BATCH_SPANS]) is not SpanExportResult.SUCCESS:
                raise AssayError("the receiver of spans did not accept them", where=address)
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]
    return len(spans)


def _make_spans(tracer: Tracer, repository: Repository, runs: Sequence[Run]) -> None:
    starts = {run.run_id: datetime.fromisoformat(run.started_at).timestamp() for run in runs}
    facts: Facts = {"assay.campaign_id": runs[0].campaign_id, "assay.plan": runs[0].plan, "assay.runs": len(runs)}
    campaign = tracer.start_span(f"campaign {runs[0].plan}", start_time=_ns(min(starts.values())), attributes=facts)
    for run in runs:
        start_s = starts[run.run_id]
        span = _child(tracer, campaign, _run_name(run), start_s, _run_facts(run))
        if run.status is not RunStatus.VALID:
            span.set_status(Status(StatusCode.ERROR, run.cause or str(run.status)))
        _job_spans(tracer, span, run, repository.tasks(run.run_id), start_s)
        span.end(_ns(start_s + run.duration_s))
    campaign.end(_ns(max(starts[run.run_id] + run.duration_s for run in runs)))


def _job_spans(tracer: Tracer, parent: Span, run: Run, tasks: Sequence[TaskAttempt], start_s: float) -> None:
    """Make the spans of a run's jobs, with their stages and task attempts. A job without a record covers its tasks."""
    ends = {job.job_id: (job.submit_s, job.finish_s) for job in run.jobs}
    ids = dict.fromkeys([*ends, *(task.job_id for task in tasks)])
    for job_id in ids:
        job_tasks = [task for task in tasks if task.job_id == job_id]
        job_start_s, job_end_s = ends.get(job_id) or _extent(job_tasks)
        job = _child(tracer, parent, f"job {job_id}", start_s + job_start_s, {"assay.job_id": job_id})
        for name, stage_tasks in _stages(job_tasks):
            stage_start_s, stage_end_s = _extent(stage_tasks)
            stage = _child(tracer, job, name, start_s + stage_start_s, {"assay.tasks": len(stage_tasks)})
            for task in stage_tasks:
                facts = {"assay.attempt_id": task.attempt_id, "assay.node": task.node, "assay.kind": task.kind}
                attempt = _child(tracer, stage, f"task {task.task_id}", start_s + task.start_s, facts)
                if task.status != "succeeded":
                    attempt.set_status(Status(StatusCode.ERROR, task.status))
                attempt.end(_ns(start_s + task.end_s))
            stage.end(_ns(start_s + stage_end_s))
        job.end(_ns(start_s + job_end_s))


def _stages(tasks: Sequence[TaskAttempt]) -> Iterator[tuple[str, list[TaskAttempt]]]:
    """Yield the name and the attempts of each stage, in order of start."""
    stages: dict[str, list[TaskAttempt]] = {}
    for task in sorted(tasks, key=lambda task: task.start_s):
        name = f"stage {task.task_id.rpartition('.')[0]}" if task.kind in _SPARK_KINDS else task.kind
        stages.setdefault(name, []).append(task)
    yield from stages.items()


def _child(tracer: Tracer, parent: Span, name: str, start_s: float, facts: Facts) -> Span:
    return tracer.start_span(name, set_span_in_context(parent), start_time=_ns(start_s), attributes=facts)


def _run_name(run: Run) -> str:
    return " ".join([run.workload, *run.levels.values()])


def _run_facts(run: Run) -> Facts:
    facts = {"assay.run_id": run.run_id, "assay.status": str(run.status), "assay.origin": str(run.origin)}
    return {**facts, "assay.repetition": run.repetition, **{f"assay.{key}": value for key, value in run.levels.items()}}


def _extent(tasks: Sequence[TaskAttempt]) -> tuple[float, float]:
    """Return the start of the first attempt and the end of the last one; 0 without attempts."""
    return min((task.start_s for task in tasks), default=0.0), max((task.end_s for task in tasks), default=0.0)


def _ns(unix_s: float) -> int:
    return round(unix_s * 1e9)
