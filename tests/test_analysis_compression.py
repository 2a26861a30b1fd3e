"""Compression as one factor: the switch and the codec, which change together."""

from __future__ import annotations

import pytest

from assay.analysis.compression import moves_with, with_compression
from assay.analysis.matched import matched_speedups
from assay.analysis.table import table_of
from assay.model.run import Run
from builders import make_run

SWITCH, CODEC = "mapreduce.map.output.compress", "mapreduce.map.output.compress.codec"
SNAPPY = "org.apache.hadoop.io.compress.SnappyCodec"


def run(number: int, duration_s: float, **parameters: str) -> Run:
    told = {name.replace("__", "."): text for name, text in parameters.items()}
    return make_run(number, duration_s=duration_s, levels={"layout": "HD2", **told}, parameters=told)


def runs() -> list[Run]:
    found = []
    for number in range(6):
        block = {"dfs__blocksize": str(number)}
        found += [
            run(4 * number, 100 + number, **{SWITCH: "false"}, **block),
            run(4 * number + 1, 50 + number / 2, **{SWITCH: "true", CODEC: SNAPPY}, **block),
            run(4 * number + 2, 80 + number, **{SWITCH: "true"}, **block),
        ]
    return [*found, run(99, 10.0)]


def test_switch_and_codec_become_one_factor() -> None:
    table = with_compression(table_of(runs()))
    assert SWITCH not in table.columns
    assert CODEC not in table.columns
    column = table.columns["compression"]
    assert [column.text(row) for row in range(3)] == ["none", "Snappy", "default codec"]
    assert column.text(18) is None  # it does not say


def test_runs_with_and_without_are_matched() -> None:
    alone = matched_speedups(table_of(runs()), SWITCH, "false")
    assert [found.sets for found in alone] == [6]  # with the codec that is not named only
    found = {s.candidate: s for s in matched_speedups(with_compression(table_of(runs())), "compression", "none")}
    assert found["Snappy"].sets == 6
    assert found["Snappy"].ratio == pytest.approx(2)


def test_what_moves_together_is_named_and_nothing_else_is_changed() -> None:
    table = table_of(runs())
    assert moves_with(SWITCH, table) == CODEC
    assert moves_with(CODEC, table) == SWITCH
    assert moves_with("dfs.blocksize", table) is None
    plain = table_of([make_run(1)])
    assert with_compression(plain) is plain
    assert moves_with(SWITCH, plain) is None
    own = table_of([make_run(1, levels={"layout": "HD2", "compression": "lzo"})])
    assert with_compression(own) is own
