"""List the fuzz targets: every parser of foreign files and the reader of packages, with its corpus.

In: the parser's name. Out: a target, which raises for what must not be: any exception that is not assay's own, and a
run that can't be stored. ``tests/data/corpus`` has a folder for each: samples, and what was found once.
"""

from __future__ import annotations

import contextlib
import gzip
import math
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from assay.analysis.statistics.runs.imported_rows import ImportedRows, Item
from assay.foundation.errors import AssayError
from assay.model import Origin, RunStatus, SkippedItem
from assay.store import Repository
from assay.store.bundles.bundle import encode_run, write_sums
from assay.store.exchange.exchange import copy_bundles
from assay.store.exchange.package import pull_package
from assay.store.formats.catalogue import formats
from assay.store.formats.source import Source, sources_in
from assay.store.formats.tables.table import table_format
from assay.store.index.tables import rows_of_table
from paths import TESTS

CORPUS = TESTS / "data" / "corpus"
PACKAGE, BUNDLE, TABLE, FOLDERS = "package", "bundle", "table", "aloja-folders"
EVERYTHING = "everything"
"""All parsers at once, for a short look: which of them an input is for, its first byte says."""
COLUMNS = {
    "job": "workload",
    "minutes": "duration_min",
    "disks": "layout",
    "size": "data_bytes",
    "net": "level:network",
    "bs": "parameter:dfs.blocksize",
    "cpu": "metric:cpu_busy_share",
    "when": "started_at",
    "ok": "status",
}
FILE_NAMES = {"jhist": "job_1700_0001-1700000000000-ann-Sort-1700000012500-2-2-SUCCEEDED-default-1700000001500.jhist"}
RUN_FOLDER = "20140513_165000_conf_IB_SSD_b_m12_i10_r1_I65536_c3_z128"
LATER_FOLDER = "20150803_164734_IB_SS2_bHiBench2_D8_m1000-01"
RUN_FILES = (
    f"{RUN_FOLDER}/log_{RUN_FOLDER}.log",
    f"{RUN_FOLDER}/terasort/vmstat-w1.log",
    f"{RUN_FOLDER}/terasort/bwm-w1.log",
    f"{RUN_FOLDER}/terasort/history/done/job_201405131650_0002_1_ann_sort",
    f"{LATER_FOLDER}/config.sh",
)
"""Of a folder of ALOJA's: which of its files an input is, by its first byte."""
BUNDLE_ID = "00000000-0000-7000-8000-000000000001"
Target = Callable[[bytes], int]
"""Reads an input and returns how many runs were in it."""


def parsers() -> list[str]:
    """Return the names of all that is fuzzed."""
    return [*formats(rows_of_table), TABLE, PACKAGE, BUNDLE]


def bounded() -> list[str]:
    """Return the names of all whose memory and time are bounded: ``jhist`` has two forms."""
    return ["jhist json", *parsers()]


def seeds(name: str) -> list[bytes]:
    """Return the corpus that is committed for a parser."""
    if name == EVERYTHING:
        return [bytes([number]) + seed for number, parser in enumerate(parsers()) for seed in seeds(parser)]
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def target(name: str, folder: Path, *, stored: bool = True) -> Target:
    """Return the function that reads an input by the parser of this name; ``folder`` is its own.

    With ``stored`` what a repository would write of each run is made, too; without, files are read as an import does,
    many rows at a time where that is possible.
    """
    if name == EVERYTHING:
        return _everything(folder)
    if name == PACKAGE:
        return _package(folder)
    if name == BUNDLE:
        return _bundle(folder)
    if name == FOLDERS:
        return _folders(folder, stored)
    form = table_format(COLUMNS, {}, Origin.MEASURED) if name == TABLE else formats(rows_of_table)[name]
    path = folder / FILE_NAMES.get(name, "input")

    def read(content: bytes) -> int:
        path.write_bytes(content)
        source = Source(path, path.name)
        form.recognises(path.name, content[:65_536])
        return _all(form.read([source]) if stored else form.items([source]), stored)

    return read


def _all(items: Iterable[Item], stored: bool) -> int:
    bytes_read = 0
    with contextlib.suppress(AssayError):
        for item in items:
            if isinstance(item, SkippedItem):
                assert item.why, "left without a reason"
            elif isinstance(item, ImportedRows):
                assert (item.duration_s > 0).all(), "runs that took no time"
                bytes_read += len(item)
            else:
                assert 0 <= item.run.duration_s < math.inf, "a run that took less than no time, or for ever"
                assert item.run.duration_s or item.run.status is not RunStatus.VALID, "a valid run that took no time"
                bytes_read += 1
                if stored:
                    encode_run(item.run)
    return bytes_read


def _taken_by(target: Repository) -> int:
    runs = target.runs()
    for run in runs:
        encode_run(run)
    return len(runs)


def _everything(folder: Path) -> Target:
    targets = []
    for name in parsers():
        (folder / name).mkdir()
        targets.append(target(name, folder / name))
    return lambda content: targets[content[0] % len(targets)](content[1:]) if content else 0


def _package(folder: Path) -> Target:
    """Return what pulls a package of this content; its gzip is made here, as it would only hide it from a fuzzer."""
    path, package = folder / "input.tar.gz", folder / "target"

    def read(content: bytes) -> int:
        path.write_bytes(gzip.compress(content, 0, mtime=0))
        try:
            target = Repository.create(package)
            with contextlib.suppress(AssayError):
                pull_package(path, target, lambda *_: None)
            return _taken_by(target)
        finally:
            shutil.rmtree(package)

    return read


def _bundle(folder: Path) -> Target:
    """Return what takes a bundle over whose checksums are right, whatever its run.json says."""
    pair = folder / "pair"

    def read(content: bytes) -> int:
        try:
            source, target = Repository.create(pair / "source"), Repository.create(pair / "target")
            bundle = source.folders.bundles / BUNDLE_ID
            bundle.mkdir()
            (bundle / "run.json").write_bytes(content)
            write_sums(bundle)
            copied = copy_bundles(source, target, lambda *_: None)
            assert copied.refused or target.verify() == [], "taken over, though verify finds damage in it"
            return _taken_by(target)
        finally:
            shutil.rmtree(pair)

    return read


def _folders(folder: Path, stored: bool) -> Target:
    texts: dict[str, bytes] = {}
    for seed in seeds(FOLDERS):
        texts[RUN_FILES[seed[0]]] = seed[1:]
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    (folder / LATER_FOLDER / "terasort").mkdir()
    form = formats(rows_of_table)[FOLDERS]

    def read(content: bytes) -> int:
        name = RUN_FILES[content[0] % len(RUN_FILES) if content else 0]
        path = folder / name
        path.write_bytes(content[1:])
        try:
            return _all(form.read(list(sources_in([folder / name.partition("/")[0]]))), stored)
        finally:
            path.write_bytes(texts[name])

    return read
