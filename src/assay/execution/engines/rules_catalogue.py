"""Map the name of each engine to its rules: its parameters, their defaults, and invalid values.

Rules are pure: they map text to text and counts, and contact no host.
"""

from assay.execution.engines.hadoop.rules import HadoopRules
from assay.execution.engines.spark.rules import SparkRules
from assay.model import Rules


def all_rules() -> dict[str, Rules]:
    """Return the rules of every engine by name; the first is the default of a plan."""
    hadoop = HadoopRules()
    return {"hadoop": hadoop, "spark": SparkRules(hadoop)}
