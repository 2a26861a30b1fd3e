"""JSON Schemas of the specification files, generated from the models that load them."""

from __future__ import annotations

from typing import Any

from assay.errors import SpecificationError
from assay.spec.cluster_file import ClusterFile
from assay.spec.fields import unknown
from assay.spec.plan_file import PlanFile
from assay.spec.prices import PriceFile
from assay.spec.section import Section, schema_of

MODELS: dict[str, type[Section]] = {"cluster": ClusterFile, "plan": PlanFile, "prices": PriceFile}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a ``cluster``, ``plan`` or ``prices`` file."""
    if kind not in MODELS:
        raise SpecificationError(unknown("kind of file", kind, MODELS))
    return schema_of(MODELS[kind])
