"""Test factors that combine several parameters: compression, containers, waves."""

from __future__ import annotations

import pytest

from assay.analysis.comparison.details.run_groups import run_groups
from assay.analysis.comparison.factors.compression import paired_parameter, with_compression
from assay.analysis.statistics.runs.factors_of_runs import factors_of
from assay.analysis.statistics.runs.run_table import table_of
from assay.execution.engines.catalogue import engine_kind
from assay.execution.planning.expansion import configuration_of
from assay.model.clusters.layout import Directories, Layout
from assay.model.runs.run import Run
from builders import make_run
from matching import matched_speedups

SWITCH, CODEC = "mapreduce.map.output.compress", "mapreduce.map.output.compress.codec"
SNAPPY = "org.apache.hadoop.io.compress.SnappyCodec"


def run(number: int, duration_s: float, **parameters: str) -> Run:
    levels = {name.replace("__", "."): text for name, text in parameters.items()}
    return make_run(number, duration_s=duration_s, levels={"layout": "HD2", **levels}, parameters=levels)


def runs() -> list[Run]:
    all_runs = []
    for number in range(6):
        block = {"dfs__blocksize": str(number)}
        all_runs += [
            run(4 * number, 100 + number, **{SWITCH: "false"}, **block),
            run(4 * number + 1, 50 + number / 2, **{SWITCH: "true", CODEC: SNAPPY}, **block),
            run(4 * number + 2, 80 + number, **{SWITCH: "true"}, **block),
        ]
    return [*all_runs, run(99, 10.0)]


def test_switch_and_codec_become_one_factor() -> None:
    table = with_compression(table_of(runs()))
    assert SWITCH not in table.columns
    assert CODEC not in table.columns
    column = table.columns["compression"]
    assert [column.text(row) for row in range(3)] == ["none", "Snappy", "default codec"]
    assert column.text(18) is None  # its parameters do not include compression


def test_runs_with_and_without_compression_are_matched() -> None:
    by_switch = matched_speedups(table_of(runs()), SWITCH, "false")
    assert [result.groups for result in by_switch] == [6]  # only with the default codec
    result = {s.candidate: s for s in matched_speedups(with_compression(table_of(runs())), "compression", "none")}
    assert result["Snappy"].groups == 6
    assert result["Snappy"].ratio == pytest.approx(2)


def test_factors_that_vary_together_are_named_and_nothing_else_changes() -> None:
    table = table_of(runs())
    assert paired_parameter(SWITCH, table) == CODEC
    assert paired_parameter(CODEC, table) == SWITCH
    assert paired_parameter("dfs.blocksize", table) is None
    plain = table_of([make_run(1)])
    assert with_compression(plain) is plain
    assert paired_parameter(SWITCH, plain) is None
    single_run = table_of([make_run(1, levels={"layout": "HD2", "compression": "lzo"})])
    assert with_compression(single_run) is single_run


RULES = engine_kind("hadoop").rules


def planned(number: int, duration_s: float, **words: str) -> Run:
    """Return a run as a campaign records it: the words as levels, and what they stand for as parameters."""
    layout = Layout("HD2", (Directories("hdd1"),), (Directories("hdd1"),))
    reduces = str(3 * int(words["containers"]) - 1)
    return make_run(
        number,
        workload="terasort",
        duration_s=duration_s,
        levels={"layout": "HD2", **words},
        parameters=configuration_of(words, layout, {"mapreduce.map.memory.mb": "512", **words}, RULES).parameters,
        workload_parameters={"program": "terasort", "maps": "12", "reduces": reduces, "waves": "1"},
    )


@pytest.mark.parametrize(
    ("factor", "baseline", "candidate", "ratio"), [("compression", "none", "snappy", 2), ("containers", "2", "4", 1.25)]
)
def test_runs_of_a_plan_are_compared_by_a_level_that_sets_several_parameters(
    factor: str, baseline: str, candidate: str, ratio: float
) -> None:
    planned_runs = [
        planned(number, seconds * (1 + number / 1000), compression=codec, containers=containers)
        for number, (codec, containers, seconds) in enumerate(
            2 * [("none", "2", 100.0), ("none", "4", 80.0), ("snappy", "2", 50.0), ("snappy", "4", 40.0)]
        )
    ]
    groups = run_groups(planned_runs, factor)
    assert [sorted(group.levels) for group in groups] == 2 * [[baseline, candidate]]
    assert {name for group in groups for name in group.context.split("=")[:1]} == {
        "compression" if factor == "containers" else "containers"
    }
    (speedup,) = matched_speedups(with_compression(table_of(planned_runs)), factor, baseline)
    assert (speedup.candidate, speedup.groups) == (candidate, 2)
    assert speedup.ratio == pytest.approx(ratio, rel=0.01)
    assert set(factors_of(planned_runs)) == {"compression", "containers"}


def test_runs_with_parameters_match_runs_with_the_level() -> None:
    planned_runs = [
        planned(number, 50.0, compression=codec, containers="2") for number, codec in enumerate(["snappy", "none"])
    ]
    column = with_compression(table_of([*planned_runs, *runs()[:3]])).columns["compression"]
    assert [column.text(row) for row in range(5)] == ["snappy", "none", "none", "snappy", "default codec"]
