"""Test that the cheapest option relative to another has the figure of a question on these two options alone."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.statistics import RunTable, has_level
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import cheapest_sentence
from benchmark_support import benchmark


def table_with_uneven_groups() -> RunTable:
    """Return runs in turns: hard disks in 14 settings, SSDs with Ethernet in the first ten, with InfiniBand in the last
    ten. InfiniBand gains more in the last settings."""
    rng = np.random.default_rng(2)
    cells = [
        (group, layout, network)
        for group in range(14)
        for layout, network in (("HDD", "ETH"), ("SSD", "ETH"), ("SSD", "IB"))
        if layout == "HDD" or (group < 10 if network == "ETH" else group >= 4)
    ]
    gain = [np.log(2) * (layout == "SSD") + 0.01 * group * (network == "IB") for group, layout, network in cells]
    rows = [
        {"workload": "terasort", "layout": layout, "network": network, "dfs.blocksize": str(group)}
        for group, layout, network in cells
    ]
    processes = benchmark("processes")
    started_unix_s = processes.starts(np.zeros(len(cells), dtype=np.int64))
    table: RunTable = processes.table_of(rows, rng.normal(0, 0.05, len(cells)) - np.array(gain), started_unix_s)
    return table


def test_the_cost_relative_to_the_cheapest_is_that_of_the_question_on_both_options() -> None:
    table, one_price = table_with_uneven_groups(), benchmark("dependence_errors").one_price
    (of_all,) = decide(table, DecisionRequest("layout,network", "HDD + ETH"), one_price(len(table)))
    ssds = table.subset(has_level(table, "layout", "SSD"))
    (of_ssds,) = decide(ssds, DecisionRequest("network", "ETH"), one_price(len(ssds)))
    assert of_all.cheapest is not None
    assert (of_all.cheapest.option, of_all.cheapest.ties) == ("SSD + IB", ("SSD + ETH",))
    (rival,) = [rival for rival in of_all.cheapest.rivals if rival.option == "SSD + ETH"]
    cost, time = of_ssds.options[0].cost, of_ssds.options[0].time
    assert cost is not None
    assert time is not None
    assert (rival.ratio, rival.low, rival.high) == pytest.approx((cost.ratio, cost.low, cost.high))
    (tie,) = [option.tied_with_leader for option in of_all.options if option.option == "SSD + ETH"]
    assert tie is not None
    assert (tie.ratio, tie.low, tie.high) == pytest.approx((time.ratio, time.low, time.high))


def test_a_tie_states_the_cost_relative_to_the_tied_option() -> None:
    processes, one_price = benchmark("processes"), benchmark("dependence_errors").one_price
    table = processes.in_blocks(np.random.default_rng(4), levels=4).table
    table.values["duration_s"][has_level(table, "layout", "L3")] *= 2
    (decision,) = decide(table, DecisionRequest("layout", "L0"), one_price(len(table)))
    assert decision.cheapest is not None
    ties = [rival for rival in decision.cheapest.rivals if rival.option != "L3"]
    assert decision.cheapest.ties == tuple(rival.option for rival in ties)
    sentence = cheapest_sentence(decision) or ""
    figures = [f"({rival.ratio:.2f}× its cost, {rival.low:.2f} to {rival.high:.2f})" for rival in ties]
    assert all(f"{rival.option} {figure}" in sentence for rival, figure in zip(ties, figures, strict=True))
    assert sentence.endswith(" is shown.")
