"""``assay learn``: a profile of what workloads cost, from measured runs; and the profile that a command names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.common import json_option, print_json, print_table, repository_option
from assay.errors import SpecificationError

if TYPE_CHECKING:
    from assay.model.workload_profile import CostProfile, Uncertain


def profile_from(file: Path | None, learn_from: Path | None, where: Sequence[str]) -> CostProfile:
    """Return the profile of a file, or what a repository teaches, or the one that is shipped.

    Raises SpecificationError where both are named.
    """
    from assay.questions.learning import learned_from, shipped_profile
    from assay.spec.profiles import load_profile

    if file is not None and learn_from is not None:
        raise SpecificationError("--profile and --learn-from both say what workloads cost; keep one")
    if file is not None:
        return load_profile(file)
    return learned_from(learn_from, where) if learn_from is not None else shipped_profile()


@click.command()
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
    from assay.output import write_whole
    from assay.questions.json_values import json_value
    from assay.questions.learning import learned_from
    from assay.spec.profiles import profile_text

    found = learned_from(repository, where, name)
    if output is not None:
        write_whole(output, profile_text(found).encode())
    if as_json:
        print_json(json_value(found))
        return
    _show(found)
    if output is not None:
        click.echo(f"profile: {output}")


def _show(found: CostProfile) -> None:
    click.echo(f"{found.name}: {found.learned.source}, CPU seconds of {found.cpu_model or 'an unnamed processor'}")
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
