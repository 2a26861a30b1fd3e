"""Read bytes with a format and check the rules that every import must obey."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.run_status import RunStatus
from assay.store.formats.format import Format
from assay.store.formats.source import Source
from mutation import fuzz_count, mutations


def read(form: Format, content: bytes | str, folder: Path, name: str = "file") -> list[ImportedRun | SkippedItem]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(form.read([Source(path, name)]))


def imported_run(form: Format, content: bytes | str, folder: Path) -> ImportedRun:
    """Return the only result; nothing may have been left."""
    (result,) = read(form, content, folder)
    assert isinstance(result, ImportedRun), result
    check(result)
    return result


def why(form: Format, content: bytes | str, folder: Path) -> str:
    """Return why the whole file was left."""
    results = read(form, content, folder)
    assert not any(isinstance(result, ImportedRun) for result in results), results
    return "; ".join(result.why for result in results if isinstance(result, SkippedItem))


def growth(result: ImportedRun, subject: str, metric: str) -> float:
    """Return how much a counter grew over the whole trace."""
    assert result.trace
    node = result.trace.node[0]
    points = result.trace.series(node, subject, metric)
    assert points[0][1] == 0
    return points[-1][1]


def check(result: ImportedRun | SkippedItem) -> None:
    """Assert what holds for every result, however damaged the file was."""
    if isinstance(result, SkippedItem):
        assert result.where
        assert result.why
        return
    run, trace = result.run, result.trace
    assert result.key
    assert run.workload
    assert math.isfinite(run.duration_s)
    assert 0 <= run.duration_s < 1e9
    assert (run.cause is None) == (run.status is RunStatus.VALID)
    assert run.duration_s > 0 or run.status is RunStatus.FAILED
    assert all(math.isfinite(value) and value >= 0 for value in run.metrics.values())
    if trace is None:
        return
    series: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    rows = zip(trace.t_s, trace.subject, trace.metric, trace.counter, trace.value, strict=True)
    for t_s, subject, metric, counter, value in rows:
        assert math.isfinite(value)
        assert 0 <= t_s <= run.duration_s + 1e-9
        if counter:
            series[subject, metric].append((t_s, value))
    for points in series.values():
        assert points[0][1] == 0
        assert points == sorted(points)
        assert len({t_s for t_s, _ in points}) == len(points)


def survives_damage(form: Format, content: bytes, folder: Path) -> None:
    """Read damaged copies: each gives results or a reason, and nothing else is raised."""
    for damaged in mutations(content, fuzz_count()):
        form.recognises("file", damaged)
        for result in read(form, damaged, folder):
            check(result)
