"""Remove private fields from runs: names of hosts and users, addresses, paths, and texts that may contain them.

In: runs with their task attempts and traces. Out: the same runs without private fields, and the list of removed fields.
Times, metrics, phases, factors and parameters stay. Nodes are numbered within each run. Free texts (causes, details of
checks, warnings, names of jobs and stages) are removed as a whole, because a text may quote a command or a path. A
parameter is removed if its value is an absolute path, an address, an account at a host, or contains a recorded name of
a host or user.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from assay.analysis.statistics import RunTable
from assay.model import Run, TaskAttempt, Trace

_PATH: Final = re.compile(r"(?:^|[\s,;=:\"'(\[])(?:/|~/)[^\s/]|\w+://|[A-Za-z]:\\")
_ACCOUNT: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*")
_ADDRESS: Final = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])|(?:[0-9a-f]{1,4}:){4,}[0-9a-f:]*")
_NAME_KEYS: Final = frozenset({"user", "login", "host", "hostname", "address"})
"""Keys of a recorded environment whose values name a host or a user."""
_PUBLISHED_COLUMNS: Final = (
    *("workload", "cluster", "layout", "engine", "status", "origin", "plan", "campaign_id", "network"),
)
"""Columns that are published as recorded: they name the subjects of the comparison."""
_FREE_TEXT_REASON: Final = "free text, which may contain host names, users and paths"
"""Why a text is removed whole."""
_VALUE_REASON: Final = "contains a path, an address or a recorded name"
"""Why a value is removed."""
_WORD: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class RemovedField:
    """A field that was removed, why, and from how many runs."""

    name: str
    why: str
    runs: int


@dataclass(frozen=True, slots=True)
class PublicRuns:
    """Runs without private fields."""

    runs: tuple[Run, ...]
    removed: tuple[RemovedField, ...]
    names: frozenset[str]
    """Recorded names of hosts and users."""


def public_runs(runs: Sequence[Run]) -> PublicRuns:
    """Return the runs without private fields, and what was removed."""
    names = frozenset().union(*(_recorded_names(run) for run in runs))
    counts: Counter[tuple[str, str]] = Counter()
    cleaned_runs = []
    for run in runs:
        public_run, removed_fields = _public_run(run, names)
        cleaned_runs.append(public_run)
        counts.update(removed_fields)
    ordered_counts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return PublicRuns(
        tuple(cleaned_runs), tuple(RemovedField(name, why, count) for (name, why), count in ordered_counts), names
    )


def public_parts(tasks: Sequence[TaskAttempt], trace: Trace) -> tuple[tuple[TaskAttempt, ...], Trace]:
    """Return the task attempts and the trace of one run with numbered nodes instead of their names."""
    numbers = _numbered_names({*trace.node, *(task.node for task in tasks)})
    renamed_trace = Trace(
        trace.t_s, [numbers[node] for node in trace.node], trace.subject, trace.metric, trace.counter, trace.value
    )
    return tuple(msgspec.structs.replace(task, node=numbers[task.node]) for task in tasks), renamed_trace


def private_columns(table: RunTable, names: frozenset[str]) -> list[str]:
    """Return the columns of a table with a private level."""
    return [
        name
        for name, column in table.columns.items()
        if name not in _PUBLISHED_COLUMNS and any(is_private(level, names) for level in column.levels)
    ]


def is_private(text: str, names: frozenset[str]) -> bool:
    """Return whether a text is a path, an address or an account, or contains one of ``names``."""
    if _PATH.search(text) or _ACCOUNT.search(text) or _ADDRESS.search(text):
        return True
    return bool(names) and any(word in names for word in _WORD.findall(text))


def _recorded_names(run: Run) -> set[str]:
    nodes = {cache.node for cache in run.caches} | {executor.node for executor in run.executors}
    return {name for name in (*nodes, *_named_in(run.environment)) if name}


def _named_in(tree: Any) -> Iterator[str]:
    """Yield the names of hosts and users in a recorded environment."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key == "nodes" and isinstance(value, Mapping):
                yield from map(str, value)
            if key in _NAME_KEYS and isinstance(value, str):
                yield value
            yield from _named_in(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _named_in(value)


def _numbered_names(names: set[str]) -> dict[str, str]:
    """Return a number for each node. An unknown node stays unknown."""
    known_names = sorted(name for name in names if name)
    return {"": "", **{name: f"node{number}" for number, name in enumerate(known_names, start=1)}}


def _public_run(run: Run, names: frozenset[str]) -> tuple[Run, set[tuple[str, str]]]:
    removed_fields = {(name, _FREE_TEXT_REASON) for name, is_present in _texts_of(run).items() if is_present}
    numbers = _numbered_names({cache.node for cache in run.caches} | {executor.node for executor in run.executors})
    if any(numbers.values()):
        removed_fields.add(("names of nodes", "host names; nodes are numbered within each run"))
    if run.environment:
        removed_fields.add(("environment", "hosts, addresses, users and installation paths"))
    changes: dict[str, Any] = {}
    for field in ("parameters", "workload_parameters", "levels", "sources"):
        values: Mapping[str, str] = getattr(run, field)
        public_values = {
            name: value for name, value in values.items() if name in _PUBLISHED_COLUMNS or not is_private(value, names)
        }
        removed_fields |= {(f"{field}: {name}", _VALUE_REASON) for name in values.keys() - public_values.keys()}
        changes[field] = public_values
    if is_private(run.source_id, names):
        removed_fields.add(("source_id", _VALUE_REASON))
        changes["source_id"] = ""
    return (
        replace(
            run,
            cause=None,
            environment={},
            baseline_id=None,
            warnings=(),
            checks=tuple(replace(check, detail="") for check in run.checks),
            caches=tuple(replace(cache, node=numbers[cache.node], reason=None) for cache in run.caches),
            jobs=tuple(replace(job, name="") for job in run.jobs),
            stages=tuple(replace(stage, name="", failure=None) for stage in run.stages),
            executors=tuple(replace(executor, node=numbers[executor.node]) for executor in run.executors),
            **changes,
        ),
        removed_fields,
    )


def _texts_of(run: Run) -> dict[str, bool]:
    return {
        "cause": bool(run.cause),
        "warnings": bool(run.warnings),
        "checks: detail": any(check.detail for check in run.checks),
        "caches: reason": any(cache.reason for cache in run.caches),
        "jobs: name": any(job.name for job in run.jobs),
        "stages: name and failure": any(stage.name or stage.failure for stage in run.stages),
    }
