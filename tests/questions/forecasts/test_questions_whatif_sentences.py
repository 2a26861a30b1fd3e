"""Test the sentence of a what-if question: which speedups it names, and what it says where no difference is shown."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from assay.analysis.cost.missing_prices import MissingPrice
from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.decisions.decision import CostVerdict
from assay.questions.forecasts.whatif.lab_cpu import LabCores
from assay.questions.forecasts.whatif.task_slots import TaskSlots, next_changes, tasks_sentence
from assay.questions.forecasts.whatif.whatif_answer import ChangeEffect, CostChange, WhatIf, WhatIfAnswer
from assay.questions.forecasts.whatif.whatif_costs import WhatIfPrices
from assay.questions.forecasts.whatif.whatif_sentences import (
    caveat_of,
    effect_notes,
    effects_table,
    money_sentence,
    notes_of,
    refused_effect,
    sentence_of,
    slower_link_notes,
)
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
        "links_bits_per_s": (10e9, 10e9),
        "extrapolation": 1.0,
        "extrapolated": "",
        "missing_prices": (),
        "slots": TaskSlots(workers=12, tasks=40, parallel=47, containers=4, more_tasks={}),
    }
    return WhatIf(**values)


FASTER, SAME, SLOWER = row("A", 1.5, 1.1, 2.1), row("B", 1.04, 0.9, 1.2), row("C", 0.5, 0.4, 0.6)
FASTER_TEXT = "TeraSort on A is 1.50× as fast (90 % interval 1.10 to 2.10)"
NO_BOOK = "simulated; cost unknown: no price book."


@pytest.mark.parametrize(
    ("answers", "text", "notes"),
    [
        ([FASTER], FASTER_TEXT, ()),
        (
            [SAME],
            "TeraSort on B is 1.04× as fast (90 % interval 0.90 to 1.20)",
            ("No difference is shown: the interval includes 1.",),
        ),
        (
            [FASTER, SAME],
            "runs are 1.25× as fast on average (90 % interval 0.99 to 1.59)",
            (f"{FASTER_TEXT}. No difference is shown for the other configuration (1.04×).",),
        ),
        (
            [FASTER, SLOWER],
            "runs are 0.87× as fast on average (90 % interval 0.66 to 1.12)",
            (f"{FASTER_TEXT} and TeraSort on C is 0.50× as fast (90 % interval 0.40 to 0.60).",),
        ),
        (
            [SAME, row("D", 0.98, 0.7, 1.3)],
            "runs are 1.01× as fast on average (90 % interval 0.79 to 1.25)",
            ("No difference is shown for any of 2 configurations (0.98× to 1.04× as fast).",),
        ),
        (
            [FASTER] * 4 + [SAME, SAME],
            "runs are 1.33× as fast on average (90 % interval 1.03 to 1.74)",
            (
                "4 of 6 configurations are faster (1.50× as fast). "
                "No difference is shown for the other 2 configurations (1.04×).",
            ),
        ),
        (
            [FASTER] * 4 + [SLOWER],
            "runs are 1.20× as fast on average (90 % interval 0.90 to 1.63)",
            ("4 of 5 configurations are faster and 1 is slower (0.50× to 1.50× as fast).",),
        ),
    ],
)
def test_the_sentence_has_the_mean_and_the_notes_name_each_difference_and_count_the_rest(
    answers: list[WhatIf], text: str, notes: tuple[str, ...]
) -> None:
    assert sentence_of(answers, has_prices=False) == f"With 12 workers, {text}, {NO_BOOK}"
    assert notes_of(answers, ()) == notes


def test_an_extrapolation_is_in_the_sentence_and_the_first_note() -> None:
    far = replace(FASTER, extrapolation=4.0, extrapolated="workers")
    assert ", simulated, extrapolated; " in sentence_of([SAME, far], has_prices=False)
    first = "Extrapolated: 4 times as many workers as in the learned runs. The interval is wider for it."
    assert notes_of([SAME, far], ())[0] == first
    assert "xtrapolated" not in " ".join((sentence_of([SAME, FASTER], has_prices=False), *notes_of([SAME, FASTER], ())))


def test_the_sentence_has_at_most_35_words() -> None:
    part = MissingPrice("network per node", 13, "13 nodes", "prices the described network")
    changes = {"nic": "25GbE", "workers.count": "12"}
    far = replace(FASTER, extrapolation=4.0, extrapolated="workers", missing_prices=(part,), changes=changes)
    named = replace(far, configuration="2 hard disks per worker (HD2)")
    for answers in ([far, far], [named]):
        sentence = sentence_of(answers, has_prices=True)
        assert sentence.endswith("; cost unknown: unpriced network per node.")
        assert len(sentence.split()) <= 35, sentence


def test_a_number_of_disks_and_the_layout_that_uses_them_are_one_change_in_words() -> None:
    changed = replace(SAME, changes={"worker.devices.hdd.count": "12", "layout": "HD12"})
    assert sentence_of([changed], has_prices=False).startswith("With 12 hard disks per worker (HD12), TeraSort on B ")
    fewer = replace(SAME, changes={"worker.devices.hdd.count": "12", "layout": "HD4"})
    both = "With 12 hard disks per worker and 4 hard disks per worker (HD4), "
    assert sentence_of([fewer], has_prices=False).startswith(both)


def test_disks_that_no_layout_uses_are_stated_after_the_effect() -> None:
    more_disks = {"worker.devices.hdd.count": "12"}
    answer = replace(SAME, changes=more_disks, levels={"layout": "HD2"})
    unused = (
        "The runs use the disks of their layout (HD2) only. Change the layout, such as layout=HD12, to use other disks."
    )
    assert notes_of([answer], ())[-1] == unused
    assert unused not in notes_of([replace(answer, changes=more_disks | {"layout": "HD12"})], ())


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
    mean = money_sentence([priced, replace(priced, cost=None)], prices)
    assert "The measured cluster has no price" in mean


def test_a_lab_predicts_speedups_and_the_answer_says_how_to_get_times_of_hosts() -> None:
    hosts = "For times on hosts, measure there."
    lab = (
        "The runs are of a lab at 1/20: the speedups are those of the described cluster, the seconds are those of the "
        "lab."
    )
    assert caveat_of([row("A", 1.5, 1.1, 2.1)]) == ""
    in_lab = replace(row("A", 1.5, 1.1, 2.1), lab_scale=0.05)
    assert caveat_of([in_lab]) == f"{lab} {hosts}"
    more = replace(in_lab, lab_cores=LabCores(2.0, 8.0, 18, 72))
    cores = (
        "The prediction assumes that each core of a worker has as much CPU as in the measured runs: the workers have "
        "72 cores in total instead of 18, so the lab machine is simulated with 8 cores instead of 2."
    )
    assert caveat_of([more]) == f"{lab} {cores} {hosts}"
    assert caveat_of([replace(in_lab, origin="measured")]) == ""


def test_the_configuration_with_the_largest_shown_difference_is_first_on_the_page() -> None:
    unsure = row("D", 3.0, 0.9, 9.0)
    assert WhatIfAnswer("", (), "", "", "", (), (SAME, unsure, FASTER), (), 0).most_changed is FASTER
    assert WhatIfAnswer("", (), "", "", "", (), (SAME, FASTER, SLOWER), (), 0).most_changed is SLOWER
    assert WhatIfAnswer("", (), "", "", "", (), (SAME, unsure), (), 0).most_changed is unsure


def effect(changes: dict[str, str], ratio: float, shown: int) -> ChangeEffect:
    return ChangeEffect(changes, "", ratio, ratio / 1.2, ratio * 1.2, ratio, ratio, 2, shown)


@pytest.mark.parametrize(
    ("workers", "both", "part"), [(1.51, 1.52, "All"), (1.51, 1.85, "Most"), (1.2, 1.85, "A part")]
)
def test_the_notes_say_which_change_has_the_effect(workers: float, both: float, part: str) -> None:
    text = f"{part} of the speedup comes from 12 workers. No difference is shown for 25 GbE per node alone (1.01×)."
    count, link = {"workers.count": "12"}, {"nic": "25GbE"}
    effects = (effect(count, workers, 2), effect(link, 1.01, 0), effect(count | link, both, 2))
    assert text in notes_of([FASTER, FASTER], effects)
    several = (effects[0], replace(effects[1], shown=1), effects[2])
    assert "comes from" not in " ".join(notes_of([FASTER, FASTER], several))
    impossible = (effects[0], replace(effects[1], ratio=None), effects[2])
    assert "comes from" not in " ".join(notes_of([FASTER, FASTER], impossible))
    assert "comes from" not in " ".join(notes_of([SAME, SAME], (*effects[:2], replace(effects[2], shown=0))))


def test_the_sentence_states_the_cost_ratio_and_the_notes_those_of_single_changes() -> None:
    cost, unclear = CostChange.of(2.21, 1.62, 3.02), CostChange.of(1.1, 0.9, 1.3)
    priced = sentence_of([replace(FASTER, cost=cost)], has_prices=True)
    assert priced.endswith(", simulated; a run costs 2.21× as much (1.62 to 3.02).")
    count, link = {"workers.count": "12"}, {"nic": "25GbE"}
    effects = (replace(effect(count, 1.51, 2), cost=cost), effect(link, 1.01, 0), effect(count | link, 1.52, 2))
    alone = "With 12 workers alone, a run costs 2.21× as much (90 % interval 1.62 to 3.02)."
    assert alone in notes_of([FASTER, FASTER], effects)
    unshown = "With 12 workers alone, a run costs 1.10× as much (90 % interval 0.90 to 1.30, no difference shown)."
    assert unshown in notes_of([FASTER, FASTER], (replace(effects[0], cost=unclear), *effects[1:]))
    assert not any("costs" in note for note in notes_of([replace(FASTER, cost=cost)] * 2, effects))
    assert sentence_of([FASTER], has_prices=True).endswith(
        "; cost ratio unknown: the price book does not price the cluster."
    )


def test_a_change_that_is_impossible_alone_is_not_computed_and_a_note_below_says_why() -> None:
    count = {"worker.devices.hdd.count": "12"}
    refused = refused_effect(("layout", "HD12"), "the workers have 2 hard disks")
    effects = (effect(count, 1.0, 0), refused, effect(count | {"layout": "HD12"}, 1.5, 2))
    table = effects_table(effects)
    assert [row[:2] for row in table.rows][1] == ("12 hard disks per worker (HD12) alone", "not computed")
    assert effect_notes(effects) == [
        "12 hard disks per worker (HD12) alone can't be simulated: the workers have 2 hard disks. It needs the other "
        "changes."
    ]


def test_the_answer_states_that_a_stage_has_fewer_tasks_than_workers() -> None:
    few = TaskSlots(workers=12, tasks=6, parallel=47, containers=4, more_tasks={"maps": "12", "reduces": "12"})
    idle = replace(FASTER, slots=few)
    sentence = (
        "has at most 6 tasks: at most 6 of 12 workers run one at the same time, and the others add only their disks "
        "and network. Try next for TeraSort: 12 map tasks and 12 reduce tasks."
    )
    assert tasks_sentence([idle]) == f"A stage {sentence}"
    assert tasks_sentence([idle, SAME]) == f"A stage of TeraSort {sentence}"
    assert next_changes([SAME, idle]) == (idle, few.more_tasks)
    fixed = replace(idle, slots=replace(few, more_tasks={}))
    assert tasks_sentence([fixed]).endswith("the others add only their disks and network.")


def test_the_answer_proposes_more_containers_if_tasks_wait() -> None:
    slots = TaskSlots(workers=12, tasks=90, parallel=23, containers=2, more_tasks={})
    waiting = replace(FASTER, slots=slots)
    sentence = "A stage has up to 90 tasks, and 12 workers run 23 of them at once."
    assert tasks_sentence([waiting]) == f"{sentence} Try next for TeraSort: 4 containers per worker."
    assert next_changes([waiting]) == (waiting, {"containers": "4"})
    assert tasks_sentence([replace(waiting, changes={"containers": "2"})]) == sentence
    assert tasks_sentence([replace(waiting, changes={"nic": "25GbE"})]) == "", "the question is not about tasks"
    assert tasks_sentence([SAME]) == ""


def test_configurations_with_a_slower_link_than_measured_are_counted_apart() -> None:
    slower = replace(SAME, links_bits_per_s=(56e9, 25e9))
    assert slower.is_slower_link
    assert not SAME.is_slower_link
    text = "The link is slower than measured (56 Gbit/s) for 1 of 2 configurations."
    assert slower_link_notes([slower], 2) == [
        f"{text} It is 1.04× as fast (90 % interval 0.90 to 1.20), not included above."
    ]
    assert slower_link_notes([slower], 1) == [text.replace("2 configurations", "1 configuration")]
    assert slower_link_notes([], 2) == []
