"""What workloads' programs for Spark share: assay's own, and how they are told of storage."""

from collections.abc import Mapping

from assay.model import OWN_SPARK, Program
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
    own = {f"{_HADOOP}{option}": value for option, value in options.items()}
    return Program(f"{OWN_SPARK}{name}", tuple(map(str, arguments)), own, engine="spark")
