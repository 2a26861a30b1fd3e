"""Test the spans of ``assay run --otlp``: an HTTP server decodes OTLP with OpenTelemetry's own message types.

The campaigns are simulated. No collector of another project takes part.
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
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.store import Repository
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
    for span in spans:
        for child in children[span.span_id]:
            assert span.start_time_unix_nano <= child.start_time_unix_nano + 1_000_000
            assert child.end_time_unix_nano <= span.end_time_unix_nano + 1_000_000
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
