"""Test runs as columns: no value is lost, and equal rows are repetitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.statistics.keys import combined, groups_by
from assay.analysis.statistics.runs.run_table import ABSENT, Column, RunTable, coded, table_of
from builders import make_run


def test_a_selection_of_runs_keeps_the_sessions_of_all_runs() -> None:
    """A and B take turns every three hours: the runs of A alone have pauses of six hours, which end no session."""
    runs = [
        make_run(number, layout="AB"[number % 2], started_at=f"2026-01-05T{3 * number:02d}:00:00Z")
        for number in range(8)
    ]
    table = table_of(runs)
    layout = table.columns["layout"]
    of_a = table.subset(layout.codes == layout.code("A"))
    assert of_a.sessions is not None
    assert len(set(of_a.sessions.tolist())) == 1
    alone = replace(of_a, sessions=None).with_sessions().sessions
    assert alone is not None
    assert len(set(alone.tolist())) == 4


def test_columns_hold_what_the_runs_hold() -> None:
    runs = [make_run(0), make_run(1, layout="SS2", cold=None, metrics={"job_s": 3.0})]
    table = table_of(runs)
    assert len(table) == 2
    assert [table.columns["layout"].text(row) for row in (0, 1)] == ["HD2", "SS2"]
    assert [table.columns["cold"].text(row) for row in (0, 1)] == ["cold", None]
    assert table.columns["dfs.blocksize"].levels == ("64MiB",)
    assert table.values["duration_s"].tolist() == [60.0, 60.0]
    assert np.isnan(table.values["job_s"][0])
    assert table.values["started_unix_s"][1] - table.values["started_unix_s"][0] == 1.0
    assert {"layout", "workload", "dfs.blocksize", "terasort.reduces"} <= set(table.factors)
    assert not {"status", "cold", "plan", "campaign_id"} & set(table.factors)


def test_derived_and_unknown_values_are_no_columns() -> None:
    run = replace(make_run(), parameters={"dfs.datanode.data.dir": "/a"}, started_at="", data_bytes=None)
    table = table_of([run])
    assert "dfs.datanode.data.dir" not in table.columns
    assert "data_bytes" not in table.columns
    assert np.isnan(table.values["started_unix_s"][0])


def test_rows_are_picked_by_mask_or_position() -> None:
    table = table_of([make_run(number, duration_s=float(number)) for number in range(4)])
    assert table.subset(table.values["duration_s"] > 1).values["duration_s"].tolist() == [2.0, 3.0]
    assert table.subset(np.array([3, 0])).rows.tolist() == [3, 0]


def test_texts_are_coded_in_their_order() -> None:
    column = coded(["b", None, "a", "b"])
    assert (column.codes.tolist(), column.levels) == ([0, ABSENT, 1, 0], ("b", "a"))
    assert (column.code("a"), column.code("z")) == (1, ABSENT)


@pytest.mark.parametrize("width", [3, 40_000, 2_000_000_000])
def test_rows_of_equal_columns_share_a_group_and_groups_are_numbered_in_the_columns_order(width: int) -> None:
    rng = np.random.default_rng(3)
    some = rng.integers(0, width, 60)
    codes = [some[rng.integers(0, 60, 500)].astype(np.int32) for _ in range(2)]

    class Many(tuple[str, ...]):  # levels that must not be read
        __slots__ = ()

        def __len__(self) -> int:
            return width

    table = RunTable(np.arange(500), {str(n): Column(code, Many()) for n, code in enumerate(codes)}, {})
    groups = groups_by(table, ["0", "1"])
    pairs = list(zip(*codes, strict=True))
    number = {pair: index for index, pair in enumerate(sorted(set(pairs)))}
    assert groups.of_row.tolist() == [number[pair] for pair in pairs]
    assert groups.count == len(number)


def test_joined_factors_count_their_rows_in_the_same_index() -> None:
    runs = table_of([make_run(number, layout=name) for number, name in enumerate(("HD2", "SS2"))])
    joint = combined(RunTable(runs.rows, runs.columns, runs.values, "index-7"), ["layout", "workload"])
    assert joint.source == "index-7"
    assert joint.columns["layout + workload"].levels == ("HD2 + terasort", "SS2 + terasort")
