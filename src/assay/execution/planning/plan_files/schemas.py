"""Generate the JSON Schemas of the specification files from the models that load them.

In: the kind of file. Out: its JSON Schema as a dictionary.
"""

from typing import Any

from assay.execution.engines.rules_catalogue import all_rules
from assay.execution.planning.plan_files.hardware_file import HardwareFile
from assay.execution.planning.plan_files.plan_file import plan_file
from assay.foundation.errors import SpecificationError
from assay.specs.cluster_file import ClusterFile
from assay.specs.fields import unknown
from assay.specs.prices import PriceFile
from assay.specs.profiles import ProfileFile
from assay.specs.section import Section, schema_of


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a kind of file."""
    models: dict[str, type[Section]] = {
        "cluster": ClusterFile,
        "plan": plan_file(all_rules()),
        "prices": PriceFile,
        "profile": ProfileFile,
        "catalogue": HardwareFile,
    }
    if kind not in models:
        raise SpecificationError(unknown("kind of file", kind, models))
    return schema_of(models[kind])
