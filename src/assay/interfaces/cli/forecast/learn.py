"""``assay learn``: learn a simulation profile from measured runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option

if TYPE_CHECKING:
    from assay.model import CostProfile, Uncertain


@click.command(cls=AssayCommand)
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="Only runs with this level; repeatable.")
@click.option("--name", help="Name of the profile. Default: the name of the repository's folder.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Profile file to write.")
@json_option
@repository_option
def learn(where: tuple[str, ...], name: str | None, output: Path | None, as_json: bool, repository: Path) -> None:
    """Learn a simulation profile from measured runs: data flow, CPU per byte and fixed costs, each with its interval.

    Simulations use it: `assay run --simulate --profile FILE`, `assay whatif --profile FILE`.
    """
    from assay.foundation.output import write_output
    from assay.questions.forecasts.learning import learn_profile
    from assay.questions.json_values import json_value
    from assay.specs.profiles import profile_text

    profile = learn_profile(repository, where, name)
    if output is not None and profile.other_engines:
        engines = ", ".join(engine_profile.engine for engine_profile in (profile, *profile.other_engines))
        hint = "choose one with --where engine=NAME, and write a file for each"
        raise SpecificationError(f"a profile file is for one engine, and the runs are of {engines}", hint=hint)
    if output is not None:
        write_output(output, profile_text(profile).encode())
    if as_json:
        print_json(json_value(profile))
        return
    for engine_profile in (profile, *profile.other_engines):
        _show(engine_profile)
    if output is not None:
        click.echo(f"profile: {output}")


def _show(profile: CostProfile) -> None:
    cpu = profile.cpu_model or "an unknown processor"
    click.echo(f"{profile.name}, of {profile.engine}: {profile.learned.source}, CPU seconds of {cpu}")
    costs = profile.costs
    rows = [
        ("client, before the job", _seconds(costs.client_start_s)),
        ("job, before its first task", _seconds(costs.job_start_s)),
        ("job, after its last task", _seconds(costs.job_end_s)),
        ("client, after the job", _seconds(costs.client_end_s)),
        ("CPU of an empty task", _seconds(costs.task_cpu_s)),
        ("CPU of a job in addition to its tasks", _seconds(costs.job_cpu_s)),
        ("CPU of daemons and kernel", _per_byte(costs.io_cpu_s_per_byte)),
    ]
    print_table(("fixed costs", "value (90 % of runs)"), rows)
    click.echo()
    headers = ("workload", "runs", "read", "map output", "written", "map CPU", "reduce CPU")
    print_table(
        headers,
        [
            (
                workload.workload,
                str(workload.n),
                f"{workload.read:.3g}",
                f"{workload.map_output * workload.combined:.3g}",
                f"{workload.written:.3g}",
                _per_byte(workload.map_cpu_s_per_byte),
                _per_byte(workload.reduce_cpu_s_per_byte),
            )
            for workload in profile.workloads.values()
        ],
        title="per byte of data",
    )


def _seconds(value: Uncertain) -> str:
    return f"{value.value:.2f} s ({value.low:.2f} to {value.high:.2f})"


def _per_byte(value: Uncertain) -> str:
    return f"{value.value * 1e9:.1f} ns ({value.low * 1e9:.1f} to {value.high * 1e9:.1f})"
