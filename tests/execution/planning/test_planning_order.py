"""Test the order of runs: grouped by daemon settings, blocks, ABBA, few restarts."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.execution.planning.expansion import expand
from assay.execution.planning.order import restarts, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.plans.factor import LAYOUT_FACTOR, Factor
from assay.model.plans.plan import Plan
from paths import ROOT

EXAMPLE = load_plan(ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml")
FACTORS = {
    "mapreduce.task.io.sort.mb": ("32", "64", "128"),  # a job carries these two
    "dfs.blocksize": ("32MiB", "64MiB"),
    "yarn.nodemanager.resource.memory-mb": ("1024", "2048"),  # and daemons these
    "dfs.datanode.handler.count": ("10", "20"),
}


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    layouts = draw(st.permutations(["HD2", "SS2"]))[: draw(st.integers(1, 2))]
    names = draw(st.lists(st.sampled_from(sorted(FACTORS)), unique=True, max_size=3))
    levels = [Factor(name, FACTORS[name][: draw(st.integers(1, len(FACTORS[name])))]) for name in names]
    factors = draw(st.permutations([Factor(LAYOUT_FACTOR, tuple(layouts)), *levels]))
    return replace(EXAMPLE, factors=tuple(factors), repetitions=draw(st.integers(1, 6)), seed=draw(st.integers(0, 99)))


@given(plans())
def test_restarts_are_as_few_as_blocks_allow_and_every_configuration_is_visited_once_in_each(plan: Plan) -> None:
    configurations = expand(plan)
    runs = schedule(plan, configurations)
    visits = [key for key, _ in itertools.groupby((run.block, run.configuration.key) for run in runs)]
    assert Counter(visits) == Counter((b, c.key) for b in range(plan.repetitions) for c in configurations)
    groups = {EXAMPLE.rules.deployment_key(configuration, EXAMPLE.cluster) for configuration in configurations}
    starts = sum(reason is not None for reason in restarts(runs, EXAMPLE))
    assert starts == 1 + plan.repetitions * (len(groups) - 1)
    assert runs == schedule(plan, configurations)


@given(plans())
def test_every_second_block_has_the_opposite_order_so_that_positions_balance(plan: Plan) -> None:
    runs = schedule(plan, expand(plan))
    orders = [
        list(dict.fromkeys(run.configuration.key for run in runs if run.block == block))
        for block in range(plan.repetitions)
    ]
    for before, after in itertools.pairwise(orders):
        assert after == before[::-1]
    pairs = orders[: len(orders) // 2 * 2]
    sums = [sum(order.index(key) for order in pairs) for key in orders[0]]
    assert len(set(sums)) == 1  # a drift weighs on all configurations alike


def test_a_restart_has_its_reason_and_a_parameter_of_jobs_needs_none() -> None:
    factors = (
        Factor(LAYOUT_FACTOR, ("HD2", "SS2")),
        Factor("mapreduce.task.io.sort.mb", ("32", "64")),
        Factor("yarn.nodemanager.resource.memory-mb", ("1024", "2048")),
    )
    runs = schedule(replace(EXAMPLE, factors=factors, repetitions=1), expand(replace(EXAMPLE, factors=factors)))
    reasons = [reason for reason in restarts(runs, EXAMPLE) if reason]
    assert len(reasons) == 4
    assert reasons[0].startswith("start with layout")
    assert all("io.sort" not in reason for reason in reasons)
    assert any("layout" in reason and "→" in reason for reason in reasons[1:])
    assert any("yarn.nodemanager.resource.memory-mb 1024 → 2048" in reason for reason in reasons)
