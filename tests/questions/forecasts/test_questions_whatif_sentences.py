"""Test the sentence of a what-if question: which speedups it names, and what it says where no difference is shown."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.decisions.decision import CostVerdict
from assay.questions.forecasts.whatif.lab_cpu import LabCores
from assay.questions.forecasts.whatif.task_slots import TaskSlots, next_changes, tasks_sentence
from assay.questions.forecasts.whatif.whatif_answer import ChangeEffect, CostChange, WhatIf, WhatIfAnswer
from assay.questions.forecasts.whatif.whatif_costs import WhatIfPrices
from assay.questions.forecasts.whatif.whatif_sentences import caveat_of, money_sentence, sentence_of
from assay.specs.prices import load_prices
from simulator_support import EXAMPLE


def row(configuration: str, ratio: float, low: float, high: float) -> WhatIf:
    values: dict[str, Any] = dict.fromkeys(field.name for field in fields(WhatIf))
    values |= {
        "workload": "terasort",
        "configuration": configuration,
        "changes": {"workers.count": "12"},
        "origin": "simulated",
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "credits": (),
        "extrapolation": 1.0,
        "extrapolated": "",
        "slots": TaskSlots(workers=12, tasks=40, parallel=47, containers=4, more_tasks={}),
    }
    return WhatIf(**values)


FASTER, SAME, SLOWER = row("A", 1.5, 1.1, 2.1), row("B", 1.04, 0.9, 1.2), row("C", 0.5, 0.4, 0.6)
FASTER_TEXT = "TeraSort on A is 1.50× as fast (90 % interval 1.10 to 2.10)"


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([FASTER], f"With 12 workers, {FASTER_TEXT}, simulated. A difference is shown."),
        (
            [SAME],
            "With 12 workers, TeraSort on B is 1.04× as fast (90 % interval 0.90 to 1.20), simulated. "
            "No difference is shown: the interval includes 1.",
        ),
        (
            [FASTER, SAME],
            f"With 12 workers, {FASTER_TEXT}, simulated. No difference is shown for the other configuration (1.04×).",
        ),
        (
            [FASTER, SLOWER],
            f"With 12 workers, {FASTER_TEXT} and TeraSort on C is 0.50× as fast (90 % interval 0.40 to 0.60), "
            "simulated.",
        ),
        (
            [SAME, row("D", 0.98, 0.7, 1.3)],
            "With 12 workers, no difference is shown for any of 2 configurations: they are 0.98× to 1.04× as fast, and "
            "all 90 % intervals include 1 (simulated).",
        ),
        (
            [FASTER] * 4 + [SAME, SAME],
            "With 12 workers, 4 of 6 configurations are faster (1.50× as fast), simulated. "
            "No difference is shown for the other 2 configurations (1.04×).",
        ),
        (
            [FASTER] * 4 + [SLOWER],
            "With 12 workers, 4 of 5 configurations are faster and 1 is slower (0.50× to 1.50× as fast), simulated.",
        ),
    ],
)
def test_the_sentence_names_each_difference_and_counts_the_rest(answers: list[WhatIf], text: str) -> None:
    assert sentence_of(answers) == text


def test_an_extrapolation_is_the_first_sentence() -> None:
    extrapolated_row = replace(FASTER, extrapolation=4.0, extrapolated="workers")
    sentence_start = "Extrapolated: 4 times as many workers as in the learned runs. With 12 workers, "
    assert sentence_of([SAME, extrapolated_row]).startswith(sentence_start)
    assert sentence_of([SAME, FASTER]).startswith("With 12 workers, ")


def test_disks_that_no_layout_uses_are_stated_after_the_effect() -> None:
    more_disks = {"worker.devices.hdd.count": "12"}
    answer = replace(SAME, changes=more_disks, levels={"layout": "HD2"})
    unused = (
        "The runs use the disks of their layout (HD2) only. Change the layout, such as layout=HD12, to use other disks."
    )
    assert sentence_of([answer]).endswith(f" {unused}")
    assert unused not in sentence_of([replace(answer, changes=more_disks | {"layout": "HD12"})])


@pytest.mark.parametrize(
    ("low", "high", "verdict", "text"),
    [
        (1.1, 1.4, CostVerdict.DEARER, "A run costs more: 1.20× the measured cost"),
        (0.5, 0.9, CostVerdict.CHEAPER, "A run costs less: 0.67× the measured cost"),
        (0.9, 1.4, CostVerdict.NOT_DISTINGUISHABLE, "No difference in the cost of a run is shown: 1.12×"),
    ],
)
def test_the_money_begins_with_the_verdict_on_the_cost_of_a_run(
    low: float, high: float, verdict: CostVerdict, text: str
) -> None:
    cost = CostChange.of((low * high) ** 0.5 if low > 1 or high > 1 else 0.67, low, high)
    assert cost.verdict is verdict
    costs: dict[str, Any] = {
        "per_h_before": 1.0,
        "per_h_after": 2.0,
        "cost_before": 0.5,
        "cost_after": 0.6,
        "currency": "USD",
    }
    priced = replace(FASTER, cost=cost, missing_prices=(), **costs)
    prices = WhatIfPrices(load_prices(EXAMPLE.parent / "prices.yaml"), {})
    money = money_sentence([priced], prices)
    assert money.startswith(text.replace("1.20", f"{cost.ratio:.2f}"))
    assert f"(90 % interval {low:.2f} to {high:.2f}), $0.60 instead of $0.50." in money
    assert "$52,560 over 3 years instead of $26,280, used or idle." in money
    assert LAB_NOTE not in money
    assert money_sentence([replace(priced, lab_scale=0.05)], prices).endswith(LAB_NOTE)
    text_without_a_cost = money_sentence([priced, replace(priced, cost=None)], prices)
    assert "The measured cluster has no price" in text_without_a_cost


def test_a_lab_predicts_speedups_and_the_answer_says_how_to_get_times_of_hosts() -> None:
    hosts_sentence = "For times on hosts, measure there."
    lab_sentence = (
        "The runs are of a lab at 1/20: the speedups are those of the described cluster, the seconds are those of the "
        "lab."
    )
    assert caveat_of([row("A", 1.5, 1.1, 2.1)]) == ""
    lab_row = replace(row("A", 1.5, 1.1, 2.1), lab_scale=0.05)
    assert caveat_of([lab_row]) == f"{lab_sentence} {hosts_sentence}"
    row_with_cores = replace(lab_row, lab_cores=LabCores(2.0, 8.0, 18, 72))
    cores_sentence = (
        "The prediction assumes that each core of a worker has as much CPU as in the measured runs: 8 cores in the lab "
        "machine instead of 2, for the 72 cores of all workers instead of 18."
    )
    assert caveat_of([row_with_cores]) == f"{lab_sentence} {cores_sentence} {hosts_sentence}"
    assert caveat_of([replace(lab_row, origin="measured")]) == ""


def test_the_configuration_with_the_largest_shown_difference_is_first_on_the_page() -> None:
    wide_row = row("D", 3.0, 0.9, 9.0)
    assert WhatIfAnswer("", "", "", "", (), (SAME, wide_row, FASTER), (), 0).most_changed is FASTER
    assert WhatIfAnswer("", "", "", "", (), (SAME, FASTER, SLOWER), (), 0).most_changed is SLOWER
    assert WhatIfAnswer("", "", "", "", (), (SAME, wide_row), (), 0).most_changed is wide_row


def effect(changes: dict[str, str], ratio: float, shown: int) -> ChangeEffect:
    return ChangeEffect(changes, "", ratio, ratio / 1.2, ratio * 1.2, ratio, ratio, 2, shown)


@pytest.mark.parametrize(
    ("workers", "both", "text"),
    [
        (1.51, 1.52, "All of it comes from 12 workers (25 GbE per node alone: 1.01×, no difference shown)."),
        (1.51, 1.85, "Most of it comes from 12 workers (25 GbE per node alone: 1.01×, no difference shown)."),
        (1.2, 1.85, "A part of it comes from 12 workers (25 GbE per node alone: 1.01×, no difference shown)."),
    ],
)
def test_the_sentence_says_which_change_has_the_effect(workers: float, both: float, text: str) -> None:
    more_workers, faster_nic = {"workers.count": "12"}, {"nic": "25GbE"}
    effects = (
        effect(more_workers, workers, 2),
        effect(faster_nic, 1.01, 0),
        effect(more_workers | faster_nic, both, 2),
    )
    assert sentence_of([FASTER, FASTER], effects).endswith(text)
    two_shown_effects = (effects[0], replace(effects[1], shown=1), effects[2])
    assert "comes from" not in sentence_of([FASTER, FASTER], two_shown_effects)
    effects_with_a_refusal = (effects[0], replace(effects[1], ratio=None), effects[2])
    assert "comes from" not in sentence_of([FASTER, FASTER], effects_with_a_refusal)
    assert "comes from" not in sentence_of([SAME, SAME], (*effects[:2], replace(effects[2], shown=0)))


def test_the_sentence_states_the_cost_ratio_of_all_changes_or_of_the_changes_that_have_one() -> None:
    cost, cost_around_1 = CostChange.of(2.21, 1.62, 3.02), CostChange.of(1.1, 0.9, 1.3)
    priced = replace(FASTER, cost=cost)
    assert sentence_of([priced]).endswith("A run costs 2.21× as much (90 % interval 1.62 to 3.02).")
    sentence = sentence_of([replace(FASTER, cost=cost_around_1)])
    assert sentence.endswith("A run costs 1.10× as much (90 % interval 0.90 to 1.30, no difference shown).")
    more_workers, faster_nic = {"workers.count": "12"}, {"nic": "25GbE"}
    effects = (
        replace(effect(more_workers, 1.51, 2), cost=cost),
        effect(faster_nic, 1.01, 0),
        effect(more_workers | faster_nic, 1.52, 2),
    )
    cost_sentence = "A run costs 2.21× as much (90 % interval 1.62 to 3.02) with 12 workers as the only change."
    assert sentence_of([FASTER, FASTER], effects).endswith(cost_sentence)
    assert "costs" not in sentence_of([FASTER])


def test_the_answer_states_that_a_stage_has_fewer_tasks_than_workers() -> None:
    slots = TaskSlots(workers=12, tasks=6, parallel=47, containers=4, more_tasks={"maps": "12", "reduces": "12"})
    row_with_idle_workers = replace(FASTER, slots=slots)
    sentence = (
        "has at most 6 tasks: at most 6 of 12 workers run one at the same time, and the others add only their disks "
        "and network. Try next for TeraSort: 12 map tasks and 12 reduce tasks."
    )
    assert tasks_sentence([row_with_idle_workers]) == f"A stage {sentence}"
    assert tasks_sentence([row_with_idle_workers, SAME]) == f"A stage of TeraSort {sentence}"
    assert next_changes([SAME, row_with_idle_workers]) == (row_with_idle_workers, slots.more_tasks)
    row_with_a_fixed_number = replace(row_with_idle_workers, slots=replace(slots, more_tasks={}))
    assert tasks_sentence([row_with_a_fixed_number]).endswith("the others add only their disks and network.")


def test_the_answer_proposes_more_containers_if_tasks_wait() -> None:
    slots = TaskSlots(workers=12, tasks=90, parallel=23, containers=2, more_tasks={})
    row_with_waiting_tasks = replace(FASTER, slots=slots)
    sentence = "A stage has up to 90 tasks, and 12 workers run 23 of them at once."
    assert tasks_sentence([row_with_waiting_tasks]) == f"{sentence} Try next for TeraSort: 4 containers per worker."
    assert next_changes([row_with_waiting_tasks]) == (row_with_waiting_tasks, {"containers": "4"})
    assert tasks_sentence([replace(row_with_waiting_tasks, changes={"containers": "2"})]) == sentence
    assert tasks_sentence([replace(row_with_waiting_tasks, changes={"nic": "25GbE"})]) == "", (
        "the question is not about tasks"
    )
    assert tasks_sentence([SAME]) == ""
