"""``assay tune PLAN``: find the fastest configuration by runs, each chosen by the ones before, and measure it again."""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option

if TYPE_CHECKING:
    from assay.execution.campaign.attempts.runner import CampaignSummary
    from assay.model import CostProfile, Plan
    from assay.questions.forecasts.tuning import Side, TuningAsked, TuningState

_BUDGET = re.compile(r"(\d{1,5})\s*runs?")
SHOWN = 10


@click.command(cls=AssayCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=LEVELS",
    help="What is varied: containers=2..16, compression=none,snappy, any engine parameter, an option of the workload; "
    "repeatable.",
)
@click.option("--for", "workload", required=True, metavar="WORKLOAD", help="The workload of PLAN that is to be fast.")
@click.option("--budget", required=True, metavar="N runs", help="So many runs to look for it: 30runs.")
@click.option("--at", multiple=True, metavar="FACTOR=LEVEL", help="Of PLAN's own factors; their first level otherwise.")
@click.option(
    "--pairs",
    type=click.IntRange(0, 100),
    default=4,
    show_default=True,
    help="Afterwards, so many further runs of what was found and of the plan's own configuration each.",
)
@click.option(
    "--strategy", type=click.Choice(["bayesian", "random"]), default="bayesian", show_default=True, help="How it looks."
)
@click.option(
    "--warm",
    type=click.Choice(["nothing", "repository", "prediction", "simulation"]),
    default="nothing",
    show_default=True,
    help="What it knows before the first run: like runs of the repository, what is predicted "
    "from its runs, or the simulator's word.",
)
@click.option(
    "--until", metavar="TIME|DURATION|N runs", help="Start no more runs after that; the same command goes on."
)
@click.option("--baseline/--no-baseline", default=True, help="Measure devices and links first (not on localhost).")
@click.option("--simulate", is_flag=True, help="Simulate the runs instead: without hosts, root or Java.")
@click.option(
    "--profile", type=click.Path(path_type=Path), help="For simulation: what workloads cost; else assay's own."
)
@click.option("--dry-run", is_flag=True, help="Say what would be tried; run and write nothing.")
@json_option
@repository_option
def tune(
    plan: Path,
    over: tuple[str, ...],
    workload: str,
    budget: str,
    at: tuple[str, ...],
    pairs: int,
    strategy: str,
    warm: str,
    until: str | None,
    baseline: bool,
    simulate: bool,
    profile: Path | None,
    dry_run: bool,
    as_json: bool,
    repository: Path,
) -> None:
    """Find the fastest configuration of PLAN for a workload, by runs that are chosen one after another.

    What was found is then run again, beside the plan's own configuration and in turn with it: the ratio of these
    runs is the result. The same command goes on where an earlier one was interrupted. The exit status is 1 while the
    tuning is not over, and after a call in which a run was not valid, other than by being hopelessly slow.
    """
    from assay.estimation.tuning.tuner import Strategy
    from assay.execution.planning.plan_files.changed_plan import parse_changes
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.questions.forecasts.tuning import TuningAsked, Warm
    from assay.questions.json_values import json_value

    read = load_plan(plan)
    simulate = simulate or read.cluster.simulated
    if profile is not None and not simulate and warm != "simulation":
        raise SpecificationError("--profile says what a simulation needs", hint="add --simulate or --warm simulation")
    if simulate and warm == "simulation":
        raise SpecificationError(
            "the simulator would be asked for what it is then asked for", where="--warm", hint="leave one of both out"
        )
    levels = dict(parse_changes(at, "--at"))
    asked = TuningAsked(over, workload, _budget(budget), pairs, Strategy(strategy), Warm(warm), levels)
    costs = _costs(profile) if simulate or warm == "simulation" else None
    done = _carried_out(read, asked, costs, repository, until, simulate=simulate, baseline=baseline, dry_run=dry_run)
    if done is None:
        return
    state, summary = done
    if as_json:
        print_json(json_value(state))
    else:
        show(state)
    if not state.complete or (summary and summary.not_valid > summary.hopeless):
        sys.exit(1)


def _budget(text: str) -> int:
    if (match := _BUDGET.fullmatch(text.strip())) is None or int(match[1]) < 1:
        hint = "write 30runs; --until bounds a call by time, and the same command goes on"
        raise SpecificationError(f"{text!r} is no number of runs", where="--budget", hint=hint)
    return int(match[1])


def _costs(file: Path | None) -> CostProfile:
    from assay.interfaces.cli.forecast.learn import profile_from

    return profile_from([file] if file else [], None, ())


def _carried_out(
    plan: Plan,
    asked: TuningAsked,
    costs: CostProfile | None,
    root: Path,
    until: str | None,
    *,
    simulate: bool,
    baseline: bool,
    dry_run: bool,
) -> tuple[TuningState, CampaignSummary | None] | None:
    """Carry the tuning out as far as this call goes; return how it stands, and what the call did, if anything."""
    from assay.estimation.simulator.campaign import refuse_what_can_not_be
    from assay.execution.campaign.execute import execute_campaign
    from assay.execution.campaign.prepare import prepare
    from assay.execution.planning.forecast.call_limits import parse_stop
    from assay.interfaces.cli.measure.progress import CampaignDisplay
    from assay.interfaces.cli.measure.run import carried_out_by, summary_lines
    from assay.model import Origin
    from assay.questions.forecasts.tuning import tuning_made, tuning_state
    from assay.store import Repository

    stop = parse_stop(until, datetime.now().astimezone()) if until else None
    store = None if dry_run and not Repository.is_at(root) else Repository.create(root)
    made = tuning_made(plan, asked, store, costs, Origin.SIMULATED if simulate else Origin.MEASURED)
    if dry_run or store is None:
        for line in made.lines():
            click.echo(line)
        return None
    plan, provide = carried_out_by(made.plan, costs if simulate else None)
    todo = prepare(plan, store, again=False, stop=stop, next_runs=made.tuner)
    made.keep(todo.journal)
    summary: CampaignSummary | None = None
    with CampaignDisplay() as display:
        for line in [f"tuning plan {plan.name}, campaign {todo.journal.campaign_id}", *made.lines()]:
            display.say(line)
        if todo.left:
            if simulate and costs is not None:
                refuse_what_can_not_be(plan, costs, todo)
            summary = execute_campaign(plan, store, todo, display, provide, baseline=baseline)
            for line in summary_lines(summary):
                display.say(line)
        else:
            display.say("nothing is left to run; this is what came of it")
    made.settle(todo.journal, store.runs(environment=False))
    return tuning_state(store, todo.journal.campaign_id), summary


def show(state: TuningState) -> None:
    """Print how a tuning stands: the fastest configurations, and the comparison."""
    names = list(state.over)
    by_levels: dict[tuple[str, ...], list[float]] = {}
    for one in state.trials:
        if not one.comparison and one.duration_s is not None:
            by_levels.setdefault(tuple(one.levels.get(name, "–") for name in names), []).append(one.duration_s)
    ranked = sorted(by_levels.items(), key=lambda item: sum(item[1]) / len(item[1]))
    default = tuple(state.defaults.get(name, "–") for name in names)
    rows = [
        (*levels, "as planned" if levels == default else "", str(len(times)), f"{sum(times) / len(times):,.1f}")
        for levels, times in ranked[:SHOWN]
    ]
    origin = state.origin or "no run yet"
    print_table((*names, "", "Runs", "Mean (s)"), rows, title=f"Search for {state.workload}, {origin}:")
    failed = f", {state.failed} of them failed or stopped as hopeless" if state.failed else ""
    click.echo(
        f"{state.searched} of {state.budget} runs of the search ({state.strategy}){failed}, "
        f"{format_duration(state.search_s)} together."
    )
    if state.found and state.found_defaults and state.found.levels != state.defaults:
        gain = state.found_defaults.mean_s / state.found.mean_s
        click.echo(f"As the search saw it {gain:.2f} times as fast, which is too good: it was picked for being fast.")
    if state.compared and state.compared_defaults:
        click.echo(f"Measured again, in turn: {_told(state.compared)} {_side(state.compared)} against")
        click.echo(f"{_told(state.compared_defaults)} (the plan's own) {_side(state.compared_defaults)}.")
    click.echo(f"{state.claim[:1].upper()}{state.claim[1:].removesuffix('.')}.")


def _told(side: Side) -> str:
    return " ".join(f"{name}={level}" for name, level in side.levels.items()) or "what the engine has by itself"


def _side(side: Side) -> str:
    return f"{side.mean_s:,.1f} s (mean of {side.runs} run{'s' * (side.runs != 1)})"
