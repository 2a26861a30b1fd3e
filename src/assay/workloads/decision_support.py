"""Decision support: twenty-two questions over eight tables, in Spark SQL; derived from the TPC-H benchmark.

The package ``tpchgen-cli`` generates the tables as Parquet files in HDFS. The option ``data`` sets the scale factor: 1
for each GB of the specification's text tables. As Parquet they need about a third of that. The questions run one after
the other in the order of the specification's power test (appendix A, stream 0), each timed separately, and then in
``streams`` concurrent streams. Every answer is compared, row by row, with DuckDB's answer over the same files.

This workload is derived from the TPC-H benchmark and as such is not comparable to published TPC-H results: its results
do not comply with the TPC-H specification.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from assay.model import TABLE_GENERATOR, Check, Outcome, Program, ReferenceQueries, Rows
from assay.workloads.common.checks import common_checks, equal
from assay.workloads.common.hadoop_options import DEFAULT_MAPS, storage_options
from assay.workloads.common.inputs import OUTPUT, Input
from assay.workloads.common.spark_options import spark_program
from assay.workloads.common.tpch_queries import queries
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import MAPS, Figure, Option, Size, ValidationInput, ValidationResult, Workload

_ORDER = (14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12)
_ANSWERS = f"{OUTPUT}/decision-support"
_BYTES, _CHECKSUM = "TABLES_BYTES", "TABLES_CHECKSUM"
_STREAMS = Option(
    "streams", "Number of query streams that run concurrently after the sequential stream; none if left out."
)
_SCALE_DIGITS = 6
_BYTES_OF_SCALE_1 = 10**9
_TOLERANCE = Decimal("0.000005")
_RELATIVE_TOLERANCE = Decimal("1e-9")
"""Tolerance as a share of the larger value. The larger one of this and the absolute ``_TOLERANCE`` applies: Spark
rounds means and quotients of decimals to six places, DuckDB computes them in binary."""


def scale_factor(size: Size) -> str:
    """Return the tables' scale factor, as the specification defines it, as text."""
    factor = max(size.data_bytes, 1000) / _BYTES_OF_SCALE_1
    return f"{factor:.{_SCALE_DIGITS}f}".rstrip("0").rstrip(".")


def _name(question: int) -> str:
    return f"{question:02d}"


class DecisionSupport(Workload):
    """Run all questions over tables of scale factor ``data`` / 1 GB."""

    name, title = "decision-support", "Decision support (derived from TPC-H)"
    options = (MAPS, _STREAMS)
    flow = DataFlow(read=1.7, shuffled=0.4)
    outputs = (_ANSWERS,)
    figures = (
        Figure("power_s", "sum over the questions, each from its SQL to its last row, by the driver's clock"),
        Figure("streams_s", "from the first stream's first question to the last stream's last answer"),
        *(Figure(f"question_{_name(n)}_s", "the driver's clock") for n in range(1, len(_ORDER) + 1)),
    )

    def input(self, size: Size) -> Input | None:
        """Return the tables, with counters that identify their files."""
        parts = size.maps or DEFAULT_MAPS

        def generator(folder: str) -> Program:
            program = spark_program("DecisionData", scale_factor(size), parts, folder, options=storage_options(size))
            return replace(program, tools=(TABLE_GENERATOR,))

        counters = (_BYTES, _CHECKSUM)
        tables = Input(
            generator(""), "tables", size.data_bytes, size.replication, counters, exact=False, files=6 * parts + 2
        )
        folder = tables.path_of("data")
        return tables.with_program(generator(folder), path=folder)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the program that runs the questions."""
        reference_queries = queries(float(scale_factor(size)))
        text = ";".join(f"{_name(number)} {reference_queries[number - 1]}" for number in _ORDER)
        streams = size.options.get("streams", "0")
        arguments = (input_path or "", _ANSWERS, streams, text)
        return {"spark": spark_program("DecisionSupport", *arguments, options={"dfs.replication": "1"})}

    def reference(self, size: Size) -> ReferenceQueries | None:
        """Return the same questions for DuckDB, over the same files."""
        return ReferenceQueries(scale_factor(size), size.maps or DEFAULT_MAPS, queries(float(scale_factor(size))))

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check the files, every answer and the streams' answers; return each question's time."""
        checks = list(common_checks(outcome))
        if outcome.exit_status != 0:
            return ValidationResult(tuple(checks))
        reference = validation_input.reference
        if reference is None:
            return ValidationResult((*checks, Check("answers", False, "there are no reference answers")))
        checks += [
            equal("bytes of tables", validation_input.manifest.get(_BYTES), reference.files_bytes),
            equal("checksum of tables", validation_input.manifest.get(_CHECKSUM), reference.files_checksum, "as a sum"),
        ]
        paths_by_question = {path.rsplit("-", 1)[-1]: path for path in await validation_input.files.paths(_ANSWERS)}
        differences = []
        for number, expected in enumerate(reference.rows, 1):
            path = paths_by_question.get(_name(number))
            rows = rows_of(await validation_input.files.read(path)) if path else None
            if difference := _difference(rows, expected):
                differences.append(f"question {number}: {difference}")
        summary = f"{len(reference.rows)} questions, {sum(map(len, reference.rows))} rows"
        checks.append(
            Check("answers", not differences, "; ".join(differences)[:600] if differences else f"DuckDB's: {summary}")
        )
        if "streams" in size.options:
            checks.append(equal("streams' answers", outcome.counter("STREAMS_DIFFERING_ANSWERS"), 0, "differ"))
        return ValidationResult(tuple(checks), _metrics(outcome))


def _metrics(outcome: Outcome) -> dict[str, float]:
    time_ms_by_question = {n: outcome.counter(f"QUESTION_{_name(n)}_MS") for n in range(1, len(_ORDER) + 1)}
    question_times = {
        f"question_{_name(n)}_s": value / 1000 for n, value in time_ms_by_question.items() if value is not None
    }
    streams = outcome.counter("STREAMS_MS")
    return {
        "power_s": sum(question_times.values()),
        **({"streams_s": streams / 1000} if streams else {}),
        **question_times,
    }


def rows_of(text: bytes) -> Rows:
    r"""Return an answer's rows: tabs separate columns, ``\N`` is a missing value."""
    lines = text.decode().splitlines()
    return tuple(tuple(None if cell == r"\N" else cell for cell in line.split("\t")) for line in lines)


def _difference(rows: Rows | None, expected: Rows) -> str | None:
    """Return how an answer differs from the reference; None if they differ at most by rounding."""
    if rows is None:
        return "no answer was written"
    if len(rows) != len(expected):
        return f"{len(rows)} rows, DuckDB has {len(expected)}"
    for number, (answer, reference) in enumerate(zip(rows, expected, strict=True), 1):
        if len(answer) != len(reference) or not all(map(same_value, answer, reference)):
            return f"row {number} is {' | '.join(map(str, answer))}, DuckDB has {' | '.join(map(str, reference))}"
    return None


def same_value(answer: str | None, reference: str | None) -> bool:
    """Return whether two values are equal: numbers to within 5 × 10⁻⁶, or 10⁻⁹ of the larger."""
    if answer == reference or answer is None or reference is None:
        return answer == reference
    try:
        a, b = Decimal(answer), Decimal(reference)
    except InvalidOperation:
        return False
    return abs(a - b) <= max(_TOLERANCE, _RELATIVE_TOLERANCE * max(abs(a), abs(b)))


WORKLOADS = (DecisionSupport(),)
