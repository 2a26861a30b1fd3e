"""Store runs: immutable bundles, an index derived from them, queries, and the integrity check."""

from assay.store.bundles.bundle import BundleProblem, ProblemKind
from assay.store.bundles.ids import new_run_id, short_length
from assay.store.exchange.imports import ImportRequest, ImportSummary
from assay.store.repository import Repository

__all__ = ["BundleProblem", "ImportRequest", "ImportSummary", "ProblemKind", "Repository", "new_run_id", "short_length"]
