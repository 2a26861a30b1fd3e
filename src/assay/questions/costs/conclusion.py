"""State which row of a job costs least in a few words, for a list of jobs."""

from collections import Counter

from assay.questions.costs.cost_rows import JobCostEffectiveness, RowVerdict


def conclusion(job_cost: JobCostEffectiveness) -> str:
    """Return the headline of a job's costs in a few words."""
    counts = Counter(row.verdict for row in job_cost.rows)
    ties, leaders = counts[RowVerdict.TIE], counts[RowVerdict.CHEAPEST]
    compared = ties + leaders + counts[RowVerdict.DEARER]
    if compared < 2:
        return "Not compared" if len(job_cost.rows) > 1 else "Only row with a price"
    result = "Cheapest" if leaders else f"No difference shown between {ties}"
    apart = f"; {len(job_cost.rows) - compared} not compared" if len(job_cost.rows) > compared else ""
    return f"{result} of {compared} compared rows{apart}"
