"""Test the reader of logs by line, for any size."""

from __future__ import annotations

from pathlib import Path

from assay.questions.runs.log_lines import LINE_MAX, PART_BYTES, log_hits, log_lines
from assay.store import Repository
from builders import make_run

LOG = b"".join(f"line {n}: {'x' * (n % 90)}\r\n".encode() for n in range(1, 20_001)) + b"the end \xff"


def filled(root: Path, content: bytes) -> tuple[Repository, str]:
    repository = Repository.create(root / "r")
    run = make_run(0)
    repository.publish(run, logs={"a.log": content})
    return repository, run.run_id


def test_parts_have_whole_lines_with_their_numbers_and_together_are_the_log(tmp_path: Path) -> None:
    repository, run_id = filled(tmp_path, LOG)
    expected = LOG.decode("utf-8", "replace").replace("\r", "").split("\n")
    lines: list[str] = []
    at: int | None = 0
    while at is not None:
        part = log_lines(repository, run_id, "a.log", at)
        assert part.first == len(lines) + 1
        assert sum(map(len, part.lines)) <= PART_BYTES
        lines += part.lines
        at = part.next_offset_bytes
    assert lines == expected


def test_a_part_of_a_log_that_starts_within_a_line_begins_with_the_next_line(tmp_path: Path) -> None:
    repository, run_id = filled(tmp_path, b"one\ntwo\nthree\n")
    part = log_lines(repository, run_id, "a.log", 5)
    assert (part.first, part.lines, part.offset_bytes) == (3, ("three",), 8)
    assert log_lines(repository, run_id, "a.log", 99).lines == ()


def test_lines_are_matched_in_any_case_and_link_to_their_position(tmp_path: Path) -> None:
    repository, run_id = filled(tmp_path, LOG)
    hits = log_hits(repository, run_id, "a.log", "LINE 1999")
    assert [hit.number for hit in hits.hits] == [1999, *range(19_990, 20_000)]
    assert (hits.total, hits.lines) == (11, 20_001)
    part = log_lines(repository, run_id, "a.log", hits.hits[1].offset_bytes)
    assert part.first < 19_990 <= part.first + len(part.lines) - 1
    assert log_hits(repository, run_id, "a.log", "line").total == 20_000


def test_a_log_without_line_ends_does_not_fill_the_memory(tmp_path: Path) -> None:
    repository, run_id = filled(tmp_path, b"y" * (3 * LINE_MAX + 5))
    part = log_lines(repository, run_id, "a.log")
    assert [len(line) for line in part.lines] == [LINE_MAX] * 3 + [5]
