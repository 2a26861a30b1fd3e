"""Test that control characters in imported runs and server answers never reach a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

import pytest

from assay.model.runs.run import Check
from assay.model.runs.run_status import RunStatus
from assay.store import Repository
from builders import coded_warnings, make_run
from program import called

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[8mhidden\x9b1A\x08\x7f\rover"
ELAPSED_TIME = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h(\r\x1b\[1A\x1b\[2K)?", re.DOTALL)
"""The line that a busy machine shows before an answer: from hiding the cursor to removing the line."""
CONTROL = re.compile(r"\x1b\[[0-9;]*m|\r\n|\n|\t")
"""What assay itself sends to a terminal: styles of tables, and ends of lines."""


def printed(*words: str | Path, terminal: bool, pager: str = "cat") -> str:
    """Return all that a command prints, to a terminal or to a file."""
    variables = {"PAGER": pager, "TERM": "xterm"}
    if not terminal:
        with mock.patch.dict(os.environ, variables):
            done = called(*words)
        return done.stdout + done.stderr
    command = [sys.executable, "-m", "assay", *map(str, words)]
    environment = os.environ | variables
    return ELAPSED_TIME.sub("", in_terminal(command, environment))


def in_terminal(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Return all that a program prints to a terminal of 120 columns."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as running:
        os.close(theirs)
        content = b""
        try:
            while piece := os.read(ours, 65536):
                content += piece
        except OSError:  # the other end is closed
            pass
        running.wait(timeout=60)
    os.close(ours)
    return content.decode()


def test_a_slow_answer_shows_the_elapsed_time_and_removes_it() -> None:
    code = (
        "import sys, time; from assay.interfaces.cli.terminal import elapsed_time\n"
        "with elapsed_time('working', after_s=0.1): time.sleep(0.5)\n"
        "print('answer')"
    )
    shown = in_terminal([sys.executable, "-c", code])
    _, title, after = shown.rpartition("working")
    assert title
    assert "0:00:00" in after
    assert "\x1b[2K" in after
    assert after.rstrip().endswith("answer")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("answer\n", "")


def assert_harmless(text: str) -> None:
    assert "hidden" in text
    assert "\\x1b" in text or "\x1b" not in text
    assert [f"{ord(c):02x}" for c in CONTROL.sub("", text) if ord(c) < 32 or 127 <= ord(c) < 160] == []
    assert "\x1b[8m" not in text


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository as an older version could have taken it: every text is evil."""
    repository = Repository.create(tmp_path_factory.mktemp("terminal") / "r")
    for number in range(4):
        repository.publish(make_run(number, layout=("HDD", "SSD")[number % 2], workload=f"sort{EVIL}"))
    changes = {
        "status": RunStatus.FAILED,
        "cause": EVIL,
        "warnings": coded_warnings(EVIL),
        "checks": (Check(EVIL, False, EVIL),),
    }
    repository.publish(make_run(9, **changes))
    return repository


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "file"])
@pytest.mark.parametrize(
    "command", [["runs"], ["show", make_run(9).run_id], ["decide", "--details", "groups"]], ids=lambda words: words[0]
)
def test_control_sequences_in_texts_of_a_run_are_shown_and_not_executed(
    repository: Repository, command: list[str], terminal: bool
) -> None:
    assert_harmless(printed(*command, "--repository", repository.root, terminal=terminal))


class _Hostile(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"message": f"no {EVIL}", "hint": EVIL}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hostile() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.slow
def test_a_hostile_server_s_error_is_shown_without_the_password(hostile: str, tmp_path: Path) -> None:
    for terminal in (True, False):
        text = printed("pull", f"http://alice:secret@{hostile}", "--repository", tmp_path / "r", terminal=terminal)
        assert_harmless(text)
        assert "alice:…@" in text
        assert "secret" not in text


@pytest.mark.parametrize(
    "address",
    [
        "http://alice:secret@127.0.0.1:1",
        "https://alice:secret@127.0.0.1:1/x",
        "http://alice:secret@127.0.0.1:x/",
        "http://alice:s@secret@127.0.0.1:1",
        "ftp://alice:secret@127.0.0.1/x",
    ],
)
def test_no_error_repeats_a_password(address: str, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    Repository.create(tmp_path / "r").publish(make_run(1))
    for command in ("pull", "push"):
        text = printed(command, address, "--repository", tmp_path / "r", terminal=False)
        assert "assay: " in text
        assert "secret" not in text


@pytest.mark.slow
def test_a_long_answer_goes_to_the_pager_of_a_terminal(repository: Repository) -> None:
    """The pager numbers the lines, so its output shows whether it ran."""
    show = ("show", make_run(9).run_id, "--repository", repository.root)
    changes = ("changes", "--repository", repository.root)
    pager = "cat -n"
    paged = printed(*show, terminal=True, pager=pager)
    assert paged.lstrip().startswith("1\trun ")
    assert_harmless(paged)
    assert printed("--no-pager", *show, terminal=True, pager=pager).startswith("run ")
    assert printed(*show, terminal=False, pager=pager).startswith("run ")
    assert not printed(*changes, terminal=True, pager=pager).lstrip().startswith("1\t"), "fits on the screen"
    assert printed("show", "no-such-run", terminal=True, pager=pager).startswith("assay: ")
