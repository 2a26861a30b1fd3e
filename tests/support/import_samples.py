"""Write result files in the formats of benchmark programs with invented numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.foundation.errors import FormatError
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.store.formats.format import Format
from assay.store.formats.source import Source

DFSIO = """\
----- TestDFSIO ----- : write
            Date & time: Mon Sep 07 12:00:00 UTC 2015
        Number of files: 6
 Total MBytes processed: 300
      Throughput mb/sec: 7.4
 Average IO rate mb/sec: 15.18
  IO rate std deviation: 11.52
     Test exec time sec: 19.05

----- TestDFSIO ----- : read
           Date & time: Mon Sep 07 14:05:10 CEST 2015
       Number of files: 10
Total MBytes processed: 10000.0
     Throughput mb/sec: 40.946519750553804
Average IO rate mb/sec: 45.240928649902344
 IO rate std deviation: 1.0E-4
    Test exec time sec: 47.937
"""
_SLOTS = "." * 6 + "1" * 40 + "." * 8
DFSIOE = f"""\
----- TestDFSIO ----- : read
           Date & time: Mon Sep 07 12:00:53 UTC 2015
       Number of files: 64
Total MBytes processed: 6400
     Throughput mb/sec: 9.75
Average IO rate mb/sec: 11.5
 IO rate std deviation: 4.25
    Test exec time sec: 52.25

-- Extended Metrics --   : read
Result file name         : TestDFSIOEnh_Tput.csv
Sampling overhead        : 2.5%
Reference Start Time     : 1441627200125
{",".join("8" if slot == "1" else "0" for slot in _SLOTS)}
Average of Aggregated Throughput : 250.5 mb/sec
              Standard Deviation : 31.25 mb/sec
   Time spots Counted in Average : {_SLOTS}\x20

-- Result Analyse -- : 31s
"""
_COLUMNS = "%-12s %-10s %-8s %-20s %-20s %-20s %-20s\n"
HEADING = _COLUMNS % (
    "Type",
    "Date",
    "Time",
    "Input_data_size",
    "Duration(s)",
    "Throughput(bytes/s)",
    "Throughput/node",
)
ROWS = (
    _COLUMNS % ("HadoopTerasort", "2016-03-01", "10:15:00", 3200000000, "64.000", 50000000, 12500000),
    _COLUMNS % ("ScalaSparkSort", "2016-03-01", "10:25:30", 328492000, "20.125", 16322583, 16322583),
    _COLUMNS % ("HadoopDfsioe-read", "2016-03-01", "10:30:00", 1000, ".512", 1953, 488),
)
HIBENCH = HEADING + "".join(ROWS) + HEADING + ROWS[0].replace("10:15:00", "11:15:00")


def _tpcxhs_run(number: int, epoch_s: int) -> str:
    green, off = "\x1b[0;32m", "\x1b[0m"
    lines = [
        "===================================",
        f" Running BigData TPCx-HS Benchmark Suite (MapReduce) - Run {number} - Epoch {epoch_s} ",
        " TPCx-HS Version v2.0.3 ",
        f"Starting HSGen Run {number} (output being written to ./logs/HSgen-time-run{number}.txt)",
        "======== HSgen Result SUCCESS ========",
        "======== Time taken by HSGen = 5m0.250s====",
        "======== HSsort Result SUCCESS =============",
        "======== Time taken by HSSort = 20m30.500s====",
        "======== HSValidate Result SUCCESS =============",
        "======== Time taken by HSValidate = 3m10.000s====",
        "TPCx-HS Performance Metric (HSph@SF) Report ",
        f"Test Run {number} details: Total Time = 1735 ",
        "                     Total Size = 10000000000 ",
        "                     Scale-Factor = 1.0000 ",
        "                     Framework = MapReduce ",
        "TPCx-HS Performance Metric (HSph@SF): 2.0751 ",
    ]
    return "".join(f"{green}{line}{off}\n\n" for line in lines)


TPCXHS = _tpcxhs_run(1, 1441627200) + _tpcxhs_run(2, 1441630800)


def source_of(folder: Path, content: bytes | str, name: str = "results.log") -> Source:
    """Return a file with ``content`` in ``folder``."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Source(path, name)


def items(
    form: Format, folder: Path, content: bytes | str, name: str = "results.log"
) -> list[ImportedRun | SkippedItem]:
    """Return what a format reads out of one file."""
    return list(form.read([source_of(folder, content, name)]))


def items_of_files(form: Format, folder: Path, files: Mapping[str, bytes]) -> list[ImportedRun | SkippedItem]:
    """Write the files into the folder, and return what the format reads from them."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(form.read([Source(folder / name, name) for name in files]))


def skip_reason(items: Iterable[ImportedRun | SkippedItem]) -> str:
    """Return why the only item was skipped."""
    (item,) = items
    assert isinstance(item, SkippedItem), item
    return item.why


def only(items: Iterable[ImportedRun | SkippedItem]) -> ImportedRun:
    """Return the run, which must be the only item."""
    (item,) = items
    assert isinstance(item, ImportedRun), item
    return item


def imported_runs(read: Sequence[ImportedRun | SkippedItem]) -> list[ImportedRun]:
    """Return the runs among the items."""
    return [item for item in read if isinstance(item, ImportedRun)]


def skipped_items(read: Sequence[ImportedRun | SkippedItem]) -> list[SkippedItem]:
    """Return the skipped items."""
    return [item for item in read if isinstance(item, SkippedItem)]


def read_or_refused(read: Iterator[ImportedRun | SkippedItem]) -> list[ImportedRun | SkippedItem]:
    """Return all items up to the end, or to a :class:`FormatError`; every other exception comes through."""
    items: list[ImportedRun | SkippedItem] = []
    try:
        items.extend(read)
    except FormatError as error:
        items.append(SkippedItem(error.where or "", error.message))
    return items
