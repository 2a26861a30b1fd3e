"""``assay import profile``: attach a profile that was recorded outside assay to a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.common import print_json, request_of, say
from assay.store import Repository
from assay.text import plural

PROFILE = "profile"
"""The word that names the files as a profile."""


def import_profile_command(repository: Path, files: Sequence[str], options: Mapping[str, Any], as_json: bool) -> None:
    """Attach ``files`` to the run of ``--run``, and print what they hold."""
    if options["run"] is None or not files:
        raise SpecificationError(
            "a profile needs its files and the run that it was recorded in",
            where=PROFILE,
            hint="assay import profile FILE… --run RUN; `assay runs` lists the runs",
        )
    from assay.questions.json_values import json_value
    from assay.questions.runs.code_profiles.profile_import import ProfileImportRequest, import_profile

    paths = [Path(name) for name in files]
    summary = import_profile(Repository.open(repository), paths, request_of(ProfileImportRequest, options), say)
    if as_json:
        print_json(json_value(summary))
        return
    counts_text = ", ".join(f"{part} {count}" for part, count in summary.parts)
    click.echo(f"{plural(summary.facts.recordings, 'recording')} attached to run {summary.facts.run_id}: {counts_text}")
    if summary.skipped_lines:
        say(f"{plural(summary.skipped_lines, 'line')} of the files are not stacks")
    if summary.facts.interval_ms is None and summary.facts.kind in ("cpu", "wall"):
        say("the files do not state the sampling interval: `assay profile diff` and times need --interval-ms")
    click.echo(f"`assay profile {summary.facts.run_id}` shows it")
