"""Test ``assay pull URL`` and ``assay push URL`` with a real server on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.foundation.errors import AssayError, RepositoryError
from assay.interfaces.cli.main import assay
from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.server.security import read_tokens
from assay.store import Repository
from assay.store.exchange.remote import Remote, pull
from assay.store.exchange.transfer import bundle_ids
from builders import make_run
from web_support import READ, UPLOAD, filled, served, tokens_file


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Repository]]:
    folder = tmp_path_factory.mktemp("server")
    repository = filled(folder / "repository")
    with served(create_app(repository.root, tokens=read_tokens(tokens_file(folder)))) as url:
        yield url, repository


def command(*words: str | Path, token: str | None = READ) -> tuple[int, str]:
    environment = {"ASSAY_TOKEN": token} if token else {"ASSAY_TOKEN": None}
    result = CliRunner().invoke(assay, [str(word) for word in words], env=environment)
    error = result.exception
    code = error.exit_code if isinstance(error, AssayError) else result.exit_code
    return code, result.output + (str(error) if isinstance(error, AssayError) else "")


@pytest.mark.slow
def test_a_pull_copies_missing_bundles_and_a_second_pull_nothing(
    server: tuple[str, Repository], tmp_path: Path
) -> None:
    url, source = server
    code, text = command("pull", url, "--repository", tmp_path / "r")
    assert (code, text.splitlines()[0]) == (0, f"{len(bundle_ids(source))} bundles copied, 0 already present")
    target = Repository.open(tmp_path / "r")
    assert target.verify() == []
    assert {run.run_id for run in target.runs()} == {run.run_id for run in source.runs()}
    assert command("pull", url, "--repository", tmp_path / "r")[1].startswith("0 bundles copied, ")


@pytest.mark.slow
def test_an_interrupted_pull_continues(
    server: tuple[str, Repository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, source = server
    target = Repository.create(tmp_path / "r")
    first = bundle_ids(source)[0]
    with Remote(url, READ) as remote:
        assert remote.fetch(first, target)
        asked: list[str] = []
        original = remote.fetch

        def fetch(bundle_id: str, to: Repository) -> bool:
            asked.append(bundle_id)
            return original(bundle_id, to)

        monkeypatch.setattr(remote, "fetch", fetch)
        done = pull(remote, target, lambda *_: None)
    assert first not in asked
    assert (done.copied, done.already_there) == (len(bundle_ids(source)) - 1, 1)


@pytest.mark.slow
def test_a_push_gives_what_is_missing(server: tuple[str, Repository], tmp_path: Path) -> None:
    url, target = server
    source = Repository.create(tmp_path / "r")
    source.publish(make_run(8000), logs={"a.log": b"a" * 100_000})
    token = tmp_path / "token"
    token.write_text(UPLOAD + "\n")
    code, text = command("push", url, "--repository", source.root, "--token-file", token, token=None)
    assert (code, text.splitlines()[0]) == (0, "1 bundle copied, 0 already present")
    assert target.run(make_run(8000).run_id) == source.run(make_run(8000).run_id)
    assert command("push", url, "--repository", source.root, token=UPLOAD)[1].startswith("0 bundles copied, 1 already")


@pytest.mark.slow
def test_a_damaged_bundle_is_refused_and_the_others_go(server: tuple[str, Repository], tmp_path: Path) -> None:
    url, target = server
    source = Repository.create(tmp_path / "r")
    for number in (8100, 8101):
        source.publish(make_run(number), logs={"a.log": b"a"})
    damaged = source.root / "bundles" / make_run(8100).run_id / "logs" / "a.log.gz"
    damaged.write_bytes(b"other")
    code, text = command("push", url, "--repository", source.root, token=UPLOAD)
    assert code == 6
    assert "1 bundle copied" in text
    assert f"refused: {make_run(8100).run_id}" in text
    assert make_run(8100).run_id not in bundle_ids(target)


def test_a_bundle_damaged_at_the_server_is_not_taken(tmp_path: Path) -> None:
    source = Repository.create(tmp_path / "s")
    for number in (1, 2):
        source.publish(make_run(number), logs={"a.log": b"a"})
    (source.root / "bundles" / make_run(1).run_id / "logs" / "a.log.gz").write_bytes(b"other")
    with served(create_app(source.root)) as url:
        code, text = command("pull", url, "--repository", tmp_path / "r", token=None)
    assert code == 6
    assert "1 bundle copied" in text
    assert bundle_ids(Repository.open(tmp_path / "r")) == [make_run(2).run_id]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "token", "message"),
    [
        (("pull",), None, "this server needs a token"),
        (("pull",), "nonsense-nonsense-nonsense", "this server needs a token"),
        (("push",), READ, "this token lacks the role upload"),
    ],
)
def test_a_refused_client_gets_a_request_for_a_token(
    server: tuple[str, Repository], tmp_path: Path, words: tuple[str], token: str | None, message: str
) -> None:
    repository = Repository.create(tmp_path / "r")
    repository.publish(make_run(8200))
    code, text = command(*words, server[0], "--repository", repository.root, token=token)
    assert code == 6
    assert message in text


class _Strange(BaseHTTPRequestHandler):
    """A server that is something else, or breaks off in the middle."""

    answers: dict[str, tuple[bytes, dict[str, str]]] = {}  # noqa: RUF012 - set by the test

    def do_GET(self) -> None:
        body, headers = self.answers.get(self.path.partition("?")[0], (b"<html>hello</html>", {}))
        self.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def strange() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Strange)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[]", b"{}", b'{"assay": 1}', b"", b"\xff\xfe"])
def test_an_address_without_an_assay_server_is_an_error(strange: str, tmp_path: Path, body: bytes) -> None:
    _Strange.answers = {"/api/v1/about": (body, {})}
    code, text = command("pull", strange, "--repository", tmp_path / "r", token=None)
    assert code == 6
    assert "this is not an assay server" in text


def test_a_connection_that_breaks_leaves_nothing(strange: str, tmp_path: Path) -> None:
    _Strange.answers = {
        "/api/v1/about": (b'{"assay": "1"}', {}),
        "/api/v1/bundles": (b'{"bundles": ["x"], "more": false}', {}),
        "/api/v1/bundles/x": (b"half", {"Content-Length": "100000"}),
    }
    code, text = command("pull", strange, "--repository", tmp_path / "r", token=None)
    assert code == 6
    assert "the connection broke" in text
    assert list((tmp_path / "r" / "partial").iterdir()) == []
    assert list((tmp_path / "r" / "bundles").iterdir()) == []


def test_a_server_cannot_choose_the_path_of_a_bundle(strange: str, tmp_path: Path) -> None:
    _Strange.answers = {
        "/api/v1/about": (b'{"assay": "1"}', {}),
        "/api/v1/bundles": (b'{"bundles": ["../../evil"], "more": false}', {}),
    }
    assert command("pull", strange, "--repository", tmp_path / "r", token=None)[0] == 6


def test_an_unreachable_server_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    code, text = command("pull", f"http://127.0.0.1:{port}", "--repository", tmp_path / "r", token=None)
    assert code == 6
    assert "no connection" in text
    with pytest.raises(RepositoryError):
        Remote("http://[::bad").__enter__()


@pytest.mark.parametrize(
    ("lines", "mode", "message"),
    [
        ("read short", 0o600, "at least"),
        ("read", 0o600, "ROLES TOKEN"),
        ("root aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0o600, "unknown roles"),
        ("# nothing", 0o600, "the token file has no token"),
        ("read aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0o644, "other users may read"),
    ],
)
def test_a_token_file_that_is_not_safe_is_refused(tmp_path: Path, lines: str, mode: int, message: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(lines)
    path.chmod(mode)
    repository = Repository.create(tmp_path / "r").root
    code, text = command("serve", "--repository", repository, "--token-file", path, "--port", "0")
    assert code == 2
    assert message in text


def test_serve_refuses_to_be_open_to_all(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r").root
    for host in ("0.0.0.0", "::", "assay.example"):
        code, text = command("serve", "--repository", repository, "--host", host)
        assert code == 2
        assert "there are no tokens" in text
