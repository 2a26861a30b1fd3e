"""Group runs that are not valid by their cause.

In: runs. Out: one :class:`Cause` for each status, failure class and wording. Differences in numbers, ids and paths are
ignored, so all timeouts such as "attempt 3 timed out after 600 s" are one cause.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.model import Run, RunStatus

EXAMPLES_MAX = 5
"""Maximum number of run ids listed with a cause."""
_TEXT_CHARACTERS_MAX = 300
"""Maximum length of a cause's text, in characters."""
_VARIABLE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f-]{27,}\b|\b(?:job|attempt|task|application|container)_[0-9_a-z]+\b"
    r"|(?:/[\w.+-]+){2,}|\d+(?:[.,]\d+)*"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Runs that are not valid for the same reason."""

    status: RunStatus
    failure_class: str | None
    """The class of the failure; None for imported runs and for runs of versions that did not record it."""
    text: str
    """The cause of the newest run; empty if none was recorded."""
    checks: tuple[str, ...]
    """Names of the checks that did not pass."""
    runs: int
    workloads: tuple[str, ...]
    layouts: tuple[str, ...]
    examples: tuple[str, ...]
    """Ids of the newest runs."""


def causes_of(runs: Sequence[Run]) -> list[Cause]:
    """Return the causes of the runs that are not valid, the most frequent first; ``runs`` are oldest first."""
    runs_by_cause: dict[tuple[str, str | None, str, tuple[str, ...]], list[Run]] = {}
    for run in runs:
        if run.status is not RunStatus.VALID:
            failed_checks = tuple(dict.fromkeys(check.name for check in run.checks if not check.passed))
            wording = _VARIABLE.sub("#", run.cause or "")
            runs_by_cause.setdefault((run.status, run.failure_class, wording, failed_checks), []).append(run)
    causes = [
        Cause(
            status=RunStatus(status),
            failure_class=failure_class,
            text=(members[-1].cause or "")[:_TEXT_CHARACTERS_MAX],
            checks=failed_checks,
            runs=len(members),
            workloads=tuple(sorted({run.workload for run in members})),
            layouts=tuple(sorted({run.layout for run in members})),
            examples=tuple(run.run_id for run in members[::-1][:EXAMPLES_MAX]),
        )
        for (status, failure_class, _, failed_checks), members in runs_by_cause.items()
    ]
    return sorted(causes, key=lambda cause: -cause.runs)
