"""``assay learn``: a profile of what workloads cost, from measured runs; and the profile that a command names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option

if TYPE_CHECKING:
    from assay.model import CostProfile, Uncertain


def profile_from(files: Sequence[Path], learn_from: Path | None, where: Sequence[str]) -> CostProfile:
    """Return the profile of a file, those of other engines beside it, or what a repository teaches, or the shipped one.

    Raises SpecificationError where both are named, and where two files are of one engine.
    """
    from assay.questions.forecasts.learning import learned_from, shipped_profile
    from assay.specs.profiles import load_profile

    if files and learn_from is not None:
        raise SpecificationError("--profile and --learn-from both say what workloads cost; keep one")
    if files:
        found = [load_profile(file) for file in files]
        if len({one.engine for one in found}) < len(found):
            raise SpecificationError("--profile names two profiles of one engine; keep one for each engine")
        return found[0].together_with(found[1:])
    return learned_from(learn_from, where) if learn_from is not None else shipped_profile()


@click.command(cls=AssayCommand)
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="Only from runs that match; repeatable.")
@click.option("--name", help="The profile's name; the repository's folder's when left out.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it as a profile file.")
@json_option
@repository_option
def learn(where: tuple[str, ...], name: str | None, output: Path | None, as_json: bool, repository: Path) -> None:
    """Learn what workloads cost from measured runs: data flow, CPU per byte, fixed costs, each with its interval.

    The profile is what simulations need (`assay run --simulate --profile FILE`, `assay whatif --profile FILE`). What
    --where leaves out is not looked at.
    """
    from assay.foundation.output import write_whole
    from assay.questions.forecasts.learning import learned_from
    from assay.questions.json_values import json_value
    from assay.specs.profiles import profile_text

    found = learned_from(repository, where, name)
    if output is not None and found.other_engines:
        engines = ", ".join(one.engine for one in (found, *found.other_engines))
        hint = "choose one with --where engine=NAME, and write a file for each"
        raise SpecificationError(f"the runs are of several engines, and a file is of one: {engines}", hint=hint)
    if output is not None:
        write_whole(output, profile_text(found).encode())
    if as_json:
        print_json(json_value(found))
        return
    for one in (found, *found.other_engines):
        _show(one)
    if output is not None:
        click.echo(f"profile: {output}")


def _show(found: CostProfile) -> None:
    cpu = found.cpu_model or "an unnamed processor"
    click.echo(f"{found.name}, of {found.engine}: {found.learned.source}, CPU seconds of {cpu}")
    costs = found.costs
    rows = [
        ("client, before the job", _seconds(costs.client_start_s)),
        ("job, before its first task", _seconds(costs.job_start_s)),
        ("job, after its last task", _seconds(costs.job_end_s)),
        ("client, after the job", _seconds(costs.client_end_s)),
        ("CPU of a task that has nothing to do", _seconds(costs.task_cpu_s)),
        ("CPU of a job while tasks run", _seconds(costs.job_cpu_s)),
        ("CPU of daemons and kernel", _per_byte(costs.io_cpu_s_per_byte)),
    ]
    print_table(("fixed costs", "90 % of runs"), rows)
    click.echo()
    headers = ("workload", "runs", "read", "map output", "written", "map CPU", "reduce CPU")
    print_table(
        headers,
        [
            (
                each.workload,
                str(each.n),
                f"{each.read:.3g}",
                f"{each.map_output * each.combined:.3g}",
                f"{each.written:.3g}",
                _per_byte(each.map_cpu_s_per_byte),
                _per_byte(each.reduce_cpu_s_per_byte),
            )
            for each in found.workloads.values()
        ],
        title="for each byte of data",
    )


def _seconds(value: Uncertain) -> str:
    return f"{value.value:.2f} s ({value.low:.2f} to {value.high:.2f})"


def _per_byte(value: Uncertain) -> str:
    return f"{value.value * 1e9:.1f} ns ({value.low * 1e9:.1f} to {value.high * 1e9:.1f})"
