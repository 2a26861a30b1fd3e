"""Where runs are kept: immutable bundles, an index that is derived from them, queries, and the integrity check."""

from assay.repository.bundle import BundleProblem, ProblemKind
from assay.repository.ids import new_run_id, short_length
from assay.repository.imports import ImportSummary
from assay.repository.repository import Repository

__all__ = ["BundleProblem", "ImportSummary", "ProblemKind", "Repository", "new_run_id", "short_length"]
