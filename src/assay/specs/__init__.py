"""Read and validate YAML files: the parts that all kinds of files share, and cluster, price and profile files.

Errors name file, line and the valid choices. JSON Schemas are generated from the same models. Plan files are read in
``assay.execution.planning``, because engines and workloads define their valid keys.
"""

from assay.specs.cluster import load_cluster
from assay.specs.layouts import resolve_layout
from assay.specs.prices import load_prices

__all__ = ["load_cluster", "load_prices", "resolve_layout"]
