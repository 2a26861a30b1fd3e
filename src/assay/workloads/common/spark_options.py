"""Options that the workloads' programs for Spark share, and how they select a storage."""

from collections.abc import Mapping

from assay.model import SPARK_JOBS_PACKAGE, Program
from assay.workloads.workload import Size

PARTITIONS = 6
"""Of what is shuffled, where neither the plan nor its waves say it: as many as generated data have files."""
_HADOOP = "spark.hadoop."
"""Before the name of a Hadoop property, this makes it a setting of Spark that its Hadoop client reads."""


def partitions(size: Size) -> int:
    """Return how many partitions a shuffle has: the workload's ``reduces``."""
    return size.reduces or PARTITIONS


def spark_program(name: str, *arguments: object, options: Mapping[str, str]) -> Program:
    """Return one of assay's own Spark programs; ``options`` are properties of Hadoop, such as those of storage."""
    hadoop_options = {f"{_HADOOP}{option}": value for option, value in options.items()}
    return Program(f"{SPARK_JOBS_PACKAGE}{name}", tuple(map(str, arguments)), hadoop_options, engine="spark")
