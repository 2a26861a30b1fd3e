"""Test warnings: codes, texts, and warnings of runs from older versions."""

from __future__ import annotations

import json

import pytest

from assay.analysis.comparison.details.differences import was_cpu_limited
from assay.foundation.errors import RepositoryError
from assay.model.runs.warning import CodedWarning, WarningCode, coded_warning
from assay.store.bundles.bundle import decode_run, encode_run
from builders import make_run


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("the CPU was the limit: 91% busy on average; ratios come out too small", WarningCode.CPU_LIMIT),
        ("not shown to be cold: no permission", WarningCode.CACHES),
        ("w1: its clock is 12.3 s behind ours; its trace is shifted", WarningCode.CLOCK),
        ("2 task attempts end before they start: the nodes' clocks differed", WarningCode.CLOCK),
        ("w1: disk:hdd1 was not observed: no such file", WarningCode.TRACE),
        ("the duration follows from a printed throughput", WarningCode.TIME),
        ("the counter HDFS_BYTES_READ is -5: left out", WarningCode.LEFT_OUT),
        ("ALOJA's prediction calls it an outlier", WarningCode.FLAGGED),
        ("something else", WarningCode.OTHER),
    ],
)
def test_words_of_older_runs_are_recognised_where_the_bundle_is_read(words: str, code: WarningCode) -> None:
    stored = json.loads(encode_run(make_run(1)))
    run = decode_run(json.dumps(stored | {"warnings": [words], "schema_version": 1}).encode())
    assert run.warnings == (CodedWarning(code, words),) == (coded_warning(words),)
    assert decode_run(encode_run(run)) == run


def test_the_code_of_a_warning_decides_and_not_its_text() -> None:
    assert was_cpu_limited(make_run(1, warnings=(CodedWarning(WarningCode.CPU_LIMIT, "busy"),)))
    assert not was_cpu_limited(make_run(1, warnings=(CodedWarning(WarningCode.OTHER, "no CPU limit was set"),)))


@pytest.mark.parametrize("warnings", [["words", 3], [{"code": "no such", "words": ""}], {"a": 1}, "words"])
def test_damaged_warnings_are_an_error_with_a_message(warnings: object) -> None:
    stored = json.loads(encode_run(make_run(1)))
    with pytest.raises(RepositoryError, match="damaged"):
        decode_run(json.dumps(stored | {"warnings": warnings}).encode())
