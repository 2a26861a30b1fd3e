"""State which row of a job costs least in a few words, for a list of jobs."""

from collections import Counter

from assay.questions.costs.cost_rows import JobCostEffectiveness, RowVerdict


def conclusion(job_cost: JobCostEffectiveness) -> str:
    """Return the headline of a job's costs in a few words."""
    few = sum(row.verdict is RowVerdict.NOT_ENOUGH_RUNS for row in job_cost.rows)
    first = [row for row in job_cost.rows if row.group == 1]
    counts = Counter(row.verdict for row in first)
    if len(first) < 2:
        if few > 1:
            return f"Not enough runs for a verdict on {few} rows"
        return "Not compared" if len(job_cost.rows) > 1 else "Only row with a price"
    ties = counts[RowVerdict.TIE]
    result = "Cheapest" if counts[RowVerdict.CHEAPEST] else f"No difference shown between {ties}"
    apart = len(job_cost.rows) - len(first)
    of_rows = job_cost.group_name(1) if job_cost.further_decisions else f"{len(first)} compared rows"
    return f"{result} of {of_rows}{f'; {apart} not compared with these' if apart else ''}"
