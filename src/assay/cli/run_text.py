"""One run as text for a terminal: what ``assay show`` prints.

In: a run with its detail, and the bundle's files. Out: lines. Nothing is computed here but positions and widths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.cli.run_tables import (
    TextTable,
    counter_tables,
    data_lines,
    disks_table,
    jobs_table,
    kinds_table,
    nodes_table,
    phase_table,
    purposes_table,
    tasks_table,
)
from assay.explain.run_detail import RunDetail, detail_metrics
from assay.model.run import CacheState, Phase, Run, Task
from assay.units import format_bit_rate, format_byte_rate, format_bytes, format_duration

_BAR_WIDTH = 48
_ENVIRONMENT_LINES_MAX = 40
_COLD = {True: "cold", False: "warm", None: "not known"}
# Longest ending first: the first that fits names the unit.
_UNITS: dict[str, str | Callable[[float], str]] = {
    "_bytes_per_request": lambda size: f"{format_bytes(size)}/request",
    "_mib_per_s": "MiB/s",
    "_mb_per_s": "MB/s",
    "_records_per_s": "records/s",
    "_bits_per_s": format_bit_rate,
    "_bytes_per_s": format_byte_rate,
    "_bytes": format_bytes,
    "_mib": "MiB",
    "_mb": "MB",
    "_ms": "ms",
    "_s": "s",
    "_iops": "IOPS",
    "_percent": "%",
    "_share": lambda share: f"{100 * share:.3g} %",
}


def cold_text(cold: bool | None) -> str:
    """Return ``cold``, ``warm`` or ``not known``."""
    return _COLD[cold]


def configuration_text(run: Run) -> str:
    """Return the layout and the other factors' levels: ``HD2 dfs.blocksize=64MB``."""
    others = (f"{name}={level}" for name, level in run.levels.items() if name != "layout")
    return " ".join([run.layout, *others])


def metric_text(name: str, value: float) -> tuple[str, str]:
    """Return a metric's name in words and its value with the unit that the name ends in."""
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            words = name.removesuffix(ending).replace("_", " ")
            return words, f"{_number(value)} {unit}" if isinstance(unit, str) else unit(value)
    return name.replace("_", " "), _number(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def run_lines(run: Run, detail: RunDetail, files: Mapping[str, int]) -> Iterator[str]:
    """Yield everything about a run, section by section; sections without content are left out."""
    yield from _header(run)
    yield from _section("configuration", _pairs(_configuration(run)))
    yield from _section("phases", list(phase_bars(run.phases, run.duration_s)))
    yield from _table(phase_table(detail.breakdown, "where the time went"))
    yield from _table(jobs_table(detail))
    yield from _table(kinds_table(detail))
    yield from _section("data", _pairs(data_lines(detail)))
    yield from _table(disks_table(detail))
    yield from _table(purposes_table(detail))
    yield from _table(nodes_table(detail))
    yield from _section(
        "checks", [f"{'✓' if check.passed else '✗'} {check.name}: {check.detail}" for check in run.checks]
    )
    yield from _section("metrics", _metric_lines(run, detail))
    yield from _section(f"caches before the run: {cold_text(run.cold)}", [_cache_line(cache) for cache in run.caches])
    yield from _section("warnings", list(run.warnings))
    yield from _section("where it came from", _pairs(run.sources))
    yield from _section("environment (in full: --json)", _environment_lines(run))
    yield from _section("files in the bundle", _pairs({name: format_bytes(size) for name, size in files.items()}))


def part_lines(
    run: Run, detail: RunDetail, tasks: Sequence[Task], *, phases: bool, attempts: bool, counters: bool
) -> Iterator[str]:
    """Yield what was asked for by name: phases of every job, every attempt, the jobs' counters."""
    yield from _header(run)
    if phases:
        yield from _table(phase_table(detail.breakdown, "the run", overlaps=True))
        for each in detail.jobs if any(job.job.job_id for job in detail.jobs) else ():
            yield from _table(phase_table(each.breakdown, f"{each.job.job_id} {each.job.name}", overlaps=True))
    if attempts:
        yield from _table(tasks_table(tasks, detail)) if tasks else ("", "No task attempts are known of this run.")
    if counters:
        told = list(counter_tables([each.job for each in detail.jobs]))
        for table in told:
            yield from _table(table)
        if not told:
            yield from ("", "No counters are known of this run's jobs.")


def _header(run: Run) -> Iterator[str]:
    yield f"run {run.run_id}"
    where = f" on {configuration}" if (configuration := configuration_text(run).strip()) else ""
    yield f"{run.workload}{where}, repetition {run.repetition}: {run.status}, {run.origin}"
    if run.cause:
        yield f"cause{f' ({run.failure_class})' if run.failure_class else ''}: {run.cause}"
    yield f"started {run.started_at}, took {format_duration(run.duration_s)}, caches {cold_text(run.cold)}"


def _configuration(run: Run) -> dict[str, str]:
    scale = "" if run.lab_scale is None else f", a lab at 1/{1 / run.lab_scale:.4g} of full size"
    return {
        "cluster": f"{run.cluster}{scale}",
        "engine": f"{run.engine} {run.engine_version}",
        "data": "not known" if run.data_bytes is None else format_bytes(run.data_bytes),
        "plan": f"{run.plan} (campaign {run.campaign_id}, block {run.block}, position {run.position}, "
        f"attempt {run.attempt})",
        **{f"workload: {name}": value for name, value in run.workload_parameters.items()},
        **run.levels,
        **run.parameters,
    }


def phase_bars(phases: Sequence[Phase], duration_s: float) -> Iterator[str]:
    """Yield one line per phase with a bar at its place on a common axis that ends with the run."""
    if not phases:
        return
    start_s = min(0.0, *(phase.start_s for phase in phases))
    span_s = max(duration_s, *(phase.end_s for phase in phases)) - start_s or 1.0
    width = max(len(phase.name) for phase in phases)
    for phase in phases:
        first = min(round((phase.start_s - start_s) / span_s * _BAR_WIDTH), _BAR_WIDTH - 1)
        length = max(1, round((phase.end_s - start_s) / span_s * _BAR_WIDTH) - first)
        bar = " " * first + "█" * length
        times = f"{phase.start_s:.1f} – {phase.end_s:.1f} s"
        yield f"{phase.name:<{width}} │{bar:<{_BAR_WIDTH}}│ {format_duration(phase.duration_s):>11}  ({times})"


def _metric_lines(run: Run, detail: RunDetail) -> list[str]:
    """Return the metrics that no other section shows."""
    elsewhere = detail_metrics(detail)
    shown = {name: value for name, value in run.metrics.items() if elsewhere.get(name) != value}
    rows = [(*metric_text(name, value), run.sources.get(name)) for name, value in shown.items()]
    width = max((len(words) for words, _, _ in rows), default=0)
    return [f"{words:<{width}}  {value:>14}" + (f"  from {source}" if source else "") for words, value, source in rows]


def _cache_line(cache: CacheState) -> str:
    text = f"{cache.node}: cached {format_bytes(cache.cached_before_bytes)} → {format_bytes(cache.cached_after_bytes)}"
    if cache.data_resident_before_bytes is not None and cache.data_resident_after_bytes is not None:
        before, after = format_bytes(cache.data_resident_before_bytes), format_bytes(cache.data_resident_after_bytes)
        text += f", of the data files {before} → {after}"
    return text if cache.dropped else f"{text}; not dropped: {cache.reason or 'no reason was recorded'}"


def _environment_lines(run: Run) -> list[str]:
    def summary(value: object) -> str:
        return f"{len(value)} entries" if isinstance(value, dict | list) else str(value)

    lines = _pairs({name: summary(value) for name, value in run.environment.items()})
    hidden = len(lines) - _ENVIRONMENT_LINES_MAX
    return [*lines[:_ENVIRONMENT_LINES_MAX], f"and {hidden} more"] if hidden > 0 else lines


def _pairs(values: Mapping[str, str]) -> list[str]:
    width = max((len(name) for name in values), default=0)
    return [f"{name:<{width}}  {value}" for name, value in values.items()]


def _table(table: TextTable) -> Iterator[str]:
    yield from _section(table.title, table.lines())


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  {line}" for line in lines)
