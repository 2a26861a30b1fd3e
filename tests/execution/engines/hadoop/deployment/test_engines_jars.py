"""Test Hadoop's jars without Maven: from a given folder, with verified checksums."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay.execution.engines.hadoop.deployment import distribution, jars
from assay.execution.engines.hadoop.deployment.jars import Jar, read_list, repository
from assay.foundation.errors import EngineError
from assay.foundation.installation import Installation

CONTENTS = {f"org/example/part-{n}/1.0/part-{n}-1.0.jar": f"jar {n}".encode() * 1000 for n in range(20)}
JARS = tuple(Jar(path, len(content), hashlib.sha256(content).hexdigest()) for path, content in CONTENTS.items())
SETTINGS = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors>
  <mirror><id>no</id><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url><blocked>true</blocked></mirror>
  <mirror><id>other</id><mirrorOf>*,!central</mirrorOf><url>https://other.example/</url></mirror>
  {}
</mirrors><profiles><profile><repositories>
  <repository><id>central</id><url>https://profile.example/${{env.PLACE}}</url></repository>
</repositories></profile></profiles></settings>"""


def _settings(home: Path, mirror: str = "") -> None:
    (home / ".m2").mkdir(exist_ok=True)
    (home / ".m2" / "settings.xml").write_text(SETTINGS.format(mirror))


class _Server(BaseHTTPRequestHandler):
    """Answers with what is in CONTENTS; every path is unavailable at first, as a busy server may be."""

    asked: dict[str, int]

    def do_GET(self) -> None:
        path = self.path.removeprefix("/maven/")
        self.asked[path] = self.asked.get(path, 0) + 1
        status = 404 if path not in CONTENTS else 503 if self.asked[path] == 1 else 200
        self.send_response(status)
        content = CONTENTS[path] if status == 200 else b""
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    _Server.asked = {}
    monkeypatch.setattr(jars, "_PAUSE_S", 0.01)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}/maven"
        served.shutdown()
        thread.join()


def _fetched(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_list_is_read_line_by_line_and_a_wrong_line_is_named() -> None:
    text = "".join(f"{jar.sha256}  {jar.size_bytes}  {jar.path}\n" for jar in JARS)
    assert read_list(text) == JARS
    assert JARS[0].name == "part-0-1.0.jar"
    for wrong in ("abc  1  a/b.jar", f"{'0' * 64}  1  ../../etc/a.jar"):
        with pytest.raises(EngineError, match="line 21"):
            read_list(f"{text}{wrong}\n")


def test_the_repository_is_the_one_that_the_user_names(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no Maven repository") as raised:
        repository({}, tmp_path)
    assert "MAVEN_REPOSITORY" in str(raised.value)
    _settings(tmp_path)
    assert repository({"PLACE": "maven2"}, tmp_path) == "https://profile.example/maven2"
    _settings(tmp_path, "<mirror><mirrorOf>central</mirrorOf><url>https://mirror.example/m/</url></mirror>")
    assert repository({}, tmp_path) == "https://mirror.example/m"
    assert repository({"MAVEN_REPOSITORY": "file:///srv/maven/"}, tmp_path) == "file:///srv/maven"
    for wrong in ("mirror.example/m", "ftp://mirror.example", "https://"):
        with pytest.raises(EngineError, match="not the address"):
            repository({"MAVEN_REPOSITORY": wrong}, tmp_path)
    (tmp_path / ".m2" / "settings.xml").write_text("<settings>")
    with pytest.raises(EngineError, match="can't be read"):
        repository({}, tmp_path)


def test_jars_come_from_a_server_that_is_busy_at_first(server: str, tmp_path: Path) -> None:
    lines: list[str] = []
    jars.fetch(JARS, server, tmp_path / "lib", lines.append)
    assert _fetched(tmp_path / "lib") == {Path(path).name: content for path, content in CONTENTS.items()}
    assert "20 jars" in lines[0]
    assert set(_Server.asked.values()) == {2}


def test_jars_come_from_a_folder(tmp_path: Path) -> None:
    for path, content in CONTENTS.items():
        (tmp_path / "my repo" / path).parent.mkdir(parents=True)
        (tmp_path / "my repo" / path).write_bytes(content)
    jars.fetch(JARS, (tmp_path / "my repo").as_uri(), tmp_path / "lib", lambda _: None)
    assert len(_fetched(tmp_path / "lib")) == 20
    absent = Jar("org/example/none/1/none-1.jar", 1, "0" * 64)
    with pytest.raises(EngineError, match="the Maven repository lacks this jar"):
        jars.fetch((absent,), (tmp_path / "my repo").as_uri(), tmp_path / "other", lambda _: None)


@pytest.mark.parametrize(
    ("jar", "words"),
    [
        (Jar("org/example/none/1/none-1.jar", 1, "0" * 64), "answers 404"),
        (Jar(JARS[0].path, JARS[0].size_bytes, "0" * 64), "SHA-256"),
        (Jar(JARS[0].path, JARS[0].size_bytes - 1, JARS[0].sha256), "larger than"),
    ],
)
def test_a_missing_or_different_file_is_refused(server: str, tmp_path: Path, jar: Jar, words: str) -> None:
    with pytest.raises(EngineError, match=words):
        jars.fetch((*JARS[1:], jar), server, tmp_path / "lib", lambda _: None)
    assert jar.name not in _fetched(tmp_path / "lib")


def test_a_password_in_the_address_is_used_and_never_shown(server: str, tmp_path: Path) -> None:
    address, lines = server.replace("//", "//me:secret@"), list[str]()
    jars.fetch(JARS[:1], address, tmp_path / "lib", lines.append)
    _Server.asked = {}
    missing = Jar("org/example/none/1/none-1.jar", 1, "0" * 64)
    with pytest.raises(EngineError, match="answers 404") as raised:
        jars.fetch((missing,), address, tmp_path / "other", lines.append)
    with pytest.raises(EngineError) as wrong:
        repository({"MAVEN_REPOSITORY": "ftp://me:secret@host"}, tmp_path)
    assert "secret" not in f"{raised.value} {wrong.value} {lines}"


def test_a_server_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_PAUSE_S", 0.01)
    with pytest.raises(EngineError, match="transfer failed"):
        jars.fetch(JARS[:1], "http://127.0.0.1:9/maven", tmp_path / "lib", lambda _: None)


def test_without_maven_a_wheel_assembles_hadoop_from_its_list(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation_ = Installation(tmp_path / "site-packages" / "assay")
    (installation_.package / "shipped").mkdir(parents=True)
    (installation_.package / "shipped" / "hadoop-jars.txt").write_text(
        "".join(f"{jar.sha256}  {jar.size_bytes}  {jar.path}\n" for jar in JARS)
    )
    monkeypatch.setattr(distribution, "installation", lambda: installation_)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    monkeypatch.delenv("MAVEN_REPOSITORY", raising=False)
    with pytest.raises(EngineError, match="no Maven repository") as raised:
        distribution.assemble(lambda _: None)
    assert "HADOOP_HOME" in str(raised.value)
    assert distribution.find() is None
    monkeypatch.setenv("MAVEN_REPOSITORY", server)
    made = distribution.assemble(lambda _: None)
    assert len(_fetched(made.home / "lib")) == 20
    assert distribution.find() == made
