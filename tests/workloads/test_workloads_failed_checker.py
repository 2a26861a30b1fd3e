"""Test checks that can't decide: a validator that could not run, and an expected count that is unknown."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from assay.model.plans.program import Outcome, StoredFiles
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size, ValidationInput, ValidationResult

SIZE = Size(600, 3)
NO_STAGING = "java.io.IOException: Permission denied: /elsewhere/staging"
JOB = Outcome(0, "", {"group": {"MAP_INPUT_RECORDS": 9, "REDUCE_OUTPUT_RECORDS": 9}}, 0, 20.0)
FAILED = Outcome(1, NO_STAGING, {}, 0, 2.0)


class Files:
    """A file system where all is as it should be."""

    async def exists(self, path: str) -> bool:
        return True

    async def stored(self, path: str) -> StoredFiles:
        return StoredFiles(4, SIZE.data_bytes, 3 * SIZE.data_bytes)

    async def read(self, path: str) -> bytes:
        return b""

    async def paths(self, path: str) -> list[str]:
        return []


def validate(name: str, check: Outcome | None) -> ValidationResult:
    return asyncio.run(workloads()[name].validate(SIZE, JOB, ValidationInput(Files(), {}, check, "/in")))


@pytest.mark.parametrize(("name", "program"), [("terasort", "TeraValidate"), ("sort", "SortValidator")])
def test_a_check_that_could_not_run_states_its_error_and_has_no_result(name: str, program: str) -> None:
    judged = validate(name, FAILED)
    assert judged.failed_checker is FAILED
    [broken] = [check for check in judged.checks if not check.passed]
    assert (broken.name, broken.detail) == ("sorted output", f"{program} could not run: {NO_STAGING}")


def test_a_validator_that_compared_decides_whatever_its_exit_code() -> None:
    wrong = replace(FAILED, output="java.io.IOException: (-1 v/s 7) Checksum mismatch")
    assert validate("sort", wrong).failed_checker is None
    assert [check.name for check in validate("sort", wrong).checks if not check.passed] == ["sorted output"]


@pytest.mark.parametrize(
    ("name", "counters", "check", "detail"),
    [
        (
            "pagerank",
            {"PAGERANK_LINKS": 77},
            "links",
            "77 links; the expected count is unknown: no GRAPH_LINKS in the input's manifest",
        ),
        (
            "shuffle",
            {"SHUFFLE_RECEIVED_CHECKSUM": 5, "SHUFFLE_SENT_CHECKSUM": 0},
            "checksum",
            "5 (sum of CRC32); the expected count is unknown: no value above 0 of the job's counter "
            "SHUFFLE_SENT_CHECKSUM",
        ),
        (
            "sql-join",
            {},
            "visits",
            "not reported; the expected count is unknown: no SELECTED_VISITS in the input's manifest",
        ),
    ],
)
def test_a_check_without_an_expected_count_fails_and_names_its_source(
    name: str, counters: dict[str, int], check: str, detail: str
) -> None:
    job = replace(JOB, counters={"group": counters})
    judged = asyncio.run(workloads()[name].validate(SIZE, job, ValidationInput(Files(), {}, None, "/in")))
    assert [(c.passed, c.detail) for c in judged.checks if c.name == check] == [(False, detail)]
