"""``assay tune PLAN``: search for the fastest configuration within a budget of runs, and compare it with the plan's."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    json_option,
    print_json,
    print_table,
    profile_option,
    repository_option,
    request_of,
    until_option,
)
from assay.text import plural

if TYPE_CHECKING:
    from assay.questions.forecasts.tuning import MeanTime, TuningState

_BUDGET = re.compile(r"(\d{1,5})\s*runs?")
SHOWN = 10
"""Maximum number of configurations to print."""


@click.command(cls=AssayCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=LEVELS",
    help="What to vary: containers=2..16, compression=none,snappy, any engine parameter, an option of the workload; "
    "repeatable.",
)
@click.option("--for", "workload", required=True, metavar="WORKLOAD", help="Workload of PLAN to tune.")
@click.option("--budget", required=True, metavar="N runs", help="Number of runs of the search, such as 30runs.")
@click.option(
    "--at",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="Level of a factor that PLAN varies; repeatable. Default: its first.",
)
@click.option(
    "--pairs",
    type=click.IntRange(0, 100),
    default=4,
    show_default=True,
    help="Number of runs of the best configuration, and of the plan's own, after the search.",
)
@click.option(
    "--strategy",
    type=click.Choice(["bayesian", "random"]),
    default="bayesian",
    show_default=True,
    help="How to choose the next configuration.",
)
@click.option(
    "--warm",
    type=click.Choice(["nothing", "repository", "prediction", "simulation"]),
    default="nothing",
    show_default=True,
    help="Start the search from comparable runs of the repository, predictions from its runs, or the simulator.",
)
@until_option("Start no more runs after this limit. The same command resumes later.")
@click.option(
    "--baseline/--no-baseline", default=True, help="Measure devices and links first, the default; never on localhost."
)
@click.option("--simulate", is_flag=True, help="Simulate the runs. Needs no hosts, root or Java.")
@profile_option()
@click.option("--dry-run", is_flag=True, help="Print what would be tried. Nothing is run or written.")
@json_option
@repository_option
def tune(plan: Path, simulate: bool, dry_run: bool, as_json: bool, repository: Path, **options: Any) -> None:
    """Search for the fastest configuration of PLAN for a workload; each run is chosen from the results so far.

    After the search, the best configuration and the plan's own are executed alternately. The result is the ratio of
    their times. The same command resumes an interrupted tuning. Exit code 1: the tuning is not finished, or a run was
    not valid. Runs that are stopped because they are far too slow do not count.
    """
    from assay.estimation.simulator.campaign import campaign_request
    from assay.estimation.tuning.planned_tuning import TuningRequest, WarmStart, execute_tuning
    from assay.estimation.tuning.tuner import Strategy
    from assay.execution.planning.plan_files.changed_plan import parse_changes
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.interfaces.cli.measure.progress import CampaignDisplay
    from assay.interfaces.cli.measure.run import summary_lines
    from assay.model import Origin
    from assay.questions.forecasts import tuning
    from assay.questions.forecasts.learning import ProfileRequest, profile_from
    from assay.questions.json_values import json_value
    from assay.store import Repository

    loaded_plan = load_plan(plan)
    simulate = simulate or loaded_plan.cluster.simulated
    tuning_request = request_of(
        TuningRequest,
        options,
        budget=_budget(options["budget"]),
        at=dict(parse_changes(options["at"], "--at")),
        strategy=Strategy(options["strategy"]),
        warm=WarmStart(options["warm"]),
    )
    source = request_of(ProfileRequest, options)
    from_simulator = tuning_request.warm is WarmStart.SIMULATION
    if source.profile and not simulate and not from_simulator:
        raise SpecificationError("--profile applies to simulations", hint="add --simulate or --warm simulation")
    if simulate and from_simulator:
        raise SpecificationError(
            "--simulate and --warm simulation ask the simulator the same question", where="--warm", hint="keep one"
        )
    costs = profile_from(source) if simulate or from_simulator else None
    opened_repository = None if dry_run and not Repository.is_at(repository) else Repository.create(repository)
    origin = Origin.SIMULATED if simulate else Origin.MEASURED
    tuning_plan = tuning.planned_tuning(loaded_plan, tuning_request, opened_repository, costs, origin)
    if dry_run or opened_repository is None:
        for line in tuning_plan.lines():
            click.echo(line)
        return
    request = campaign_request(tuning_plan.plan, costs if simulate else None)
    with CampaignDisplay() as display:
        request = replace(request, stop=options["stop"], baseline=options["baseline"])
        campaign_id, summary = execute_tuning(tuning_plan, request, opened_repository, display)
        state = tuning.tuning_state(opened_repository, campaign_id)
        for line in summary_lines(summary, opened_repository.root) if summary else ["no runs left; the result so far:"]:
            display.say(line)
    if as_json:
        print_json(json_value(state))
    else:
        show(state)
    if not state.complete or (summary and summary.not_valid > summary.stopped_early):
        sys.exit(1)


def _budget(text: str) -> int:
    if (match := _BUDGET.fullmatch(text.strip())) is None or int(match[1]) < 1:
        hint = "write 30runs; --until limits a call by time, and the same command resumes the tuning"
        raise SpecificationError(f"not a number of runs: {text!r}", where="--budget", hint=hint)
    return int(match[1])


def show(state: TuningState) -> None:
    """Print the state of a tuning: its claim, the comparison, and the fastest configurations of the search."""
    click.echo(f"{state.claim[:1].upper()}{state.claim[1:].removesuffix('.')}.")
    if state.compared and state.compared_defaults:
        click.echo(f"Compared in turn: {_levels_text(state.compared)} {_mean_text(state.compared)} with")
        click.echo(f"{_levels_text(state.compared_defaults)} (the plan's own) {_mean_text(state.compared_defaults)}.")
    names = list(state.over)
    by_levels: dict[tuple[str, ...], list[float]] = {}
    for trial in state.trials:
        if not trial.comparison and trial.duration_s is not None:
            by_levels.setdefault(tuple(trial.levels.get(name, "–") for name in names), []).append(trial.duration_s)
    ranked_levels = sorted(by_levels.items(), key=lambda item: sum(item[1]) / len(item[1]))
    default = tuple(state.defaults.get(name, "–") for name in names)
    rows = [
        (*levels, "as planned" if levels == default else "", str(len(times)), f"{sum(times) / len(times):,.1f}")
        for levels, times in ranked_levels
    ]
    click.echo()
    origin = state.origin or "no run yet"
    print_table((*names, "", "Runs", "Mean (s)"), rows[:SHOWN], title=f"Search for {state.workload}, {origin}:")
    if len(rows) > SHOWN:
        click.echo(f"… {len(rows) - SHOWN} more (--json)")
    failed_text = f", {state.failed} of them failed or stopped as far too slow" if state.failed else ""
    click.echo(
        f"{state.searched} of {plural(state.budget, 'run')} of the search ({state.strategy}){failed_text}, "
        f"{format_duration(state.search_s)} in all."
    )
    if state.search_best and state.search_defaults and state.search_best.levels != state.defaults:
        speedup = state.search_defaults.mean_s / state.search_best.mean_s
        click.echo(f"Speedup within the search: {speedup:.2f}, biased upwards, because the fastest was selected.")


def _levels_text(side: MeanTime) -> str:
    return " ".join(f"{name}={level}" for name, level in side.levels.items()) or "the defaults of the engine"


def _mean_text(side: MeanTime) -> str:
    return f"{side.mean_s:,.1f} s (mean of {plural(side.runs, 'run')})"
