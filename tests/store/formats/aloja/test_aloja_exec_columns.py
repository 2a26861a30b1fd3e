"""Test the column reader of ALOJA's tables: expected runs, ids, reasons and order for any cell."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.analysis.statistics.runs.imported_rows import ImportedRows, Item, join_blocks, table_of_rows
from assay.analysis.statistics.runs.run_table import table_of
from assay.model import ImportedRun, SkippedItem
from assay.store import ImportRequest, ImportSummary, Repository
from assay.store.formats.aloja.exec_rows import ExecTable
from assay.store.formats.aloja.execs import FORMAT
from assay.store.formats.source import LINE_BYTES_MAX, Source
from assay.store.formats.tables import columns as by_columns
from column_support import reasons_of, runs_of, same
from effort import examples
from mutation import mutations
from odd_tables import expected_lines, lines_of, table_path
from paths import ROOT

NARROW = (
    "id_exec,id_cluster,exec,bench,exe_time,start_time,end_time,net,disk,bench_type,maps,iosf,replication,iofilebuf,comp,"
    "blk_size,valid"
)
WIDE = "ID,Benchmark,Exe.Time,Net,Disk,Maps,IO.SFac,Rep,IO.FBuf,Comp,Blk.size,Cl.Name,Datanodes,Bench.Type,Running.Cost"
CELLS = {
    "id": ["1", "2", "3", "4", " 5 ", "", "x"],
    "id_cluster": ["1", "2", "", "9"],
    "exec": [
        "20140310_101500_conf_IB_HS2_b_m8_i10_r1_I65536_c3_z64/terasort",
        "20131201_090000_conf_ETH_SSD_b_m8_i10_r1_I65536_az/sort",
        "NULL",
        "",
        "20150310_101500_IB_HS2_bHiBench2_S0_D3_cloud-02/wordcount",
    ],
    "bench": ["terasort", "sort", "WordCount", "", '"so,rt"'],
    "exe_time": ["600.000", "808", "59.5", " 70 ", "0", "-3", "600.10", "9999999", "1e3", '"77.50"'],
    "start_time": ["2014-03-10 10:20:00", "0000-00-00 00:00:00", "", "soon"],
    "end_time": ["2014-03-10 10:30:00", "2013-12-01 10:03:00", ""],
    "net": ["IB", "ETH", "0", ""],
    "disk": ["HS2", "SSD", "RL3", "HDD", "0", "odd"],
    "bench_type": ["b", "HiBench", "b_10", ""],
    "maps": ["8", "12.0", "many", "0"],
    "iosf": ["10", "20"],
    "replication": ["1", "3", "9999"],
    "iofilebuf": ["65536", "4096"],
    "comp": ["0", "3", "Cmp2", "none", "7"],
    "blk_size": ["64", "134", "0"],
    "valid": ["1", "0", "true", "perhaps"],
    "cl.name": ["cloud-05", "", "here-02"],
    "datanodes": ["4", "four", ""],
    "running.cost": ["0.2", "", "x"],
}
ALIKE = {
    "ID": "id",
    "id_exec": "id",
    "Benchmark": "bench",
    "Exe.Time": "exe_time",
    "IO.SFac": "iosf",
    "Rep": "replication",
    "IO.FBuf": "iofilebuf",
    "Blk.size": "blk_size",
    "Bench.Type": "bench_type",
}


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Draw a table, most of whose cells are sound, with lines that are none in between."""
    names = draw(st.sampled_from([NARROW, WIDE])).split(",")
    lines = [",".join(names)]
    for _ in range(draw(st.integers(0, 12))):
        odd = draw(st.sets(st.sampled_from(names), max_size=3))
        cells = []
        for name in names:
            known = CELLS[ALIKE.get(name, name.lower())]
            cells.append(draw(st.sampled_from(known if name in odd else known[: 4 if name.lower()[:2] == "id" else 1])))
        lines.append(draw(st.sampled_from(["", "\r", '"', ",", "  ", "\t"])).join((",".join(cells), "")))
        lines += draw(
            st.lists(st.sampled_from(["", "  ", "\r", lines[0], "short,line", 'an "odd one', lines[-1]]), max_size=1)
        )
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def items_of(folder: Path, *texts: str | bytes) -> list[Item]:
    sources = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        sources.append(Source(path, path.name))
    return list(FORMAT.items(sources))


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(tables(), min_size=1, max_size=2))
def test_parts_of_any_size_give_the_same_runs(tmp_path: Path, texts: list[str]) -> None:
    whole = items_of(tmp_path, *texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_columns, "CHARACTERS_AT_ONCE", 200)  # so that a table has several parts
        parts = items_of(tmp_path, *texts)
    assert runs_of(parts) == runs_of(whole)
    assert reasons_of(parts) == reasons_of(whole)
    for block in join_blocks([item for item in parts if isinstance(item, ImportedRows)]):
        assert same(table_of_rows(block), table_of([item.run for item in block.runs()]))


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables())
def test_a_row_gives_the_same_run_alone(tmp_path: Path, text: str) -> None:
    """Only repeated runs and ids depend on other rows."""
    header, *lines = text.replace("\r\n", "\n").split("\n")
    whole = items_of(tmp_path, text)
    repeated = [item for item in reasons_of(whole) if " is at " in item.why or " is also at " in item.why]
    single: list[ImportedRun | SkippedItem] = []
    for number, line in enumerate(lines):
        items = items_of(tmp_path, "\n".join([header, *[""] * number, line]))
        single += [*runs_of(items), *reasons_of(items)]
    others = [item for item in single if item.where not in {item.where for item in repeated}]
    assert [item for item in others if isinstance(item, ImportedRun)] == runs_of(whole)
    assert reasons_of(list(others)) == [item for item in reasons_of(whole) if item not in repeated]


@pytest.mark.parametrize("name", ["execs-narrow", "execs-wide", "execs-no-id"])
def test_tables_with_invalid_cells_give_the_expected_runs_and_reasons(name: str) -> None:
    path = table_path(name)
    assert lines_of(FORMAT.items([Source(path, path.name)])) == expected_lines(name)


def test_damaged_tables_are_read_or_skipped_line_by_line(tmp_path: Path) -> None:
    sound = f"{NARROW}\n" + "\n".join(
        ",".join(CELLS[ALIKE.get(name, name)][0] if name != "id_exec" else str(row) for name in NARROW.split(","))
        for row in range(6)
    )
    for damaged in mutations(sound.replace("/terasort", "/sort", 1).encode(), examples(60)):
        items = items_of(tmp_path, damaged)
        positions = [*(run.where for run in runs_of(items)), *(skipped.where for skipped in reasons_of(items))]
        assert len(positions) == len(set(positions)) > 0


def table_text(count: int) -> str:
    """Return a table of the wide form of which every eleventh row can't be taken, and some rows stand twice."""
    rows = []
    for row in range(count):
        cells = [
            str(row // 2 * 2 if row % 13 == 0 else row),
            ("terasort", "sort", "bayes")[row % 3],
            f"{400 + row % 97}.50",
        ]
        cells += [
            ("ETH", "IB")[row % 2],
            ("HDD", "SSD", "RL2", "HS5")[row % 4],
            str((4, 8)[row % 2]),
            "10",
            "3",
            "4096",
        ]
        cells += [
            f"Cmp{row % 5 if row % 11 else 9}",
            "128",
            f"cloud-0{row % 3}",
            "4",
            "HiBench",
            "0.25" if row % 7 else "",
        ]
        rows.append(",".join(cells))
    return "\n".join([WIDE, *rows])


def imported(folder: Path, name: str, text: str, *, columns: bool) -> tuple[ImportSummary, Repository]:
    repository = Repository.create(folder / name)
    path = folder / "t.csv"
    path.write_text(text)
    source = Source(path, "t.csv")
    read = FORMAT.items if columns else FORMAT.read
    return repository.import_runs(
        "aloja", lambda: read([source]), [("t.csv", path)], ImportRequest(plan="p", by_rows=True)
    ), repository


def test_runs_are_stored_the_same_as_columns_and_one_by_one(tmp_path: Path) -> None:
    summary, repository = imported(tmp_path, "columns", table_text(300), columns=True)
    by_row, other = imported(tmp_path, "rows", table_text(300), columns=False)
    assert summary == by_row
    assert summary.taken > 200
    assert len(summary.left) > 20
    assert {run.run_id: run for run in repository.runs()} == {run.run_id: run for run in other.runs()}
    (bundle,) = repository.folders.bundles.iterdir()
    mine, theirs = (
        json.loads((repository_.folders.bundles / bundle.name / "import.json").read_text())
        for repository_ in (repository, other)
    )
    assert mine | {"imported_at": ""} == theirs | {"imported_at": ""}
    assert repository.verify() == []


def test_more_of_a_table_adds_what_is_new_and_another_notation_nothing(tmp_path: Path) -> None:
    first, repository = imported(tmp_path, "r", table_text(200), columns=True)
    more, _ = imported(tmp_path, "r", table_text(300), columns=True)
    assert more.already_there == first.taken
    table = repository.table(["aloja_cost_usd"])
    assert len(table) == first.taken + more.taken
    assert sorted(run.position for run in repository.runs(campaign_id=more.import_id)) == list(range(more.taken))
    again, _ = imported(tmp_path, "r", table_text(300).replace(".50", ".5"), columns=True)
    assert (again.taken, again.already_there) == (0, len(table))


def test_without_a_column_a_table_is_probably_the_same_by_columns_and_by_rows(tmp_path: Path) -> None:
    less = "\n".join(line.rpartition(",")[0].rpartition(",")[0] for line in table_text(200).split("\n"))
    answers = []
    for columns in (True, False):
        imported(tmp_path, f"r{columns}", table_text(200), columns=columns)
        summary, _ = imported(tmp_path, f"r{columns}", less, columns=columns)
        answers.append(summary)
    assert answers[0] == answers[1]
    assert (answers[0].taken, answers[0].probably[0].runs) == (0, answers[0].probably[0].of)


def test_all_of_alojas_dump_is_read_as_expected() -> None:
    """The checksum is of the results of an earlier, independent reader that converted one row at a time."""
    path = ROOT.parent / "shared" / "data" / "aloja" / "aloja-execs-2014-09-dump.csv"
    if not path.exists():
        pytest.skip(f"ALOJA's dump is not at {path}")
    lines = lines_of(FORMAT.items([Source(path, path.name)]))
    assert (
        hashlib.sha256("\n".join(lines).encode()).hexdigest()
        == "66f92a2e08e2b5770fc0cbb3b4e2d14af3135292b4364e006794075e83924017"
    )


def test_windows_line_ends_do_not_slow_down_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own csv module ends lines so; each line by itself is slow."""
    alone: list[str] = []
    whole = ExecTable.cells

    def noted(table: ExecTable, line: str) -> list[str]:
        alone.append(line)
        return whole(table, line)

    text = table_text(300)
    path = tmp_path / "execs.csv"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    monkeypatch.setattr(ExecTable, "cells", noted)
    run_count = sum(len(item) for item in FORMAT.items([Source(path, path.name)]) if isinstance(item, ImportedRows))
    assert run_count > 200
    assert alone == []


def test_a_line_too_long_for_a_row_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"{NARROW}\n{'1,' * LINE_BYTES_MAX}\n")
    (only,) = FORMAT.read([Source(path, "runs.csv")])
    assert isinstance(only, SkippedItem)
    assert only.where == "runs.csv:2"
    assert "a line of more than 1,048,576 bytes" in only.why
