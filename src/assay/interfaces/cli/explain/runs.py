"""``assay runs``, ``assay show`` and ``assay verify``: what is in the repository, and whether it is intact."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from assay.analysis.run_profile.tables.run_tables import cold_text
from assay.foundation.errors import RepositoryError
from assay.foundation.units import format_duration
from assay.interfaces.cli.common import json_option, output_columns, print_json, print_table, repository_option
from assay.interfaces.cli.measure.run_text import configuration_text, part_lines, run_lines
from assay.interfaces.cli.terminal import send_control
from assay.model import SIMULATED_HIGH_S, SIMULATED_LOW_S, Run, RunStatus
from assay.questions.json_values import json_value
from assay.questions.runs.runs import levels_in
from assay.questions.runs.whole_run import WholeRun, whole_run
from assay.questions.trust.flags import flagged_runs, flags_in, flags_of_run, odd_kinds
from assay.store import BundleProblem, Repository, short_length
from assay.store.bundles.signatures import bad_signatures
from assay.text import plural, workload_named

_HEADERS = ("run", "started (UTC)", "workload", "configuration", "repetition", "status", "origin", "caches", "duration")
_FIRST = ("run", "workload", "configuration", "duration")
_START = _HEADERS[1]
_SHOWN = 50


@click.command()
@click.option("--workload", help="Only runs of this workload.")
@click.option("--layout", help="Only runs on this layout.")
@click.option("--status", type=click.Choice([status.value for status in RunStatus]), help="Only runs that ended so.")
@click.option("--limit", type=click.IntRange(min=1), help=f"Only the newest so many; a table has {_SHOWN} unless told.")
@click.option("--odd", is_flag=True, help="Only runs that are flagged as odd for their configuration.")
@json_option
@repository_option
def runs(
    workload: str | None,
    layout: str | None,
    status: str | None,
    limit: int | None,
    odd: bool,
    as_json: bool,
    repository: Path,
) -> None:
    """List the runs in the repository, newest last; what is odd for its configuration says so."""
    opened = Repository.open(repository)
    flagged = flags_in(opened)
    most = limit if limit or as_json else _SHOWN + 1
    named = workload_named(workload, levels_in(flagged.table, "workload")) if workload else None
    if odd:
        chosen = (
            f"{name}={level}" for name, level in (("workload", named), ("layout", layout), ("status", status)) if level
        )
        found = flagged_runs(opened, flagged, tuple(chosen), most)
    else:
        found = opened.runs(workload=named, layout=layout, status=status, limit=most, environment=False)
    kinds = odd_kinds(opened, flagged)
    if as_json:
        print_json([_without_environment(run) | {"anomaly": kinds.get(run.run_id)} for run in found])
    elif found:
        shown = found if limit else found[-_SHOWN:]
        length = short_length(run.run_id for run in shown)
        _print_runs([_row(run, length, kinds.get(run.run_id)) for run in shown])
        if len(found) > len(shown):
            click.echo(f"These are the newest {_SHOWN}; there are more: --limit N, --workload, --layout, --status.")
    else:
        click.echo(_nothing_found(opened, repository))


def _without_environment(run: Run) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(run)
    del values["environment"]
    bounds = {name: run.metrics[name] for name in (SIMULATED_LOW_S, SIMULATED_HIGH_S) if name in run.metrics}
    return values | bounds


def _row(run: Run, id_length: int, odd: str | None) -> tuple[str, ...]:
    status = f"{run.status} ({run.failure_class})" if run.failure_class else run.status
    return (
        run.run_id[:id_length],
        run.started_at[:19].replace("T", " "),
        run.workload,
        configuration_text(run),
        str(run.repetition),
        f"{status}, {odd}" if odd else status,
        run.origin,
        cold_text(run),
        format_duration(run.duration_s) + _interval(run),
    )


def _print_runs(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the runs; where the output is too narrow, starts are to the minute and stand behind the times."""
    width = output_columns()
    columns = list(zip(_HEADERS, *rows, strict=True))
    if width is not None and sum(max(map(len, column)) + 2 for column in columns) > width + 2:
        named = {column[0]: tuple(cell[:16] if column[0] == _START else cell for cell in column) for column in columns}
        columns = [named[name] for name in (*_FIRST, *(name for name in _HEADERS if name not in _FIRST))]
    headers, *lines = zip(*columns, strict=True)
    print_table(headers, lines)


def _interval(run: Run) -> str:
    """Return a simulated run's interval; nothing for other runs."""
    low, high = (run.metrics.get(name) for name in (SIMULATED_LOW_S, SIMULATED_HIGH_S))
    return f" ({format_duration(low)} to {format_duration(high)})" if low is not None and high is not None else ""


def _levels(opened: Repository, name: str) -> tuple[str, ...]:
    """Return what runs have in a column, without reading the runs."""
    column = opened.table().columns.get(name)
    return column.levels if column else ()


def _nothing_found(opened: Repository, repository: Path) -> str:
    if not len(opened.table()):
        return (
            f"No runs in {repository} yet.\n"
            "  → `assay demo` measures HDD against SSD on this machine; `assay run PLAN` carries out a plan."
        )
    workloads, layouts = (", ".join(sorted(_levels(opened, name))) for name in ("workload", "layout"))
    return f"No run matches.\n  → There are runs of {workloads} on {layouts}."


@click.command()
@click.argument("run")
@click.option("--phases", is_flag=True, help="Only where the time went, of every job, with what overlapped.")
@click.option("--tasks", "attempts", is_flag=True, help="Only the list of task attempts.")
@click.option("--counters", is_flag=True, help="Only the jobs' counters, group by group.")
@click.option("--log", "log_name", metavar="NAME", help="Print one of the run's logs instead.")
@json_option
@repository_option
def show(
    run: str, phases: bool, attempts: bool, counters: bool, log_name: str | None, as_json: bool, repository: Path
) -> None:
    """Show one run: phases, tasks, disks, nodes, checks, metrics. RUN is the beginning of a run's id.

    With --json, print everything, task attempts and counters included.
    """
    opened = Repository.open(repository)
    found = opened.run(run)
    if log_name is not None:
        click.echo(opened.log(found.run_id, log_name), nl=False)
        return
    seen = whole_run(opened, found)
    odd = () if phases or attempts or counters else flags_of_run(opened, flags_in(opened), found)
    if as_json:
        print_json(_everything(seen) | {"anomalies": json_value(odd)})
        return
    parts = part_lines(seen.run, seen.detail, seen.tasks, phases=phases, attempts=attempts, counters=counters)
    for line in parts if phases or attempts or counters else run_lines(seen.run, seen.detail, seen.files, odd):
        click.echo(line)


def _everything(seen: WholeRun) -> dict[str, Any]:
    listed = [{"name": name, "size_bytes": size} for name, size in seen.files.items()]
    values: dict[str, Any] = msgspec.to_builtins(seen.run)
    return values | {
        "logs": list(seen.logs),
        "files": listed,
        "detail": json_value(seen.detail),
        "tasks": msgspec.to_builtins(seen.tasks),
    }


@click.command()
@click.argument("package", type=click.Path(path_type=Path, dir_okay=False), required=False)
@json_option
@repository_option
def verify(package: Path | None, as_json: bool, repository: Path) -> None:
    """Check every bundle against its checksums and its signature, if it has one; exit code 6 when something is wrong.

    With PACKAGE, a file that `assay report --bundle` made, check that instead of the repository.
    """
    if package is None:
        opened = Repository.open(repository)
        problems = opened.verify(_progress) + bad_signatures(opened.folders)
    else:
        repository, problems = package, _problems_in(package)
    if as_json:
        print_json([asdict(problem) for problem in problems])
    elif problems:
        rows = [(problem.run_id, problem.file, problem.kind.value, problem.detail) for problem in problems]
        print_table(("run", "file", "problem", "what was found"), rows)
    else:
        click.echo("Every bundle is as it was written.")
    if problems:
        raise RepositoryError(
            f"{plural(len(problems), 'problem')} in {plural(len({problem.run_id for problem in problems}), 'bundle')}",
            where=str(repository),
            hint="restore them from a copy; a bundle can also be deleted as a whole",
        )


def _problems_in(package: Path) -> list[BundleProblem]:
    from assay.store.exchange.package import opened_package

    with TemporaryDirectory(prefix="assay-verify-") as scratch, opened_package(package, Path(scratch)) as packed:
        return packed.verify(_progress)


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        send_control("\r", sys.stderr)
        click.echo(f"{done} of {total} bundles checked", err=True, nl=done == total)
