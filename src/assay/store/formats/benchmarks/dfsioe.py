"""Import HiBench's enhanced DFSIO as runs ``dfsioe-read`` and ``dfsioe-write``.

Format: TestDFSIO's block with "Extended Metrics", as ``TestDFSIOEnh`` of HiBench
(``autogen/.../dfsioe/TestDFSIOEnh.java``) logs it and appends it to ``TestDFSIOEnh_results.log``. Imported: all of
TestDFSIO's block, the exact start ("Reference Start Time", milliseconds since 1970), and the "Average of Aggregated
Throughput" with its deviation, in 10^6 bytes/s.

That average is not the cluster's throughput, so its metrics do not have the name of assay's gated aggregate:

* The program divides the job into slots of the plot interval. It labels the bytes moved in a slot "mb/sec", even if
  the interval is not a second. It does not print the interval, but "Time spots Counted" has one character per slot:
  wall time / interval, cut to an integer, plus 2. If this does not fit an interval of one second, the average is left
  out because its unit is unknown.
* A slot counts only if the number of files in progress is at least half the cluster's map slots. The program computes
  the number of map slots from ``mapred.tasktracker.*.tasks.maximum`` (2 if unset, as always under YARN) and reduce
  capacity, which are constants of Hadoop 1. If the result is too low, ramps and stragglers count; if it is too high,
  the average is "unavailable".
* Bytes are interpolated between two samples, also from the job's start to a file's first byte. The average therefore
  exceeds the job's data over its wall time: SanDisk's study printed 4,087 where this ratio is 2,111.
"""

import math
import re
from dataclasses import dataclass, replace

from assay.model import CodedWarning, ImportedRun, Run, SkippedItem, WarningCode
from assay.store.formats.benchmarks.testdfsio_import import ENHANCED_MARK, MARK, block_run, each_block, key, problem
from assay.store.formats.format import Format
from assay.store.formats.tables.printed import RATE_MAX_MB_PER_S, iso_utc, java_date_unix_s
from assay.workloads.common.testdfsio_output import DfsioResult

_LABELS = {
    "operation": re.compile(r"-- Extended Metrics --\s*: *(?P<value>.*)$"),
    "start_ms": re.compile(r"Reference Start Time\s*: *(?P<value>.*)$"),
    "mean": re.compile(r"Average of Aggregated Throughput : (?P<value>.*)$"),
    "stddev": re.compile(r"\bStandard Deviation : (?P<value>.*)$"),
    "slots": re.compile(r"Time spots Counted in Average : *(?P<value>.*)$"),
    "unavailable": re.compile(r"(?P<value>Aggregated throughput results are unavailable)"),
}
_RATE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]{1,3})?) (?P<unit>kb|mb|gb|b)/sec")
_UNIT_BYTES = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30}
_START_DIFFERENCE_MAX_S = 600.0
"""Maximum difference between the start by the log and by the printed date, in seconds."""


@dataclass(frozen=True, slots=True)
class _Aggregate:
    """The average over the counted slots, in 10^6 bytes/s."""

    mean_mb_per_s: float
    stddev_mb_per_s: float
    slots: int
    counted_slots: int


def _rate_mb_per_s(text: str) -> float | None:
    match = _RATE.fullmatch(text.strip())
    rate = float(match["number"]) * _UNIT_BYTES[match["unit"]] / 1e6 if match else math.nan
    return rate if rate <= RATE_MAX_MB_PER_S else None


def _fields(lines: list[str]) -> dict[str, str]:
    """Return the first value of each label in the lines after a block."""
    fields: dict[str, str] = {}
    for line in lines:
        for name, label in _LABELS.items():
            if match := label.search(line):
                fields.setdefault(name, match["value"].strip())
    return fields


def _aggregate(fields: dict[str, str], result: DfsioResult) -> _Aggregate | str:
    """Return the aggregate, or why there is none."""
    if "unavailable" in fields:
        return "aggregated throughput is unavailable: fewer files were in progress at once than the program requires"
    if not {"mean", "stddev", "slots"} <= fields.keys():
        return "aggregated throughput is not in the file: its analysis did not end, or the file is cut off"
    mean, stddev, slots = _rate_mb_per_s(fields["mean"]), _rate_mb_per_s(fields["stddev"]), fields["slots"]
    if mean is None or stddev is None or set(slots) - {"1", "."} or "1" not in slots:
        return "aggregated throughput is not readable, so it is left out"
    if len(slots) != int(result.exec_time_s) + 2:
        return (
            f"aggregated throughput is left out: {len(slots)} slots in {result.exec_time_s:g} s are not slots of one "
            "second, so it is not a rate per second, contrary to its label"
        )
    return _Aggregate(mean, stddev, len(slots), slots.count("1"))


def _started_at(fields: dict[str, str], result: DfsioResult) -> str | None:
    """Return the start; None when it is not a time, or contradicts the printed date."""
    text = fields.get("start_ms", "")
    if not re.fullmatch(r"[0-9]{10,16}", text):
        return None
    ended_unix_s = java_date_unix_s(result.date)
    if ended_unix_s is not None and abs(ended_unix_s - result.exec_time_s - int(text) / 1000) > _START_DIFFERENCE_MAX_S:
        return None
    return iso_utc(int(text) / 1000)


def _enhanced_run(result: DfsioResult, fields: dict[str, str]) -> Run:
    run = block_run(result, "dfsioe")
    metrics, sources, warnings = dict(run.metrics), dict(run.sources), list(run.warnings)
    aggregate = _aggregate(fields, result)
    if isinstance(aggregate, str):
        warnings.append(CodedWarning(WarningCode.LEFT_OUT, aggregate))
    else:
        metrics |= {
            "dfsioe_aggregated_mb_per_s": aggregate.mean_mb_per_s,
            "dfsioe_aggregated_stddev_mb_per_s": aggregate.stddev_mb_per_s,
            "dfsioe_counted_slots": float(aggregate.counted_slots),
            "dfsioe_slots": float(aggregate.slots),
        }
        origin = "the program's average over the seconds that it counts, in 10^6 bytes; not the cluster's throughput"
        sources |= {"dfsioe_aggregated_mb_per_s": origin, "dfsioe_aggregated_stddev_mb_per_s": origin}
    started_at = _started_at(fields, result)
    if started_at:
        sources["started_at"] = "Reference Start Time"
    return replace(
        run, metrics=metrics, sources=sources, warnings=tuple(warnings), started_at=started_at or run.started_at
    )


def _import_block(result: DfsioResult, lines: list[str], where: str) -> ImportedRun | SkippedItem:
    fields = _fields(lines)
    if "operation" not in fields:
        return SkippedItem(
            where, "has no extended metrics: a result of stock TestDFSIO (import it as testdfsio), or cut off"
        )
    if fields["operation"] != result.operation:
        difference = f"{result.operation!r} and its extended metrics say {fields['operation']!r}"
        return SkippedItem(where, f"the block says {difference}: parts of two results")
    if reason := problem(result):
        return SkippedItem(where, reason)
    return ImportedRun(f"{key(result)} {fields.get('start_ms', '')}".strip(), where, _enhanced_run(result, fields))


def _recognises(_name: str, head: bytes) -> bool:
    return MARK in head and ENHANCED_MARK.encode() in head


_READ = each_block(_import_block, "the enhanced DFSIO")
FORMAT = Format("dfsioe", "HiBench's enhanced DFSIO result blocks", _recognises, _READ)
