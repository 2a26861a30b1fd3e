"""Test the progress line: its text, its interval outside a terminal, and its silence."""

import sys

import pytest

from assay.interfaces.cli import terminal
from assay.interfaces.cli.terminal import stage_progress


class Clock:
    """A clock that the test sets."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(terminal, "time", clock)
    return clock


def test_a_log_file_has_a_line_every_30_s_with_the_remaining_time(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with stage_progress() as progress:
        for clock.now_s, done in ((1.0, 0), (11.0, 100), (31.0, 300), (40.0, 390), (61.0, 600)):
            progress("MB read", done, 1000)
        clock.now_s = 95.0
        progress("runs read", 1500, 0)
    assert capsys.readouterr().err.splitlines() == [
        "MB read: 300 of 1,000, about 1 min 10 s left",
        "MB read: 600 of 1,000, about 40 s left",
        "runs read: 1,500",
    ]


def test_a_terminal_has_one_line_that_is_removed(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with stage_progress() as progress:
        for clock.now_s, done in ((1.0, 0), (1.1, 50), (2.0, 100)):
            progress("files", done, 200)
    text = capsys.readouterr().err
    assert "\n" not in text
    assert [line for line in text.split("\r\x1b[2K") if line] == [
        "files: 0 of 200",
        "files: 100 of 200, about 1.0 s left",
    ]


def test_quiet_progress_shows_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with stage_progress(quiet=True) as progress:
        clock.now_s = 100.0
        progress("MB read", 1, 2)
    assert capsys.readouterr().err == ""
