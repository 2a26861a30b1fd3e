"""What workloads' programs for Spark share: assay's own, and how they are told of storage."""

from __future__ import annotations

from collections.abc import Mapping

from assay.model.program import OWN_SPARK, Program

_HADOOP = "spark.hadoop."
"""Before the name of a Hadoop property, this makes it a setting of Spark that its Hadoop client reads."""


def spark_program(name: str, *arguments: object, options: Mapping[str, str]) -> Program:
    """Return one of assay's own Spark programs; ``options`` are properties of Hadoop, such as those of storage."""
    own = {f"{_HADOOP}{option}": value for option, value in options.items()}
    return Program(f"{OWN_SPARK}{name}", tuple(map(str, arguments)), own, engine="spark")
