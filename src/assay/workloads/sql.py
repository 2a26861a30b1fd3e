"""SQL aggregation and join over generated tables: HiBench's SQL workloads, as assay's own MapReduce jobs.

Tables and queries are those of Pavlo et al. (A comparison of approaches to large-scale data analysis, 2009), which
HiBench uses too: UserVisits and Rankings. Aggregation sums revenue by visitor. The join selects a year's visits, adds
the rank of the visited page to each, and groups by visitor; the final ORDER BY is left out. The generator counts the
expected results of the queries, in cents, so that nothing is rounded.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from assay.model import Outcome, Program
from assay.workloads.common.checks import approximately_equal, common_checks, equal_to_manifest, replicas
from assay.workloads.common.hadoop_options import assay_program, generator, reduce_options, storage_options
from assay.workloads.common.inputs import OUTPUT, Input, generated_input
from assay.workloads.common.spark_options import spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.workload import (
    INPUT_BYTES,
    MAPS,
    REDUCES,
    SEED,
    Figure,
    Size,
    ValidationInput,
    ValidationResult,
    Workload,
)

VISIT_BYTES = 108
RANKING_BYTES = 42
"""Mean size of a row; page numbers have more digits in larger tables."""
VISITS_PER_PAGE = 8
_VISITS, _REVENUE = "VISITS", "VISITS_REVENUE_CENTS"
_SELECTED, _SELECTED_REVENUE = "SELECTED_VISITS", "SELECTED_REVENUE_CENTS"


def _tables(size: Size, path: str) -> Program:
    visits = max(VISITS_PER_PAGE, int(size.data_bytes / (VISIT_BYTES + RANKING_BYTES / VISITS_PER_PAGE)))
    return generator("SqlTables", visits // VISITS_PER_PAGE, visits, path, size=size)


class SqlQuery(Workload):
    """One of the two queries, over both tables of about ``data`` bytes."""

    options = (MAPS, REDUCES, SEED)
    figures = (INPUT_BYTES, Figure("groups", "counter of the last job's output records"))
    main_class: str
    visits_read: str
    """Counter of the visits in the groups of the last or only job."""
    revenue: str
    """Counter of the revenue of all groups."""
    visits_expected: str
    revenue_expected: str

    def input(self, size: Size) -> Input | None:
        """Return the tables, with the expected results of the queries."""
        counters = (_VISITS, _REVENUE, _SELECTED, _SELECTED_REVENUE)
        return generated_input(
            "sqltables", partial(_tables, size), size.data_bytes, size.replication, counters=counters
        )

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the programs of the query."""
        options = {**storage_options(size), **reduce_options(size)}
        arguments = (input_path or "", *self.outputs)
        # Spark SQL has a separate setting for the number of shuffle partitions; a plan's reduces set it.
        partition_setting = {"spark.sql.shuffle.partitions": str(size.reduces)} if size.reduces else {}
        spark = spark_program(self.main_class, *arguments, options=storage_options(size))
        return {
            "hadoop": assay_program(self.main_class, *arguments, options=options),
            "spark": replace(spark, options={**spark.options, **partition_setting}),
        }

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check that no visit and no cent was lost, and the tables' actual size."""
        stored_files = await validation_input.files.stored(*self.outputs)
        tables = (
            await validation_input.files.stored(validation_input.input_path)
            if validation_input.input_path
            else stored_files
        )
        checks = (
            *common_checks(outcome),
            equal_to_manifest(
                "visits", outcome.counter(self.visits_read), validation_input, self.visits_expected, "visits"
            ),
            equal_to_manifest(
                "revenue", outcome.counter(self.revenue), validation_input, self.revenue_expected, "cents"
            ),
            approximately_equal("input size", tables.length_bytes, size.data_bytes),
            replicas(stored_files, size.replication),
        )
        groups = outcome.counter("REDUCE_OUTPUT_RECORDS") or 0
        return ValidationResult(checks, {"input_bytes": float(tables.length_bytes), "groups": float(groups)})


class SqlAggregation(SqlQuery):
    """Revenue by visitor; combiners leave little to shuffle."""

    name, title = "sql-aggregation", "SQL aggregation"
    flow = DataFlow(read=1)
    outputs = (f"{OUTPUT}/sql-aggregation",)
    main_class = "SqlAggregation"
    visits_read, visits_expected = "MAP_INPUT_RECORDS", _VISITS
    revenue, revenue_expected = "GROUPED_REVENUE_CENTS", _REVENUE


class SqlJoin(SqlQuery):
    """A year's visits with the ranks of their pages: one visit in twenty, half of its columns, and all rankings."""

    name, title = "sql-join", "SQL join"
    flow = DataFlow(read=1, shuffled=0.06)
    outputs = (f"{OUTPUT}/sql-join",)
    main_class = "SqlJoin"
    visits_read, visits_expected = "JOINED_VISITS", _SELECTED
    revenue, revenue_expected = "JOINED_REVENUE_CENTS", _SELECTED_REVENUE


WORKLOADS = (SqlAggregation(), SqlJoin())
