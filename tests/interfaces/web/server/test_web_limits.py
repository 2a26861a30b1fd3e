"""Test limits on idle and slow connections, log size, and token guesses."""

from __future__ import annotations

import asyncio
import io
import logging
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from assay.interfaces.web.server import log
from assay.interfaces.web.server.connections import ConnectionLimits, _client_network
from assay.interfaces.web.server.log import RateLimitedHandler
from assay.interfaces.web.server.security import ATTEMPTS_MAX, ATTEMPTS_MAX_OF_ALL, LoginLimiter
from assay.store import Repository
from builders import make_run
from web_support import READ, guarded, served

pytestmark = pytest.mark.slow  # most of these tests wait for a limit of a second or two

DESCRIPTORS = 300
SHORT = ConnectionLimits(connections=40, per_address=20, header_s=1.0, idle_s=1.5, body_bytes_per_s=1000.0)


@contextmanager
def running_server(repository: Path, folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Start ``assay serve`` with few descriptors; yield its port, its process, and its log."""
    log_file = folder / "log"
    with log_file.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "serve", "--port", "0", "--repository", str(repository)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)),
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            yield int(line.split("127.0.0.1:")[1].split("/")[0]), process.pid, log_file
        finally:
            process.terminate()
            process.wait(20)


def status_of_about(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/about", timeout=60) as answer:
        return int(answer.status)


def test_half_open_connections_block_no_client_and_fill_no_log(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    with running_server(tmp_path / "r", tmp_path) as (port, pid, log_file), ExitStack() as opened:
        assert status_of_about(port) == 200
        for number in range(2 * DESCRIPTORS):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            if number % 2:
                connection.send(b"GET / HTTP/1.1\r\n")
        for _ in range(5):
            assert status_of_about(port) == 200
        assert len(list(Path(f"/proc/{pid}/fd").iterdir())) < DESCRIPTORS * 0.8
        time.sleep(1.0)
        assert log_file.stat().st_size < 20_000


def slow_app() -> FastAPI:
    app = FastAPI()
    app.state.inside, app.state.released = 0, False

    @app.get("/fast")
    async def fast() -> str:
        return "fast"

    @app.get("/slow")
    async def slow() -> str:
        app.state.inside += 1
        ends = time.monotonic() + (20.0 if app.state.released is None else 3.0)
        while time.monotonic() < ends and not app.state.released:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return "slow"

    @app.get("/large")
    async def large() -> StreamingResponse:
        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(1000):
                yield bytes(1 << 16)

        return StreamingResponse(chunks())

    @app.put("/body")
    async def body(request: Request) -> int:
        return len(await request.body())

    return app


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with served(slow_app(), limits=SHORT) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        yield host, int(port)


@contextmanager
def connection_to(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=30) as connection:
        yield connection


def ended_after_s(connection: socket.socket, drip: bytes = b"") -> float:
    """Return after how long the server ends a connection that sends ``drip`` every tenth of a second, at most 15 s."""
    connection.settimeout(0.1)
    began_s = time.monotonic()
    while time.monotonic() - began_s < 15:
        try:
            if drip:
                connection.send(drip)
            if not connection.recv(1000):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began_s


@pytest.mark.parametrize("begin", [b"", b"GET /fast HTTP/1.1\r\nHost: x\r\nA: "])
@pytest.mark.parametrize("drip", [b"", b"a"])
def test_a_late_header_ends_the_connection(address: tuple[str, int], begin: bytes, drip: bytes) -> None:
    with connection_to(address) as connection:
        connection.sendall(begin)
        assert 0.4 < ended_after_s(connection, drip) < 12


def test_a_late_second_header_ends_the_connection(address: tuple[str, int]) -> None:
    with connection_to(address) as connection:
        connection.sendall(b"GET /fast HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /fast HTTP/1.1\r\n")
        assert 0.4 < ended_after_s(connection) < 12


@pytest.mark.parametrize("drip", [b"", b"a"])
def test_a_body_below_the_minimum_rate_ends_the_connection(address: tuple[str, int], drip: bytes) -> None:
    with connection_to(address) as connection:
        connection.sendall(b"PUT /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc")
        assert 0.4 < ended_after_s(connection, drip) < 12


def test_a_slow_body_above_the_minimum_rate_is_read(address: tuple[str, int]) -> None:
    with connection_to(address) as connection:
        connection.sendall(b"PUT /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n")
        for _ in range(25):
            connection.sendall(bytes(400))
            time.sleep(0.12)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_an_answer_that_the_client_does_not_read_ends_the_connection(address: tuple[str, int]) -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(address)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(3.0)
        received_bytes = 0
        try:
            while chunk := connection.recv(1 << 16):
                received_bytes += len(chunk)
        except ConnectionError:
            pass
        assert received_bytes < 50_000_000


def test_a_slow_answer_does_not_count_as_client_time(address: tuple[str, int]) -> None:
    with connection_to(address) as connection:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_new_connection_gets_503_while_all_others_are_being_answered() -> None:
    app = slow_app()
    app.state.released = None
    with served(app, limits=ConnectionLimits(connections=4, per_address=3)) as url, ExitStack() as opened:
        host, _, port = url.removeprefix("http://").partition(":")
        server_address = (host, int(port))
        for _ in range(3):
            connection = opened.enter_context(connection_to(server_address))
            connection.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        while app.state.inside < 3:
            time.sleep(0.05)
        refused = opened.enter_context(connection_to(server_address))
        assert refused.recv(1000).startswith(b"HTTP/1.1 503")
        app.state.released = True
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        again = opened.enter_context(connection_to(server_address))
        again.sendall(b"GET /fast HTTP/1.1\r\nHost: x\r\n\r\n")
        assert again.recv(1000).startswith(b"HTTP/1.1 200")


def test_limits_leave_descriptors_for_files() -> None:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = ConnectionLimits(connections=100_000, per_address=100_000).within_descriptors()
    assert 4 <= limits.connections < most
    assert limits.per_address < limits.connections


def test_an_ipv6_client_is_its_64_bit_network() -> None:
    assert _client_network("2001:db8::1") == _client_network("2001:db8::ffff:1") != _client_network("2001:db8:0:1::1")
    assert _client_network("::ffff:192.0.2.7") == _client_network("192.0.2.7") != _client_network("192.0.2.8")


def test_lines_of_one_kind_are_limited() -> None:
    now, written = [0.0], io.StringIO()
    handler = RateLimitedHandler(written, lambda: now[0])
    logger = logging.Logger("assay.test_lines")
    logger.addHandler(handler)
    for number in range(10_000):
        logger.warning("again %d %s", number, "x" * 10_000)
    logger.error("once")
    assert len(written.getvalue().splitlines()) == log.LINES_MAX + 1
    assert len(written.getvalue()) < (log.LINES_MAX + 1) * (log.LINE_MAX + 1)
    now[0] = log.WINDOW_S
    logger.error("later")
    assert "9,995 more lines like this" in written.getvalue()
    handler.close()


def test_a_long_line_keeps_its_end_where_a_traceback_names_the_error() -> None:
    written = io.StringIO()
    logger = logging.Logger("assay.test_long_line")
    logger.addHandler(RateLimitedHandler(written))
    logger.error("GET /cost %s IndexError: list index out of range", "x" * 3 * log.LINE_MAX)
    line = written.getvalue()
    assert len(line) <= log.LINE_MAX + len("\n")
    assert " GET /cost x" in line
    assert line.endswith("x IndexError: list index out of range\n")


def test_the_number_of_dropped_lines_is_written_by_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "WINDOW_S", 0.2)
    written = io.StringIO()
    handler = RateLimitedHandler(written, lambda: time.monotonic() * 1000)
    logger = logging.Logger("assay.test_timer")
    logger.addHandler(handler)
    monkeypatch.setattr(handler, "_close_windows", lambda: None)
    for number in range(7):
        logger.warning("again %d", number)
    monkeypatch.undo()
    deadline = time.monotonic() + 20
    while "2 more lines like this" not in written.getvalue() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "2 more lines like this" in written.getvalue()


def test_errors_raised_on_different_lines_are_different_kinds() -> None:
    written = io.StringIO()
    handler = RateLimitedHandler(written)
    logger = logging.Logger("assay.test_errors")
    logger.addHandler(handler)
    for text in ["x"] * 10 + ["{"] * 10:
        try:
            _ = int(text) if text == "x" else {"a": 1}[text]
        except (ValueError, KeyError):
            logger.exception("it went wrong")
    handler.close()
    assert written.getvalue().count("invalid literal") == log.LINES_MAX
    assert written.getvalue().count("KeyError") == log.LINES_MAX


def test_wrong_tokens_slow_down_requests_of_their_address() -> None:
    now = [0.0]
    limiter = LoginLimiter(lambda: now[0])
    limiter.accept("192.0.2.9", "good")
    for _ in range(ATTEMPTS_MAX):
        assert limiter.wait_s("192.0.2.9", "bad") == 0
        limiter.reject("192.0.2.9")
    assert limiter.wait_s("192.0.2.9", "bad") > 0
    assert limiter.wait_s("192.0.2.9", "good") == 0, "a token accepted before passes"
    assert limiter.wait_s("192.0.2.10", "other") == 0
    now[0] += limiter.wait_s("192.0.2.9", "bad")
    assert limiter.wait_s("192.0.2.9", "bad") == 0
    for number in range(ATTEMPTS_MAX_OF_ALL):
        limiter.reject(f"2001:db8::{number}")
    assert limiter.wait_s("192.0.2.11", "other") > 0, "guesses from many addresses are slow too"


def test_wrong_tokens_are_refused_after_a_few(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    client = guarded(tmp_path / "r", tmp_path)
    guard = client.app.state.context.guard  # type: ignore[attr-defined]
    guard.login_limiter, guard.wrong_token_delay_s = LoginLimiter(lambda: 0.0), 0.1
    began_s = time.monotonic()
    wrong = {"Authorization": "Bearer nonsense"}
    statuses = [client.get("/api/v1/runs", headers=wrong).status_code for _ in range(ATTEMPTS_MAX + 1)]
    assert statuses == [401] * ATTEMPTS_MAX + [429]
    assert time.monotonic() - began_s >= ATTEMPTS_MAX * 0.1
    page = client.post("/login", data={"token": READ}, headers={"Origin": "http://assay.example"})
    assert (page.status_code, "Try again" in page.text) == (429, True)
    assert client.get("/api/v1/runs", headers={"Authorization": f"Bearer {READ}"}).status_code == 429


def test_the_body_of_a_change_is_not_read_without_a_token(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    client = guarded(tmp_path / "r", tmp_path)
    assert client.post("/api/v1/cost", content=b"{" * 1000).status_code == 401
    large = client.post("/login", content=b"a" * 20_000, headers={"Origin": "http://assay.example"})
    assert large.status_code == 413
