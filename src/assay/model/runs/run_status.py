"""The status of a run (valid, invalid or failed), and the class of the cause if it is not valid."""

from enum import StrEnum


class RunStatus(StrEnum):
    """Status of a run. ``valid``: all checks passed; ``invalid``: a check failed; ``failed``: the run did not
    finish."""

    VALID = "valid"
    INVALID = "invalid"
    FAILED = "failed"


class FailureClass(StrEnum):
    """Class of the cause if a run is not valid. Each class has its own number of retries."""

    INFRASTRUCTURE = "infrastructure"
    """An unreachable host, a link that was down, a full or failing disk, a lost lab."""
    ENGINE = "engine"
    """Daemons, executors or a client that died, daemons that did not start, an input that could not be generated, a
    check that could not run, an incomplete job history."""
    WORKLOAD = "workload"
    """The job itself failed or exceeded its time limit."""
    VALIDATION = "validation"
    """The job succeeded, and a check of its output failed."""
