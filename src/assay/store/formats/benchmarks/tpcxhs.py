"""Import TPCx-HS run logs (``TPCx-HS-result-SIZE.log``) as runs ``tpcx-hs``; the benchmark requires two per log.

Format: the output of ``TPCx-HS-master.sh`` of the kit's versions 1 and 2, with terminal colours. Imported: wall time of
the whole run ("Total Time": HSGen, HSSort, HSValidate and the time between them), the time of each step as bash's
``time`` prints it, size (records of 100 bytes), framework, kit version, start ("Epoch", seconds since 1970), and
HSph@SF: the scale factor (size in 10^12 bytes) over the run's hours. The kit's ``bc`` cuts every quotient to four
decimals. If the same calculation gives another HSph@SF, the log is damaged and the run is skipped. A run with a failed
step is a failed run, whose duration is the sum of the steps that ended. Not recorded: cluster, layout, Hadoop's version
and settings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import Any

from assay.foundation.errors import FormatError
from assay.model import ImportedRun, RunStatus, SkippedItem, foreign_run
from assay.store.formats.format import Format, read_each
from assay.store.formats.source import Source
from assay.store.formats.tables.printed import duration_problem, iso_utc

_MARK = b"Running BigData TPCx-HS Benchmark Suite"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BEGIN = re.compile(
    r"Running BigData TPCx-HS Benchmark Suite (?:\((?P<framework>\w+)\) )?- Run (?P<run>[0-9]{1,3}) - "
    r"Epoch (?P<epoch>[0-9]{1,12})\b"
)
_STEP = re.compile(r"Time taken by (?P<step>HSGen|HSSort|HSValidate) = (?P<time>[^=]*)=")
_STEP_TIME = re.compile(r"(?P<minutes>[0-9]{1,6})m(?P<seconds>[0-5]?[0-9][.,][0-9]{3})s")
_FAILED = re.compile(r"=== (?P<step>HS\w+) Result FAILURE ===")
_NO_METRIC = re.compile(r"No Performance Metric \(HSph@SF\)")
_REPORT = {
    "total_s": re.compile(r"details: Total Time = (?P<value>\S+)"),
    "records": re.compile(r"Total Size = (?P<value>\S+)"),
    "scale": re.compile(r"Scale-Factor = (?P<value>\S+)"),
    "framework": re.compile(r"Framework = (?P<value>\S+)"),
    "version": re.compile(r"TPCx-HS Version (?P<value>\S+)"),
    "hsph": re.compile(r"Performance Metric \(HSph@SF\): (?P<value>\S+)"),
}
_ENGINES = {"MapReduce": "hadoop", "Spark": "spark"}
_RECORD_BYTES = 100
"""Size of a record of HSGen, in bytes."""
_CLOCK_S = 3.0
"""Tolerance of the sum of step times, in seconds: the total time is measured in whole seconds, step times are not."""


@dataclass(slots=True)
class _LoggedRun:
    """One run of the log: the values read so far."""

    line: int
    number: str
    epoch_s: int
    fields: dict[str, str] = field(default_factory=dict)
    steps_s: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    has_no_metric: bool = False

    def read_line(self, line: str) -> None:
        """Read a line of the run after its first line."""
        if step := _STEP.search(line):
            self.read_step(step["step"], step["time"].strip())
        if failed := _FAILED.search(line):
            self.failures.append(failed["step"])
        self.has_no_metric |= _NO_METRIC.search(line) is not None
        for name, pattern in _REPORT.items():
            match = pattern.search(line)
            if match and self.fields.setdefault(name, match["value"]) != match["value"]:
                self.problems.append(f"{name} is given twice and differs")

    def read_step(self, step: str, text: str) -> None:
        match = _STEP_TIME.fullmatch(text)
        if match is None:
            self.problems.append(f"the time of {step} is {text[:40]!r}, which is not a time")
        elif step in self.steps_s:
            self.problems.append(f"the time of {step} is given twice")
        else:
            self.steps_s[step] = int(match["minutes"]) * 60 + float(match["seconds"].replace(",", "."))


def _bc_quotient(value: Decimal) -> Decimal:
    """Return ``value`` as ``bc`` prints a quotient with ``scale=4``."""
    return value.quantize(Decimal("0.0001"), rounding=ROUND_DOWN)


def _whole_number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else None


def _item_of(logged_run: _LoggedRun, name: str) -> ImportedRun | SkippedItem:
    where = f"{name}:{logged_run.line}"
    if logged_run.problems:
        return SkippedItem(where, f"run {logged_run.number}: {logged_run.problems[0]}")
    if logged_run.failures or logged_run.has_no_metric:
        return _failed_run(logged_run, where)
    missing_values = [key for key in ("total_s", "records", "hsph") if key not in logged_run.fields]
    missing_values += [step for step in ("HSGen", "HSSort", "HSValidate") if step not in logged_run.steps_s]
    if missing_values:
        return SkippedItem(
            where,
            f"run {logged_run.number} lacks {', '.join(missing_values)}: the log is cut off, or the run was stopped",
        )
    contradiction, hsph = _inconsistency(logged_run)
    if contradiction:
        return SkippedItem(where, f"run {logged_run.number}: {contradiction}")
    return _imported_run(logged_run, where, float(logged_run.fields["total_s"]), {"hsph_at_sf": float(hsph)})


def _inconsistency(logged_run: _LoggedRun) -> tuple[str | None, Decimal]:
    """Return a contradiction in a complete run, or None; and its HSph@SF."""
    total_s, records = _whole_number(logged_run.fields["total_s"]), _whole_number(logged_run.fields["records"])
    text = logged_run.fields["hsph"]
    hsph = Decimal(text) if re.fullmatch(r"[0-9]{0,12}\.?[0-9]{1,8}", text) else None
    if total_s is None or records is None or hsph is None:
        return "Total Time, Total Size or HSph@SF is not a number", Decimal(0)
    if problem := duration_problem(float(total_s)):
        return problem, hsph
    hours, scale = _bc_quotient(Decimal(total_s) / 3600), _bc_quotient(Decimal(records) / 10**10)
    if not hours or _bc_quotient(scale / hours) != hsph:
        return f"HSph@SF is {hsph}, which is not {scale} over {total_s} s: the log is damaged", hsph
    if sum(logged_run.steps_s.values()) > total_s + _CLOCK_S:
        return f"the steps take {sum(logged_run.steps_s.values()):g} s, more than the run's {total_s}", hsph
    return None, hsph


def _failed_run(logged_run: _LoggedRun, where: str) -> ImportedRun | SkippedItem:
    ended_s = sum(logged_run.steps_s.values())
    failed_step = logged_run.failures[0] if logged_run.failures else "a step"
    if failed_step == "HSsort" and "HSSort" in logged_run.steps_s:
        failed_step = "HSValidate"  # the kit prints HSsort for both
    cause = f"{failed_step} failed"
    if problem := duration_problem(ended_s):
        return SkippedItem(where, f"run {logged_run.number}: {cause} before any step had ended; {problem}")
    return _imported_run(logged_run, where, ended_s, {}, status=RunStatus.FAILED, cause=cause)


def _imported_run(
    logged_run: _LoggedRun, where: str, duration_s: float, metrics: dict[str, float], **run_fields: Any
) -> ImportedRun:
    fields = logged_run.fields
    framework = fields.get("framework", "MapReduce")
    records = _whole_number(fields.get("records"))
    steps = {f"{step.lower()}_s": value for step, value in logged_run.steps_s.items()}
    duration_source = "Total Time" if "hsph_at_sf" in metrics else "sum of the steps that ended"
    run = foreign_run(
        workload="tpcx-hs",
        duration_s=duration_s,
        engine=_ENGINES.get(framework, ""),
        started_at=iso_utc(logged_run.epoch_s) or "",
        data_bytes=records * _RECORD_BYTES if records else None,
        metrics=metrics | steps,
        environment={"tpcx_hs_version": fields["version"]} if "version" in fields else {},
        sources={
            "duration_s": duration_source,
            "data_bytes": "Total Size, in records of 100 bytes",
            "started_at": "Epoch",
            "hsph_at_sf": "Performance Metric (HSph@SF)",
        }
        | dict.fromkeys(steps, "Time taken"),
        **run_fields,
    )
    return ImportedRun(f"{logged_run.epoch_s} run {logged_run.number} {fields.get('records', '')}".strip(), where, run)


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    logged_run: _LoggedRun | None = None
    for number, raw_line in enumerate(source.text().splitlines(), start=1):
        line = _COLOUR.sub("", raw_line)
        if begin := _BEGIN.search(line):
            if logged_run:
                yield _item_of(logged_run, source.name)
            logged_run = _LoggedRun(number, begin["run"], int(begin["epoch"]))
            if begin["framework"]:
                logged_run.fields["framework"] = begin["framework"]
        elif logged_run:
            logged_run.read_line(line)
    if logged_run is None:
        raise FormatError("holds no run of TPCx-HS", where=source.name)
    yield _item_of(logged_run, source.name)


def _recognises(_name: str, head: bytes) -> bool:
    return _MARK in head


FORMAT = Format("tpcx-hs", "TPCx-HS run logs", _recognises, read_each(_read))
