"""YAML to model: errors name file, line and the valid choices; JSON Schemas are made from the same models."""

from __future__ import annotations

from assay.spec.cluster import load_cluster
from assay.spec.expansion import expand
from assay.spec.layouts import resolve_layout
from assay.spec.plan import load_plan
from assay.spec.prices import load_prices
from assay.spec.schema import json_schema
from assay.spec.workloads import workload_option

__all__ = ["expand", "json_schema", "load_cluster", "load_plan", "load_prices", "resolve_layout", "workload_option"]
