"""``assay import``: read existing results in any known format, and store them as runs."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from assay.analysis.code_profile.recorded import ProfileKind
from assay.foundation.errors import FormatError, SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    given_options,
    json_option,
    print_json,
    print_table,
    repository_option,
    request_of,
)
from assay.interfaces.cli.data.profile_import import PROFILE, import_profile_command
from assay.interfaces.cli.terminal import stage_progress
from assay.model import Origin, SkippedItem
from assay.store import ImportRequest, ImportSummary, Repository
from assay.store.formats.catalogue import TABLE, UNRECOGNISED, format_named, formats, sorted_by_format
from assay.store.formats.format import Format
from assay.store.formats.source import Source, sources_in, with_progress
from assay.store.formats.tables.table import table_format
from assay.store.index.tables import rows_of_table
from assay.text import plural

_REJECTED_SHOWN = 20
"""Maximum number of rejected files and rows to print."""


@click.command(name="import", cls=AssayCommand)
@click.argument("words", nargs=-1, metavar="[FORMAT] PATH…")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="COLUMN=FIELD",
    help="For a table: the field that a column holds; repeatable.",
)
@click.option(
    "--set",
    "defaults",
    multiple=True,
    metavar="FIELD=VALUE",
    help="For a table: the value of a field in every row; repeatable.",
)
@click.option(
    "--origin",
    type=click.Choice([Origin.MEASURED.value, Origin.PUBLISHED.value]),
    default="measured",
    show_default=True,
    help="For a table: the origin of its numbers.",
)
@click.option("--as", "plan", default="", metavar="NAME", help="Name of the import, used as the plan of its runs.")
@click.option(
    "--strict",
    is_flag=True,
    help="Import nothing of a format with a rejected row, and nothing at all if a file is unrecognised.",
)
@click.option("--replace", is_flag=True, help="Replace earlier imports of files with these names.")
@click.option("--again", is_flag=True, help="Also import runs that look like runs in the repository.")
@click.option("--run", metavar="RUN", help="For a profile: the run that it was recorded in, by the start of its id.")
@click.option("--kind", type=click.Choice(get_args(ProfileKind)), help="For a profile: what it sampled.")
@click.option(
    "--interval-ms",
    type=click.FloatRange(min=0, min_open=True),
    help="For a profile: the time between two samples of a thread, where the files do not state it.",
)
@click.option("--list", "list_formats", is_flag=True, help="List the formats.")
@json_option
@repository_option
@click.pass_context
def import_results(
    context: click.Context,
    /,
    words: tuple[str, ...],
    list_formats: bool,
    as_json: bool,
    repository: Path,
    **options: Any,
) -> None:
    """Import results from files and folders. Without FORMAT, the format of each file is detected.

    Runs that are already in the repository are not imported again. Rejected files and rows are listed with the reason.
    `assay import profile FILE… --run RUN` attaches JFR recordings, pprof profiles or collapsed stacks to a run.
    """
    if list_formats:
        _list(as_json)
        return
    is_profile = words[:1] == (PROFILE,) and not Path(PROFILE).exists()
    other_options = ("mapping", "defaults", "origin", "plan", "strict", "replace", "again")
    if refused_options := given_options(context, other_options if is_profile else ("run", "kind", "interval_ms")):
        message = f"this option {'does not apply to profiles' if is_profile else 'applies to profiles only'}"
        raise SpecificationError(message, where=refused_options[0], hint="assay import profile FILE… --run RUN")
    if is_profile:
        import_profile_command(repository, words[1:], options, as_json)
        return
    job = _import_job(words, request_of(_TableOptions, options))
    request = request_of(ImportRequest, options)
    opened_repository = Repository.create(repository)
    if request.strict and job.skipped_files:
        job.by_format.clear()
    for format_, sources in job.by_format:
        with stage_progress(quiet=as_json) as progress:
            summary = opened_repository.import_runs(
                format_.name,
                partial(format_.items, with_progress(sources, progress)),
                [(source.name, source.path) for source in sources],
                replace(request, variant=format_.variant, plan=request.plan or format_.name, by_rows=format_.by_rows),
                progress,
            )
        job.summaries.append(summary)
    _print(job, request.strict, as_json)
    imported_runs = sum(summary.taken + summary.already_there for summary in job.summaries)
    sys.exit(0 if imported_runs and not (request.strict and job.skipped_items) else FormatError.exit_code)


@dataclass(frozen=True, slots=True)
class _TableOptions:
    """The options for tables."""

    mapping: tuple[str, ...]
    defaults: tuple[str, ...]
    origin: str


@dataclass(slots=True)
class _ImportJob:
    by_format: list[tuple[Format, list[Source]]]
    skipped_files: dict[str, str]
    summaries: list[ImportSummary] = field(default_factory=list)

    @property
    def skipped_items(self) -> list[SkippedItem]:
        """Files and rows that were not imported, including unrecognised files."""
        files = [SkippedItem(name, reason) for name, reason in self.skipped_files.items()]
        return [*files, *(item for summary in self.summaries for item in summary.left)]


def _import_job(words: Sequence[str], table: _TableOptions) -> _ImportJob:
    """Return the files to import, by format.

    Raises SpecificationError for invalid arguments, and FormatError for a name that is neither a path nor a format.
    """
    format_by_name = formats(rows_of_table)
    is_format_named = bool(words) and words[0] in (*format_by_name, TABLE) and not Path(words[0]).exists()
    paths = [Path(word) for word in (words[1:] if is_format_named else words)]
    if not paths:
        raise SpecificationError(
            "no file given", hint="run `assay import PATH…`, or list the formats with `assay import --list`"
        )
    missing_path = next((path for path in paths if not path.exists()), None)
    if (
        missing_path is not None
        and len(paths) > 1
        and missing_path == paths[0]
        and not is_format_named
        and "/" not in str(missing_path)
    ):
        format_named(str(missing_path), format_by_name)  # neither a path nor a format: the error lists the formats
    sources, duplicates = _distinct_sources(sources_in(paths))
    if (table.mapping or table.defaults) and not (is_format_named and words[0] == TABLE):
        raise SpecificationError("--map and --set apply to tables", hint="assay import table FILE --map COLUMN=FIELD …")
    if is_format_named:
        format_ = format_by_name.get(words[0]) or table_format(
            _pairs(table.mapping), _pairs(table.defaults), Origin(table.origin)
        )
        return _ImportJob([(format_, sources)], duplicates)
    sources_by_format, unrecognised_files = sorted_by_format(sources, format_by_name)
    return _ImportJob(
        [(format_by_name[name], files) for name, files in sources_by_format.items()],
        {**duplicates, **unrecognised_files},
    )


def _distinct_sources(sources: Iterable[Source]) -> tuple[list[Source], dict[str, str]]:
    """Return the files with distinct content, and a message for each duplicate, by name."""
    name_by_digest: dict[str, str] = {}
    distinct_sources: list[Source] = []
    duplicates: dict[str, str] = {}
    for source in sources:
        digest = source.digest()
        # Each job needs its own configuration file, even if another job's is identical.
        if source.name.endswith("_conf.xml"):
            distinct_sources.append(source)
        elif digest in name_by_digest:
            duplicates[source.name if source.name != name_by_digest[digest] else str(source.path)] = (
                f"is the same as {name_by_digest[digest]}"
            )
        else:
            name_by_digest[digest] = source.name
            distinct_sources.append(source)
    return distinct_sources, duplicates


def _pairs(options: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name or not value:
            raise SpecificationError(f"expected NAME=VALUE, not {option!r}", where="--map or --set")
        pairs[name] = value
    return pairs


def _print(job: _ImportJob, strict: bool, as_json: bool) -> None:
    skipped_items = job.skipped_items
    if as_json:
        value: dict[str, Any] = {
            "imports": [msgspec.to_builtins(summary) for summary in job.summaries],
            "left": [{"where": item.where, "why": item.why} for item in skipped_items],
        }
        print_json(value)
        return
    for summary in job.summaries:
        present_text = f", {summary.already_there} already present" if summary.already_there else ""
        import_text = f" as import {summary.import_id}" if summary.import_id else ""
        rejected_text = f", {len(summary.left)} rejected" if summary.left else ""
        click.echo(
            f"{summary.format}: {plural(summary.taken, 'run')} imported{import_text}{present_text}{rejected_text}"
        )
        for duplicate in summary.probably:
            click.echo(
                f"  not imported: {duplicate.runs} of {duplicate.of} runs are probably in {duplicate.bundle} already, "
                "in another format: their times and all shared fields are equal. Import both with --again, or replace"
                " it with --replace."
            )
        for import_id in summary.other_mappings:
            click.echo(
                f"  the same file was imported before with another --map, and both imports count. To undo that import, "
                f"delete the folder bundles/{import_id} of the repository."
            )
        if summary.replaced:
            click.echo(f"  replaces import {', '.join(summary.replaced)}")
        if summary.earlier and summary.format in (TABLE, "published"):  # logs have the same names everywhere
            click.echo(
                f"  a file of this name was imported before with other content, and both imports count. If this is a "
                f"correction, delete bundles/{summary.import_id} and import the file with --replace."
            )
    has_imports = any(summary.taken or summary.already_there for summary in job.summaries)
    for item in skipped_items[:_REJECTED_SHOWN]:
        label = "skipped" if has_imports and item.why == UNRECOGNISED else "rejected"
        click.echo(f"  {label}: {item.where}: {item.why}", err=True)
    if len(skipped_items) > _REJECTED_SHOWN:
        click.echo(f"  … {len(skipped_items) - _REJECTED_SHOWN} more (--json)", err=True)
    if UNRECOGNISED in job.skipped_files.values() and not has_imports:
        click.echo("  → for a table of runs: `assay import table FILE --map COLUMN=FIELD …`", err=True)
    if strict and skipped_items:
        reason = "nothing was imported, because a file is unrecognised or a duplicate"
        click.echo(
            f"--strict: {reason if job.skipped_files else 'formats with rejected rows were not imported'}", err=True
        )


def _list(as_json: bool) -> None:
    rows = [(item.name, item.title) for item in formats(rows_of_table).values()] + [
        (TABLE, "any CSV or TSV table, with --map"),
        (PROFILE, "a profile of a run: JFR, pprof or collapsed stacks, with --run"),
    ]
    if as_json:
        print_json([{"name": name, "title": title} for name, title in rows])
    else:
        print_table(("format", "description"), rows)
