"""Test the decision-support workload: answers match the specification, wrong answers invalidate a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay.foundation.errors import EngineError
from assay.foundation.installation import installation
from assay.model.plans.program import Outcome, StoredFiles
from assay.model.runs.reference_answers import ReferenceAnswers, ReferenceQueries
from assay.store.reference_answers import compute_answers
from assay.workloads.decision_support import DecisionSupport, rows_of, same_value, scale_factor
from assay.workloads.workload import Size, ValidationInput, ValidationResult

WORKLOAD = DecisionSupport()
SIZE = Size(10**7, 1, maps=2)


@dataclass
class Answers:
    """A file system that holds answers, by question."""

    by_number: dict[str, str]

    async def exists(self, path: str) -> bool:
        return True

    async def stored(self, path: str) -> StoredFiles:
        return StoredFiles(0, 0, 0)

    async def paths(self, path: str) -> list[str]:
        return [f"{path}/question-{number}" for number in self.by_number]

    async def read(self, path: str) -> bytes:
        return self.by_number[path.rsplit("-", 1)[-1]].encode()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def reference(kept: Path) -> ReferenceAnswers:
    asked = WORKLOAD.reference(SIZE)
    assert asked is not None
    return compute_answers(asked, installation().table_generator, kept)


def texts(reference: ReferenceAnswers) -> dict[str, str]:
    return {
        f"{number:02d}": "".join("\t".join(r"\N" if cell is None else cell for cell in row) + "\n" for row in rows)
        for number, rows in enumerate(reference.rows, 1)
    }


def judged(
    reference: ReferenceAnswers, answers: dict[str, str], size: Size = SIZE, **counters: int
) -> ValidationResult:
    manifest = {"TABLES_BYTES": reference.files_bytes, "TABLES_CHECKSUM": reference.files_checksum}
    times = {f"QUESTION_{number:02d}_MS": 250 for number in range(1, 23)}
    ended = Outcome(0, "", {"assay": times | counters}, 0, 20.0)
    return asyncio.run(
        WORKLOAD.validate(size, ended, ValidationInput(Answers(answers), manifest, None, "/in", reference))
    )


def failing(judgement: ValidationResult) -> dict[str, str]:
    return {check.name: check.detail for check in judgement.checks if not check.passed}


def test_right_answers_over_the_same_files_are_valid_and_each_question_has_its_time(
    reference: ReferenceAnswers,
) -> None:
    result = judged(reference, texts(reference))
    assert failing(result) == {}
    assert result.metrics["question_22_s"] == 0.25
    assert result.metrics["power_s"] == 22 * 0.25
    assert set(result.metrics) <= {figure.metric for figure in WORKLOAD.figures}


def test_a_different_answer_a_missing_answer_and_other_files_are_reported(reference: ReferenceAnswers) -> None:
    right = texts(reference)
    wrong = right | {"01": right["01"].replace("\tF\t", "\tO\t", 1)}
    assert failing(judged(reference, wrong))["answers"].startswith("question 1: row 1 is A | O | ")
    short = right | {"16": right["16"].split("\n", 1)[1]}
    rows = len(reference.rows[15])
    assert failing(judged(reference, short))["answers"] == f"question 16: {rows - 1} rows, DuckDB has {rows}"
    assert "no answer was written" in failing(judged(reference, {"01": right["01"]}))["answers"]
    other = replace(reference, files_checksum=reference.files_checksum + 1)
    manifest = {"TABLES_BYTES": reference.files_bytes, "TABLES_CHECKSUM": reference.files_checksum}
    validation_input = ValidationInput(Answers(right), manifest, None, "/in", other)
    assert set(failing(asyncio.run(WORKLOAD.validate(SIZE, Outcome(0, "", {}, 0, 1.0), validation_input)))) == {
        "checksum of tables"
    }


def test_streams_with_different_answers_are_reported(reference: ReferenceAnswers) -> None:
    streams = replace(SIZE, options={"streams": "2"})
    answers = texts(reference)
    right = judged(reference, answers, streams, STREAMS_DIFFERING_ANSWERS=0, STREAMS_MS=1500)
    assert (failing(right), right.metrics["streams_s"]) == ({}, 1.5)
    assert set(failing(judged(reference, answers, streams, STREAMS_DIFFERING_ANSWERS=1))) == {"streams' answers"}
    assert WORKLOAD.programs(streams, "/in")["spark"].arguments[2] == "2"


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("25.522006", "25.522005853257337", True),
        ("25.52201", "25.522004", False),
        ("53758257134.8700", "53758257134.87", True),
        ("53758257134.8700", "53758257234.87", False),
        ("BRAZIL", "CANADA", False),
        ("1995-03-05", "1995-03-06", False),
        (None, "0", False),
        (None, None, True),
    ],
)
def test_numbers_may_differ_by_rounding_and_nothing_else_may(first: str | None, other: str | None, same: bool) -> None:
    assert same_value(first, other) == same


def test_a_scale_factor_is_a_gigabyte_each(tmp_path: Path) -> None:
    assert [scale_factor(Size(size, 1)) for size in (10**9, 10**7, 3 * 10**12, 1)] == ["1", "0.01", "3000", "0.000001"]
    assert rows_of(b"1\t\\N\n") == (("1", None),)


def test_answers_are_cached_and_a_missing_generator_is_reported(kept: Path, reference: ReferenceAnswers) -> None:
    asked = WORKLOAD.reference(SIZE)
    assert asked is not None
    assert compute_answers(asked, None if not kept.exists() else Path("/not/there"), kept) == reference, (
        "kept ones are taken"
    )
    assert [path.suffix for path in kept.iterdir()] == [".json"], "the tables are gone"
    for generator, words in (
        (None, "tpchgen-cli, which generates the tables, is not installed"),
        (Path("/not/there"), "could not be generated"),
    ):
        with pytest.raises(EngineError, match=words):
            compute_answers(ReferenceQueries("0.01", 1, ("SELECT 1",)), generator, kept)


PUBLISHED = {
    1: ("A", "F", "37734107.00", "56586554400.73", "53758257134.87"),
    3: ("2456423", "406181.0111", "1995-03-05"),
    5: ("INDONESIA", "55502041.1697"),
    6: ("123141078.2283",),
    10: ("57040", "Customer#000057040", "734235.2455"),
    11: ("129760", "17538456.86"),
    12: ("MAIL", "6202", "9324"),
    14: ("16.38",),
    15: ("8449", "Supplier#000008449"),
    17: ("348406.05",),
    18: ("Customer#000128120", "128120", "4722021"),
    19: ("3083843.0578",),
    21: ("Supplier#000002829", "20"),
    22: ("13", "888", "6737713.99"),
}
"""First rows that the specification prints for scale factor 1, for the columns that it prints."""


@pytest.mark.slow
def test_at_scale_factor_1_the_questions_have_the_specifications_answers(tmp_path: Path) -> None:
    asked = WORKLOAD.reference(Size(10**9, 1, maps=1))
    assert asked is not None
    answers = compute_answers(asked, installation().table_generator, tmp_path)
    counts = "4 100 10 5 5 1 4 2 175 20 1048 2 42 1 1 18314 1 57 1 186 100 7"
    assert [len(rows) for rows in answers.rows] == [int(count) for count in counts.split()]
    for question, row in PUBLISHED.items():
        first = answers.rows[question - 1][0]
        for printed, value in zip(row, first, strict=False):
            assert value is not None
            if printed != value:
                assert abs(float(value) - float(printed)) < 0.01, (question, first)
