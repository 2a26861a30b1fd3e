"""Options of the workloads' programs for Spark: number of partitions, and storage of data."""

from collections.abc import Mapping

from assay.model import SPARK_JOBS_PACKAGE, Program
from assay.workloads.workload import Size

PARTITIONS = 6
"""Number of partitions of a shuffle if neither the plan nor its waves set it: the default number of generated files."""
_HADOOP = "spark.hadoop."
"""Prefix that passes a Hadoop property through Spark's settings to its Hadoop client."""


def partitions(size: Size) -> int:
    """Return the number of partitions of a shuffle: the workload's ``reduces``."""
    return size.reduces or PARTITIONS


def spark_program(name: str, *arguments: object, options: Mapping[str, str]) -> Program:
    """Return one of assay's own Spark programs. ``options``: properties of Hadoop, for example for storage."""
    hadoop_options = {f"{_HADOOP}{option}": value for option, value in options.items()}
    return Program(f"{SPARK_JOBS_PACKAGE}{name}", tuple(map(str, arguments)), hadoop_options, engine="spark")
