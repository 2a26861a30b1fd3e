"""Test which lines of a trace are drawn as one: equal within half a percent of the highest value."""

from __future__ import annotations

from assay.analysis.run_profile.series import Series
from assay.analysis.run_profile.tables.trace_views import indistinguishable_groups


def line(node: str, *values: float, t_s: tuple[float, ...] = (0.0, 10.0, 20.0)) -> Series:
    return Series(node, "cpu", "busy", "cores", False, len(values), t_s, values)


def test_equal_lines_form_a_group_and_a_different_one_stays_alone() -> None:
    lines = [line("w1", 0, 1, 2), line("w2", 0, 1.005, 2), line("w3", 0, 1.5, 2), line("w4", 0, 1, 2)]
    assert [[item.node for item in group] for group in indistinguishable_groups(lines)] == [["w1", "w2", "w4"], ["w3"]]


def test_lines_with_other_sample_times_are_compared_at_the_times_of_both() -> None:
    same = line("w2", 0, 2, t_s=(0.0, 20.0))
    peak = line("w3", 0, 0, 2, 2, t_s=(0.0, 9.0, 11.0, 20.0))
    groups = indistinguishable_groups([line("w1", 0, 1, 2), same, peak])
    assert [[item.node for item in group] for group in groups] == [["w1", "w2"], ["w3"]]


def test_nothing_coincides_without_samples() -> None:
    assert len(indistinguishable_groups([line("w1", t_s=()), line("w2", t_s=())])) == 2
    assert indistinguishable_groups([]) == []
