"""Checks of an outcome that several workloads use."""

from assay.foundation.units import format_percent
from assay.model import Check, Outcome, StoredFiles
from assay.workloads.workload import ValidationInput

_TOLERANCE = 0.1
"""Maximum deviation of generated data from the requested size, as a share of that size."""


def common_checks(outcome: Outcome) -> tuple[Check, ...]:
    """Return the checks that every workload has: the client's exit status and failed task attempts."""
    return (
        Check("exit status", outcome.exit_status == 0, f"the client ended with {outcome.exit_status}"),
        Check("failed tasks", outcome.failed_tasks == 0, f"{outcome.failed_tasks} task attempts failed"),
    )


def equal(name: str, actual: float | None, expected: float | None, unit: str = "bytes", source: str = "") -> Check:
    """Return a check that two counts agree exactly; it fails if a count is unknown.

    ``source``: the counter or manifest entry with the expected count, for the message if the count is unknown.
    """
    reported = "not reported" if actual is None else f"{actual:,.0f} {unit}"
    if expected is None:
        return Check(name, False, f"{reported}; the expected count is unknown: no {source}")
    if actual is None:
        return Check(name, False, f"{reported}; expected {expected:,.0f} {unit}")
    return Check(name, actual == expected, f"{reported}, expected {expected:,.0f}")


def equal_to_counter(name: str, actual: float | None, outcome: Outcome, counter: str, unit: str = "bytes") -> Check:
    """Return a check that a count agrees exactly with a counter of the job, which must not be 0."""
    return equal(name, actual, outcome.counter(counter) or None, unit, f"value above 0 of the job's counter {counter}")


def equal_to_manifest(
    name: str, actual: float | None, validation_input: ValidationInput, entry: str, unit: str
) -> Check:
    """Return a check that a count agrees exactly with an entry of the input's manifest."""
    return equal(name, actual, validation_input.manifest.get(entry), unit, f"{entry} in the input's manifest")


def approximately_equal(name: str, actual_bytes: int, expected_bytes: int) -> Check:
    """Return a check that generated data has about the requested size; generators can't match it exactly."""
    passed = abs(actual_bytes - expected_bytes) <= _TOLERANCE * expected_bytes
    return Check(name, passed, f"{actual_bytes:,} bytes, expected {expected_bytes:,} ± {format_percent(_TOLERANCE)}")


def read_by_counter(outcome: Outcome, bytes_min: int) -> Check:
    """Return a check that the job read at least ``bytes_min``, by its counter."""
    read_bytes = outcome.counter("HDFS_BYTES_READ")
    passed = read_bytes is not None and read_bytes >= bytes_min
    return Check(
        "bytes read", passed, f"{read_bytes or 0:,} bytes by the job's counter, at least {bytes_min:,} expected"
    )


def unfinished_check(name: str, program: str, outcome: Outcome | None) -> Check:
    """Return the failed check ``name``: ``program``, which performs it, did not run to its end."""
    message = " | ".join(outcome.error_lines()) if outcome else "it was not started"
    return Check(name, False, f"{program} could not run: {message}")


def no_output_check(outcome: Outcome) -> Check:
    """Return the check that a job wrote nothing to HDFS."""
    written_bytes = outcome.counter("HDFS_BYTES_WRITTEN") or 0
    return Check("nothing written", written_bytes == 0, f"{written_bytes:,} bytes written to HDFS")


def replicas(stored_files: StoredFiles, replication: int) -> Check:
    """Return the check that all replicas of the output exist."""
    expected = stored_files.length_bytes * replication
    passed = stored_files.replica_bytes >= expected
    detail = f"{stored_files.replica_bytes:,} bytes in replicas, expected {expected:,} ({replication} copies)"
    return Check("replicas", passed, detail)
