"""Test the spans of ``assay run --otlp`` and ``assay.run``: a server decodes OTLP with OpenTelemetry's message types.

The campaigns are simulated, and a Spark event log is imported. No collector of another project takes part.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

import assay as assay_api
import spark_samples
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.interfaces.telemetry.spans import receiver_address, send_spans
from assay.store import Repository
from command import printed
from simulator_support import EXAMPLE, needs_simulator

pytestmark = pytest.mark.slow


@contextmanager
def receiver(status: int = 200) -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """Yield the address of a receiver of OTLP on a free port, and the list of its requests."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            assert self.headers["Content-Type"] == "application/x-protobuf"
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join(timeout=10)


def simulated(repository: Path, url: str) -> Result:
    words = ["run", str(EXAMPLE), "--simulate", "--only", "terasort", "--until", "2 runs", "--otlp", url]
    return CliRunner().invoke(assay, [*words, "--repository", str(repository)])


def spans_in(requests: list[ExportTraceServiceRequest]) -> list[Span]:
    return [
        span
        for request in requests
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def duration_s(span: Span) -> float:
    return float(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9


def check_nesting(spans: list[Span]) -> None:
    """Check that each span is within its parent, and that the stages of a job cover at most the time of the job."""
    children: dict[bytes, list[Span]] = defaultdict(list)
    for span in spans:
        children[span.parent_span_id].append(span)
    for span in spans:
        for child in children[span.span_id]:
            assert span.start_time_unix_nano <= child.start_time_unix_nano + 1_000_000
            assert child.end_time_unix_nano <= span.end_time_unix_nano + 1_000_000
        if span.name.startswith("job "):
            covered_ns, end_ns = 0, 0
            for stage in sorted(children[span.span_id], key=lambda stage: stage.start_time_unix_nano):
                covered_ns += max(0, stage.end_time_unix_nano - max(end_ns, stage.start_time_unix_nano))
                end_ns = max(end_ns, stage.end_time_unix_nano)
            assert covered_ns <= span.end_time_unix_nano - span.start_time_unix_nano + 1_000_000


@needs_simulator
def test_the_spans_of_a_campaign_have_the_times_of_its_runs_and_attempts(tmp_path: Path) -> None:
    with receiver() as (url, requests):
        done = simulated(tmp_path / "r", url)
    assert done.exit_code == 0, done.output
    spans = spans_in(requests)
    assert f"{len(spans)} spans sent to {url}/v1/traces" in done.stderr
    children: dict[bytes, list[Span]] = defaultdict(list)
    for span in spans:
        children[span.parent_span_id].append(span)
    (campaign,) = children[b""]
    store = Repository.open(tmp_path / "r")
    runs = {run.run_id: run for run in store.runs()}
    assert len(runs) == 2
    assert {span.trace_id for span in spans} == {campaign.trace_id}
    seen = {}
    for span in children[campaign.span_id]:
        facts = {item.key: item.value.string_value for item in span.attributes}
        seen[facts["assay.run_id"]] = span
    assert seen.keys() == runs.keys()
    for run_id, span in seen.items():
        run, tasks = runs[run_id], store.tasks(run_id)
        assert duration_s(span) == pytest.approx(run.duration_s, abs=1e-5)
        assert span.start_time_unix_nano / 1e9 == pytest.approx(datetime.fromisoformat(run.started_at).timestamp())
        stages = [stage for job in children[span.span_id] for stage in children[job.span_id]]
        attempts = [attempt for stage in stages for attempt in children[stage.span_id]]
        assert {stage.name for stage in stages} == {"map", "reduce"}
        assert len(attempts) == len(tasks) > 0
        assert sum(map(duration_s, attempts)) == pytest.approx(
            sum(task.end_s - task.start_s for task in tasks), abs=1e-3
        )
    check_nesting(spans)
    ends = [span.end_time_unix_nano for span in seen.values()]
    assert campaign.start_time_unix_nano == min(span.start_time_unix_nano for span in seen.values())
    assert campaign.end_time_unix_nano == max(ends)


@needs_simulator
def test_a_receiver_that_refuses_spans_does_not_lose_runs(tmp_path: Path) -> None:
    with receiver(status=400) as (url, _):
        done = simulated(tmp_path / "r", url)
    assert done.exit_code == 0, done.output
    assert (
        f"note: no spans are at {url}/v1/traces: the receiver of spans did not accept them; the runs are kept"
        in done.stderr
    )
    assert len(Repository.open(tmp_path / "r").runs()) == 2


def test_an_address_that_is_not_of_http_is_refused_before_the_first_run(tmp_path: Path) -> None:
    done = simulated(tmp_path / "r", "localhost:4318")
    assert isinstance(done.exception, SpecificationError)
    assert done.exception.hint == "such as http://localhost:4318"
    assert not (tmp_path / "r").exists()


def test_spark_stages_have_the_times_of_the_event_log(tmp_path: Path) -> None:
    (tmp_path / "app-1").write_bytes(spark_samples.log(spark_samples.application()))
    printed("import", tmp_path / "app-1", "--repository", tmp_path / "r")
    store = Repository.open(tmp_path / "r")
    (run,) = store.runs()
    with receiver() as (url, requests):
        sent = send_spans(store, [run.run_id], receiver_address(url))
    spans = spans_in(requests)
    assert len(spans) == sent == 1 + 1 + 1 + 2 + 4
    check_nesting(spans)
    named = {span.name: span for span in spans}
    start_ns = named["stage 0.0"].start_time_unix_nano - 1_100_000_000
    assert start_ns == spark_samples.START_MS * 1_000_000
    stages = {name: span for name, span in named.items() if name.startswith("stage ")}
    assert {name: duration_s(span) for name, span in stages.items()} == pytest.approx(
        {"stage 0.0": 2.9, "stage 1.0": 1.9}, abs=1e-6
    )
    (job,) = (span for span in spans if span.name.startswith("job "))
    assert {span.parent_span_id for span in stages.values()} == {job.span_id}
    attempts = [span for span in spans if span.name.startswith("task ")]
    assert sorted(map(duration_s, attempts)) == pytest.approx([0.8, 1.9, 1.9, 1.9], abs=1e-6)
    assert [duration_s(span) for span in attempts if span.status.code == Status.STATUS_CODE_ERROR] == pytest.approx(
        [0.8], abs=1e-6
    )


def named_times(spans: list[Span]) -> list[tuple[str, float]]:
    """Return name and duration of the spans of runs, stages and attempts, whose names are the same each time."""
    fixed = [span for span in spans if not span.name.startswith(("campaign ", "job "))]
    return sorted((span.name, round(duration_s(span), 4)) for span in fixed)


@needs_simulator
def test_python_sends_the_spans_of_the_command(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with receiver() as (url, requests), caplog.at_level("INFO", "assay.run"):
        done = assay_api.run(EXAMPLE, tmp_path / "r", only="terasort", until="2 runs", simulate=True, otlp=url)
    assert done.value.made == 2
    spans = spans_in(requests)
    assert f"{len(spans)} spans sent to {url}/v1/traces" in caplog.messages
    check_nesting(spans)
    with receiver() as (url, again):
        assert simulated(tmp_path / "command", url).exit_code == 0
    names, times_s = zip(*named_times(spans), strict=True)
    other_names, other_times_s = zip(*named_times(spans_in(again)), strict=True)
    assert names == other_names
    assert times_s == pytest.approx(other_times_s, abs=1e-5)
    with pytest.raises(SpecificationError, match="otlp is a text"):
        assay_api.run(EXAMPLE, tmp_path / "r", simulate=True, otlp=5)  # type: ignore[arg-type]
