"""Import HiBench's ``hibench.report``: one line per benchmark, in columns, appended after each run.

Format: ``gen_report`` in HiBench's ``bin/functions/workload_functions.sh`` (the same columns since version 2): Type,
Date, Time, Input_data_size (bytes), Duration(s) (wall time of the client program, three decimals, no leading zero below
1 s: ``.512``), Throughput(bytes/s) (size over duration, cut to an integer), Throughput/node. Headings may repeat.

Imported: type as workload and engine (``ScalaSparkTerasort``: terasort on Spark), bytes, duration, throughput over the
job's wall time. Not imported: throughput per node, because HiBench divides by the number of workers that its script
detects, which is often 1. Date and time refer to the end, in the machine's time zone. The zone is unknown, so they are
kept as printed and the start is unknown.

HiBench drops empty values, so a row without a size or rate has fewer fields; it is skipped with the reason. A row whose
throughput is not its size over its duration is damaged, and is skipped. Streaming benchmarks (Flink, Storm, Gearpump,
Spark streaming) are skipped because their duration is set in advance.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from assay.foundation.errors import FormatError
from assay.model import CodedWarning, ImportedRun, SkippedItem, WarningCode, foreign_run
from assay.model.runs.throughput import JOB_THROUGHPUT, JOB_THROUGHPUT_SOURCE, job_throughput_mb_per_s
from assay.store.formats.format import Format, read_each
from assay.store.formats.source import Source
from assay.store.formats.tables.printed import duration_problem

COLUMNS = ("Type", "Date", "Time", "Input_data_size", "Duration(s)", "Throughput(bytes/s)", "Throughput/node")
_NO_INPUT = "the report says 0 bytes of input: the amount is unknown"
_HEADING = re.compile(rb"^Type\s+Date\s+Time\s+Input_data_size\s+Duration\(s\)", re.MULTILINE)
_BATCH = re.compile(r"(?:(?P<hadoop>Hadoop)|(?P<api>Scala|Java|Python)Spark)(?P<name>[A-Za-z0-9_-]+)")
_STREAMING = re.compile(
    r"(?:Flink|Storm|Trident|Gearpump|Samza|Spark(?:Streaming)?)(?:Identity|Repartition|Wordcount|"
    r"WordCount|FixWindow|Sample|Project|Grep|Distinctcount|Statistics)"
)
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}")
_WHOLE = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{0,9}\.?[0-9]{1,6}")


def _problem(fields: list[str]) -> str | None:
    """Return why a row is not a result; None if it is a result."""
    if len(fields) != len(COLUMNS):
        return f"has {len(fields)} fields, expected {len(COLUMNS)} ({', '.join(COLUMNS)})"
    kind, _, _, size, duration, rate, node_rate = fields
    patterns = (_TYPE, _DATE, _TIME, _WHOLE, _DECIMAL, _WHOLE, _WHOLE)
    for column, text, pattern in zip(COLUMNS, fields, patterns, strict=True):
        if not pattern.fullmatch(text):
            return f"{column} is {text[:40]!r}, which is invalid"
    if _STREAMING.fullmatch(kind):
        return f"{kind} is a streaming benchmark: its duration was chosen by the user"
    if problem := duration_problem(float(duration)):
        return problem
    expected_rate = Decimal(size) / Decimal(duration)
    if abs(Decimal(rate) - expected_rate) > 1:
        return f"{size} bytes in {duration} s are {expected_rate:.0f} bytes/s, but the row says {rate}: it is damaged"
    if int(node_rate) > int(rate):
        return f"{node_rate} bytes/s per node is more than the total of {rate}: the row is damaged"
    return None


def _row(fields: list[str], where: str) -> ImportedRun:
    kind, date, time, size, duration, _, node_rate = fields
    match = _BATCH.fullmatch(kind)
    api = match["api"] if match else None
    engine = ("hadoop" if match["hadoop"] else "spark") if match else ""
    data_bytes, duration_s = int(size), float(duration)
    has_size = data_bytes > 0
    return ImportedRun(
        " ".join(fields),
        where,
        foreign_run(
            workload=(match["name"] if match else kind).lower(),
            duration_s=duration_s,
            engine=engine,
            data_bytes=data_bytes if has_size else None,
            workload_parameters={"api": api.lower()} if api else {},
            metrics={JOB_THROUGHPUT: job_throughput_mb_per_s(data_bytes, duration_s)} if has_size else {},
            warnings=() if has_size else (CodedWarning(WarningCode.LEFT_OUT, _NO_INPUT),),
            environment={
                "finished_at_as_printed": f"{date} {time}",
                "hibench_type": kind,
                "hibench_throughput_per_node_bytes_per_s": int(node_rate),
            },
            sources={
                "duration_s": "Duration(s)",
                "data_bytes": "Input_data_size",
                JOB_THROUGHPUT: JOB_THROUGHPUT_SOURCE,
            },
        ),
    )


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    rows = 0
    for number, line in enumerate(source.text().splitlines(), start=1):
        fields = line.split()
        if not fields or fields[:2] == ["Type", "Date"]:
            continue
        rows += 1
        where = f"{source.name}:{number}"
        problem = _problem(fields)
        yield SkippedItem(where, problem) if problem else _row(fields, where)
    if not rows:
        raise FormatError("contains no results", where=source.name)


def _recognises(name: str, head: bytes) -> bool:
    return _HEADING.search(head) is not None or name.rsplit("/", 1)[-1].split(".gz")[0] == "hibench.report"


FORMAT = Format("hibench", "HiBench's hibench.report", _recognises, read_each(_read))
