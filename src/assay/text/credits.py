"""State the use of a rented machine's credits."""

from collections.abc import Sequence

from assay.foundation.units import format_duration
from assay.model.clusters.credits import CreditUse


def credit_text(use: CreditUse) -> str:
    """Return ``runs out of CPU credits after 12 min, which adds 34 min``, for credits that are used up."""
    after_s = use.empty_after_s or 0.0
    depletion_text = f"runs out of {use.kind.text} after {format_duration(after_s)}"
    empty_start_text = f"has no {use.kind.text} at the start"
    return f"{depletion_text if after_s >= 1 else empty_start_text}, which adds {format_duration(use.added_s)}"


def credit_texts(uses: Sequence[CreditUse]) -> list[str]:
    """Return the texts of the credits that are used up."""
    return [credit_text(use) for use in uses if use.is_empty]
