"""Test the column reader of mapped tables: expected runs, ids, reasons and order for any cell."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.analysis.statistics.runs.imported_rows import (
    DuplicateColumnError,
    ImportedRows,
    Item,
    join_blocks,
    table_of_rows,
)
from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import FormatError
from assay.model import Origin
from assay.store import ImportRequest, ImportSummary, Repository
from assay.store.formats.source import Source
from assay.store.formats.tables import columns as by_columns
from assay.store.formats.tables.table import table_format
from assay.store.formats.tables.table_lines import OpenTable, open_table
from column_support import reasons_of, runs_of, same
from effort import examples
from mutation import mutations
from odd_tables import TABLES, expected_lines, lines_of, table_path
from paths import ROOT

CELLS = {
    "workload": ["terasort", "sort", "", "WordCount", "'=1+1", "a\x07b"],
    "duration_min": ["12.5", "3", "0.1", "", "0", "1,250", "12,5", "1e2", " 7 ", "fast", "9999999", "-1", "1" * 50],
    "duration": ["12 min", "95s", "1h30m", "00:10:05", "10:05", "5", "", "1e3s", "x"],
    "layout": ["HD2", "SS2", "", "HDD", " SSD "],
    "cluster": ["rack", "", "rack 3"],
    "workers": ["4", "8", "", "4.0", "2.5", "many", "0"],
    "cores": ["8", "16", "", "0.5", "-1"],
    "memory_bytes": ["64GB", "68719476736", "", "0", "64 XB"],
    "instance_type": ["m4.2xlarge", "r4.xlarge", ""],
    "provider": ["aws", ""],
    "service_type": ["IaaS", "", "PaaS"],
    "engine": ["hadoop", "spark", ""],
    "engine_version": ["2.7.1", "", "3"],
    "started_at": ["2015-09-07T12:00:00Z", "2015-09-07 13:00", "", "soon", "2015-09-07T14:00:00+02:00"],
    "status": ["valid", "failed", "", "perhaps", "INVALID"],
    "cause": ["", "no disk", "  "],
    "data_bytes": ["100GB", "1000", "", "0", "1.5", "-3", "1e9"],
    "source": ["table 2", "", "page 4"],
    "source_id": ["17", "", "job_1 2", "x" * 120, "\x07"],
    "level:network": ["IB", "ETH", "", "1.0"],
    "level:layout": ["HD2", "", "other"],
    "level:engine": ["", "tez"],
    "parameter:dfs.replication": ["3", "1", "3.0", ""],
    "parameter:io.sort.mb": ["100", ""],
    "option:files": ["8", "", "16"],
    "metric:cpu_busy_share": ["0.75", "", "0,8", "much", "1e-3", " 1 "],
    "metric:job_throughput_mb_per_s": ["", "80.5"],
    "metric:duration_s": ["7", ""],
}
DEFAULTS = {"cluster": "here", "engine": "spark", "source": "a paper", "data_bytes": "1GB", "option:files": "4"}
DEFAULTS |= {"status": "valid", "started_at": "2016-01-01T00:00:00Z", "metric:cpu_busy_share": "0.5", "cause": "fire"}
DEFAULTS |= {"workers": "3", "provider": "azure", "memory_bytes": "8GB"}
WRONG = {"status": "odd", "cluster": "a\x07", "metric:gc_share": "no", "data_bytes": "1 x"}


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A table with its map."""

    text: str
    mapping: dict[str, str]
    defaults: dict[str, str]
    origin: Origin


@st.composite
def tables(draw: st.DrawFn) -> Drawn:
    """Draw a table, most of whose cells are sound, with lines that are none in between."""
    others = [name for name in CELLS if name not in ("duration", "duration_min")]
    names = [draw(st.sampled_from(["duration", "duration_min"])), *draw(st.sets(st.sampled_from(others)))]
    names += [name for name in ("workload",) if name not in names]
    fields = draw(st.permutations([*names, *draw(st.lists(st.just("unread"), max_size=2))]))
    separator = draw(st.sampled_from(",;\t|"))
    header = separator.join(f"c{number}" for number in range(len(fields)))
    lines = [header]
    for _ in range(draw(st.integers(0, 12))):
        odd = draw(st.sets(st.sampled_from(fields), max_size=2))
        cells = []
        for name in fields:
            known = CELLS.get(name, ["a", "b", ""])
            cells.append(draw(st.sampled_from(known if name in odd else known[:2])))
        quoted = draw(st.booleans()) and draw(st.booleans())
        kept = [json.dumps(cell) if quoted or separator in cell else cell for cell in cells]
        lines.append(separator.join(kept))
        more = ["", "  ", header, separator * (len(fields) - 1), "short", f"{lines[-1]}{separator}", 'an "odd one', '"']
        lines += draw(st.lists(st.sampled_from([*more, "\r", lines[-1]]), max_size=1))
    defaults = {name: DEFAULTS[name] for name in draw(st.sets(st.sampled_from(sorted(DEFAULTS)), max_size=3))}
    if draw(st.integers(0, 9)) == 0:
        name = draw(st.sampled_from(sorted(WRONG)))
        defaults[name] = WRONG[name]
    mapping = {f"c{number}": name for number, name in enumerate(fields) if name != "unread"}
    origin = draw(st.sampled_from([Origin.MEASURED, Origin.PUBLISHED]))
    if origin is Origin.PUBLISHED and "source" not in names:
        defaults["source"] = "a paper"
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    return Drawn(ends.join(lines) + draw(st.sampled_from(["", ends])), mapping, defaults, origin)


def items_of(folder: Path, drawn: Drawn, content: bytes | None = None) -> list[Item]:
    path = folder / "t.csv"
    path.write_bytes(drawn.text.encode() if content is None else content)
    return list(table_format(drawn.mapping, drawn.defaults, drawn.origin).items([Source(path, path.name)]))


@pytest.mark.slow
@settings(max_examples=examples(250), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables())
def test_parts_of_any_size_give_the_same_runs(tmp_path: Path, drawn: Drawn) -> None:
    whole = items_of(tmp_path, drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_columns, "CHARACTERS_AT_ONCE", 100)  # so that a table has several parts
        parts = items_of(tmp_path, drawn)
    assert runs_of(parts) == runs_of(whole)
    assert reasons_of(parts) == reasons_of(whole)
    for block in join_blocks([item for item in parts if isinstance(item, ImportedRows)]):
        try:
            table = table_of_rows(block)
        except DuplicateColumnError:  # then the runs are stored one by one
            continue
        assert same(table, table_of([item.run for item in block.runs()]))


@pytest.mark.slow
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables().filter(lambda drawn: '"' not in drawn.text and "\r" not in drawn.text))
def test_a_row_gives_the_same_run_alone(tmp_path: Path, drawn: Drawn) -> None:
    """Only the decimal comma depends on other rows."""
    header, *lines = drawn.text.split("\n")
    whole = items_of(tmp_path, drawn)
    path = tmp_path / "t.csv"
    comma = open_table(Source(path, path.name), drawn.mapping).has_decimal_commas()
    alone: list[Item] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenTable, "has_decimal_commas", lambda _table: comma)
        for number, line in enumerate(lines):
            if line.replace(header[2], "").strip():
                text = "\n".join([header, *[""] * number, line])
                alone += items_of(tmp_path, dataclasses.replace(drawn, text=text))
    assert runs_of(alone) == runs_of(whole)
    empty = [item for item in reasons_of(whole) if item.why == "has a header and no row below it"]
    assert reasons_of(alone) == [item for item in reasons_of(whole) if item not in empty]


@pytest.mark.parametrize("name", ["mapped-hardware", "mapped-published", "mapped-levels", "mapped-invalid-default"])
def test_tables_with_invalid_cells_give_the_expected_runs_and_reasons(name: str) -> None:
    path = table_path(name)
    settings_of_map = json.loads((TABLES / f"{name}.map.json").read_text())
    form = table_format(settings_of_map["mapping"], settings_of_map["defaults"], Origin(settings_of_map["origin"]))
    assert lines_of(form.items([Source(path, path.name)])) == expected_lines(name)


WIDE = {
    "Benchmark": "workload",
    "Exe.Time": "duration_s",
    "Net": "level:network",
    "Disk": "layout",
    "IO.SFac": "parameter:io.sort.factor",
    "Rep": "parameter:dfs.replication",
    "Cluster": "cluster",
    "Size": "data_bytes",
    "Start": "started_at",
    "Cpu": "metric:cpu_busy_share",
    "ID": "source_id",
}


def table_text(count: int) -> str:
    """Return a table of which every eleventh row can't be taken, and some rows stand twice."""
    rows = ["ID,Benchmark,Exe.Time,Start,Cpu,Net,Disk,IO.SFac,Rep,Cluster,Size"]
    for row in range(count):
        twin = row // 2 * 2 if row % 13 == 0 else row
        cells = [str(twin), ("terasort", "sort", "bayes")[twin % 3], f"{400 + twin % 97}.50" if twin % 11 else "never"]
        cells += [f"2015-09-07T12:{twin % 60:02}:00Z" if twin % 4 else "", f"0.{twin % 7 + 1}" if twin % 5 else ""]
        cells += [("ETH", "IB")[twin % 2], ("HDD", "SSD", "RL2", "HS5")[twin % 4], "10", "3", f"cloud-0{twin % 3}"]
        rows.append(",".join([*cells, ("100GB", "")[twin % 2]]))
    return "\n".join(rows)


DRAWN = Drawn(table_text(300), WIDE, {"engine_version": "2.7.1"}, Origin.MEASURED)


def imported(folder: Path, name: str, text: str, *, columns: bool) -> tuple[ImportSummary, Repository]:
    repository = Repository.create(folder / name)
    path = folder / "t.csv"
    path.write_text(text)
    form = table_format(WIDE, DRAWN.defaults)
    read = form.items if columns else form.read
    sources = [Source(path, "t.csv")]
    summary = repository.import_runs(
        "table", lambda: read(sources), [("t.csv", path)], ImportRequest(form.variant, "p", by_rows=True)
    )
    return summary, repository


def test_runs_are_stored_the_same_as_columns_and_one_by_one(tmp_path: Path) -> None:
    summary, repository = imported(tmp_path, "columns", table_text(300), columns=True)
    by_row, other = imported(tmp_path, "rows", table_text(300), columns=False)
    assert summary == by_row
    assert (summary.taken > 200, len(summary.left) > 20) == (True, True)
    assert {run.run_id: run for run in repository.runs()} == {run.run_id: run for run in other.runs()}
    names = ["job_throughput_mb_per_s", "cpu_busy_share"]
    assert same(repository.table(names), other.table(names))
    assert repository.verify() == []


def test_rows_that_follow_are_new_and_another_notation_is_not(tmp_path: Path) -> None:
    first, repository = imported(tmp_path, "r", table_text(200), columns=False)
    more, _ = imported(tmp_path, "r", table_text(300), columns=True)
    assert more.already_there == first.taken
    again, _ = imported(tmp_path, "r", table_text(300).replace(".50", ".5"), columns=True)
    assert (again.taken, again.already_there) == (0, len(repository.table()))


def test_damaged_tables_are_read_or_skipped_line_by_line(tmp_path: Path) -> None:
    for damaged in mutations(table_text(12).encode(), examples(60)):
        try:
            items = items_of(tmp_path, DRAWN, damaged)
        except FormatError:
            continue
        positions = [*(run.where for run in runs_of(items)), *(skipped.where for skipped in reasons_of(items))]
        assert len(positions) == len(set(positions)) > 0


def test_sound_rows_are_not_read_one_by_one(tmp_path: Path) -> None:
    items = items_of(tmp_path, DRAWN)
    blocks = [item for item in items if isinstance(item, ImportedRows)]
    assert sum(map(len, blocks)) == len(runs_of(items)) > 200


@pytest.mark.slow
def test_all_of_alojas_dump_is_read_as_expected() -> None:
    """The checksum is of the results of an earlier, independent reader that converted one row at a time."""
    path = ROOT.parent / "shared" / "data" / "aloja" / "aloja-execs-2014-09-dump.csv"
    if not path.exists():
        pytest.skip(f"ALOJA's dump is not at {path}")
    mapping = {"bench": "workload", "exe_time": "duration_s", "disk": "layout", "net": "level:network"}
    mapping |= {
        "maps": "parameter:mapreduce.maps",
        "start_time": "started_at",
        "id_exec": "source_id",
        "exec": "source",
    }
    lines = lines_of(table_format(mapping, {}).items([Source(path, path.name)]))
    assert (
        hashlib.sha256("\n".join(lines).encode()).hexdigest()
        == "75ba3d796133ad4d35bf4fdffd289efd2de7e5764c96f4685567818094b54b18"
    )
