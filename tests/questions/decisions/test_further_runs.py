"""Test proposals of further runs: their aim, feasibility, and effect on intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.statistics import Verdict, table_of
from assay.model import Origin, Run
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest, RunGoal
from assay.questions.decisions.further_runs import FURTHER_MAX, PROPOSALS_MAX
from assay.questions.decisions.sentences.next_sentences import next_sentences
from builders import interleaved, make_run


def pairs_of_runs(times_s: Sequence[tuple[float, float]], first: int = 0, **changes: object) -> list[Run]:
    """Return runs on HD2 and SS2 in turns, with these times."""
    return interleaved(
        make_run(first + 2 * number + side, layout=layout, levels={"layout": layout}, duration_s=times[side], **changes)
        for number, times in enumerate(times_s)
        for side, layout in enumerate(("HD2", "SS2"))
    )


def random_times_s(seed: int, count: int, ratio: float, spread: float) -> list[tuple[float, float]]:
    """Return pairs of times whose logarithms differ by ``log(ratio)``, with a standard deviation of ``spread``."""
    logs = np.random.default_rng(seed).normal(math.log(60.0), spread, (count, 2)) - np.array([0.0, math.log(ratio)])
    return [(float(first), float(second)) for first, second in np.exp(logs)]


def decision_of(runs: Sequence[Run]) -> Decision:
    (decision,) = decide(table_of(list(runs)), DecisionRequest("layout"))
    return decision


def test_two_runs_an_option_need_a_third() -> None:
    decision = decision_of(pairs_of_runs([(60.0, 30.0), (61.0, 30.5)]))
    (proposal,) = decision.next_runs
    assert decision.results[0].verdict is Verdict.NOT_ENOUGH_RUNS
    assert (proposal.repetitions, proposal.aim, proposal.clusters) == (1, RunGoal.DIFFERENCE, ("lab-small",))
    assert proposal.duration_s == pytest.approx(60.5 + 30.25)
    (sentence,) = next_sentences(decision)
    assert sentence.startswith(
        "Run TeraSort once more with each of 2 hard disks (HD2) and 2 SSDs (SS2) on lab-small (about 2 min). "
    )


def test_single_runs_without_any_repetition_get_a_first_interval() -> None:
    decision = decision_of(pairs_of_runs([(60.0, 30.0)]))
    (proposal,) = decision.next_runs
    assert (proposal.repetitions, proposal.aim) == (2, RunGoal.FIRST_INTERVAL)
    assert proposal.half_width is None
    assert proposal.expected_half_width is None
    assert next_sentences(decision)[0].endswith(". That gives a first interval.")


def test_a_settled_decision_proposes_nothing() -> None:
    assert decision_of(pairs_of_runs([(60.0, 30.0), (61.0, 30.5), (59.0, 29.0)])).next_runs == ()


def test_runs_that_would_settle_nothing_are_not_proposed() -> None:
    times_s = [(60.0, 61.0), (90.0, 50.0), (40.0, 70.0)]
    assert decision_of(pairs_of_runs(times_s)).results[0].verdict is Verdict.NOT_DISTINGUISHABLE
    assert decision_of(pairs_of_runs(times_s)).next_runs == ()


def test_simulated_runs_are_not_repeated() -> None:
    runs = [replace(run, origin=Origin.SIMULATED) for run in pairs_of_runs([(60.0, 30.0), (61.0, 30.5)])]
    assert decision_of(runs).next_runs == ()


def test_at_most_three_proposals_those_with_too_few_runs_first() -> None:
    runs = pairs_of_runs(random_times_s(3, 4, 1.04, 0.04), workload="sort")
    for number, workload in enumerate(("terasort", "wordcount", "kmeans", "pagerank")):
        runs += pairs_of_runs([(60.0, 55.0), (61.0, 56.0)], 100 + 10 * number, workload=workload)
    proposals = decision_of(runs).next_runs
    assert len(proposals) == PROPOSALS_MAX
    assert all(1 <= proposal.repetitions <= FURTHER_MAX for proposal in proposals)
    verdicts = {result.workload: result.verdict for result in decision_of(runs).results}
    assert all(verdicts[proposal.workload] is Verdict.NOT_ENOUGH_RUNS for proposal in proposals)


def test_the_interval_becomes_as_narrow_as_proposed() -> None:
    """Over drawn repositories, make the proposed repetitions and compare the half-width with the expected one."""
    ratios, settled = [], 0
    for seed in range(60):
        times_s = random_times_s(seed, 40, 1.10, 0.05)
        before = decision_of(pairs_of_runs(times_s[:4]))
        if not before.next_runs:
            continue
        (proposal,) = before.next_runs
        assert proposal.expected_half_width is not None
        assert proposal.half_width is not None
        assert proposal.expected_half_width < proposal.half_width
        after = decision_of(pairs_of_runs(times_s[: 4 + proposal.repetitions]))
        time = after.results[0].time
        assert time is not None
        assert time.low is not None
        assert time.high is not None
        ratios.append((math.sqrt(time.high / time.low) - 1) / proposal.expected_half_width)
        settled += after.results[0].verdict in (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)
    assert len(ratios) >= 15
    assert 0.75 < float(np.median(ratios)) < 1.35
    assert settled >= len(ratios) / 3


def test_groups_that_lack_one_option_are_completed_on_clusters_that_ran_both() -> None:
    runs, number = [], 0
    noise = np.random.default_rng(5)
    for cluster, complete, half in (("rack", 8, 12), ("cloud", 0, 9)):
        for size in range(complete + half):
            layouts = ("HD2", "SS2") if size < complete else ("SS2",) if cluster == "rack" else ("HD2",)
            for layout in layouts:
                number += 1
                duration_s = (60.0 if layout == "HD2" else 55.0) * float(np.exp(noise.normal(0.0, 0.09)))
                levels = {"layout": layout, "size": str(size)}
                runs.append(make_run(number, cluster=cluster, layout=layout, levels=levels, duration_s=duration_s))
    decision = decision_of(runs)
    assert decision.results[0].verdict is Verdict.NOT_DISTINGUISHABLE
    (proposal,) = decision.next_runs
    assert proposal.new_groups
    assert proposal.clusters == ("rack",)
    assert 1 <= proposal.groups <= 12
    assert "in settings that lack 2 hard disks (HD2) or 2 SSDs (SS2)" in next_sentences(decision)[0]
