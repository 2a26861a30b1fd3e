"""What every YAML file shares (documents with lines, forms of values, sections), and files of clusters and prices.

Errors name file, line and the valid choices; JSON Schemas are made from the same models. Plan files are read in
``planning``, because engines and workloads say what is right in them.
"""

from assay.specs.cluster import load_cluster
from assay.specs.layouts import resolve_layout
from assay.specs.prices import load_prices

__all__ = ["load_cluster", "load_prices", "resolve_layout"]
