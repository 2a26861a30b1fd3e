"""Test the warnings about applications that an observed run lacks."""

from assay.execution.engines.hadoop.jobs.observed_jobs import left_out_warnings
from assay.model import WarningCode


def texts(applications: int, jobs: int, read_jobs: int) -> list[str]:
    return [warning.words for warning in left_out_warnings(applications, jobs, read_jobs, "hana")]


def test_applications_of_other_engines_are_not_called_unreadable() -> None:
    assert texts(5, 3, 3) == ["2 of 5 applications are left out: they are not MapReduce jobs"]


def test_jobs_without_a_readable_history_are_counted_among_the_jobs() -> None:
    assert texts(5, 5, 4) == ["1 of 5 jobs are left out: hana could not read their history"]
    assert len(texts(5, 3, 1)) == 2


def test_there_is_no_warning_if_every_application_is_read() -> None:
    assert texts(3, 3, 3) == []
    assert {warning.code for warning in left_out_warnings(5, 3, 1, "hana")} == {WarningCode.TRACE}
