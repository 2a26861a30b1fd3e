"""Test the explanation of a speedup by the phases, disks and CPUs of two observed runs."""

from __future__ import annotations

import pytest

from assay.analysis.run_profile.devices import DeviceUse, NodeUse, Purpose, Transfers
from assay.analysis.run_profile.job_figures import job_figures
from assay.analysis.run_profile.phases import Breakdown, PhaseTime
from assay.analysis.run_profile.reasons import Measure, ObservedSide, _work, reasons
from assay.analysis.run_profile.run_detail import RunDetail
from benchmark_support import benchmark
from simulator_support import needs_simulator

HDD = {"map": 20.0, "shuffle": 5.0, "merge": 8.0, "reduce": 15.0}
SSD = {"map": 10.0, "shuffle": 5.2, "merge": 1.8, "reduce": 8.0}


def _side(
    label: str, phases: dict[str, float], moved: float = 0.0, busy: float = 0.0, wait_s: float = 0.0, cpu: float = 0.0
) -> ObservedSide:
    times = tuple(PhaseTime(name, 0.0, seconds, seconds, seconds, seconds) for name, seconds in phases.items())
    disks = Transfers(
        read_bytes=moved / 4,
        write_bytes=3 * moved / 4,
        reads=100,
        writes=1000,
        read_s=1,
        write_s=1000 * wait_s,
        busy_s=1,
    )
    devices = (DeviceUse("d1", Purpose.SHARED, 3, disks, busy, 1.0),) if moved else ()
    nodes = (
        NodeUse("w1", True, None, cpu, None, None, None, None, 4),
        NodeUse("master", False, None, 0.01, None, None, None, None, 0),
    )
    detail = RunDetail(
        run_id=label,
        breakdown=Breakdown(0.0, sum(phases.values()), times, ()),
        jobs=(),
        figures=job_figures([]),
        replication=None,
        requested=(),
        devices=devices,
        by_purpose=(),
        nodes=nodes if cpu else (),
        imbalances={},
    )
    return ObservedSide(label, sum(phases.values()), detail)


def test_the_phases_that_explain_the_difference_are_named_the_longest_first() -> None:
    result = reasons([_side("A: HD2", HDD), _side("B: SS2", SSD)])
    assert result.sentences == (
        "B: SS2 took 23.0 s less than A: HD2: 10.0 s in map, 7.0 s in reduce and 6.2 s in merge.",
    )
    assert result.phases_s[1] == Measure("shuffle", (5.0, 5.2))


def test_the_slower_side_is_called_slower() -> None:
    result = reasons([_side("A: SS2", SSD), _side("B: HD2", HDD)])
    assert result.sentences[0].startswith("B: HD2 took 23.0 s more than A: SS2: 10.0 s in map")


def test_equal_work_with_shorter_waits_is_distinguished_from_less_work() -> None:
    slow = _side("A: HD2", HDD, moved=666e6, busy=0.45, wait_s=0.226, cpu=0.47)
    fast = _side("B: SS2", SSD, moved=674e6, busy=0.21, wait_s=0.098, cpu=0.75)
    _, work, waiting = reasons([slow, fast]).sentences
    assert work == "The amounts of work are similar: 674 MB to and from disks instead of 666 MB."
    assert "On B: SS2, a write took 98 ms on average instead of 226 ms, " in waiting
    assert "the busiest disk was busy for 21 % of the time instead of 45 %" in waiting
    assert waiting.endswith("CPUs were busy for 75 % of the time instead of 47 %.")
    less = _side("B: SS2", SSD, moved=300e6, busy=0.21, wait_s=0.098)
    sentence = reasons([slow, less]).sentences[1]
    assert sentence == "The amounts of work differ: 300 MB to and from disks instead of 666 MB."


def test_no_phase_is_named_of_a_difference_that_one_run_of_each_does_not_show() -> None:
    """48 s against 41 s: two runs of one configuration are as far apart once in ten times."""
    slow, fast = _side("A", HDD), _side("B", HDD | {"map": 13.0})
    result = reasons([slow, fast])
    sentence = "B took 7.0 s less than A: with one run of each, this can be chance, so no phase is named."
    assert result.sentences == (sentence,)
    assert result.phases_s[0] == Measure("map", (20.0, 13.0))  # as observed
    assert "10.0 s in map" in reasons([slow, _side("B", HDD | {"map": 10.0})]).sentences[0]


def test_a_different_amount_with_equal_work_is_not_called_other_work() -> None:
    """Faster disks write more back before a run ends, a faster CPU takes fewer seconds: the work was the same."""
    sentence = _work({"disk_moved_bytes": 666e6, "cpu_s": 100.0}, {"disk_moved_bytes": 900e6, "cpu_s": 98.0})
    assert sentence == (
        "Similar amounts: 98.0 s of the tasks' CPU time instead of 100.0 s. "
        "Different amounts: 900 MB to and from disks instead of 666 MB. "
        "Caches or a different processor can explain that."
    )
    both = _work({"disk_moved_bytes": 666e6, "cpu_s": 100.0}, {"disk_moved_bytes": 999e6, "cpu_s": 150.0})
    assert both.startswith("The amounts of work differ: 999 MB")


@needs_simulator
def test_the_benchmark_of_reasons_distinguishes_more_data_from_faster_disks() -> None:
    module = benchmark("why_errors")
    [more] = module.pairs("data", 1, seed=1)
    [same] = module.pairs("nothing", 1, seed=1)
    assert more.work_differs
    assert not same.work_differs
    assert module.cells([more, more, same])[2] == "66.7%"


def test_figures_have_units_and_omit_unobserved_values() -> None:
    result = reasons([_side("A", HDD, moved=666e6, busy=0.45, wait_s=0.2), _side("B", SSD)])
    assert Measure("disk_busy_max_share", (0.45, None)) in result.figures
    assert "cpu_busy_share" not in {figure.name for figure in result.figures}


@pytest.mark.parametrize("sides", [[], [_side("A", HDD)], [_side("A", HDD), _side("B", {})]])
def test_fewer_than_two_observed_sides_give_no_reasons(sides: list[ObservedSide]) -> None:
    result = reasons(sides)
    assert (result.labels, result.phases_s, result.figures, result.sentences) == ((), (), (), ())
