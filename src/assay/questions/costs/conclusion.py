"""State which row of a job costs least in a few words, for a list of jobs."""

from collections import Counter

from assay.questions.costs.cost_rows import JobCostEffectiveness, RowVerdict


def conclusion(job_cost: JobCostEffectiveness) -> str:
    """Return the headline of a job's costs: ``Open: 2 of 4 compared options may be the cheapest``."""
    rows_with_few_runs = sum(row.verdict is RowVerdict.NOT_ENOUGH_RUNS for row in job_cost.rows)
    first = [row for row in job_cost.rows if row.group == 1]
    counts = Counter(row.verdict for row in first)
    if len(first) < 2:
        if rows_with_few_runs > 1:
            return f"Not enough runs for a verdict on {rows_with_few_runs} options"
        return "Not compared" if len(job_cost.rows) > 1 else "Only option with a price"
    apart = len(job_cost.rows) - len(first)
    of_rows = job_cost.group_name(1) if job_cost.further_decisions else f"{len(first)} compared options"
    others_text = f" ({apart} other {'option' if apart == 1 else 'options'} not compared)" if apart else ""
    if counts[RowVerdict.CHEAPEST]:
        return f"Cheapest of {of_rows}{others_text}"
    ties = counts[RowVerdict.TIE]
    tied_text = f"any of {of_rows}" if ties == len(first) else f"{ties} of {of_rows}"
    return f"Open: {tied_text} may be the cheapest{others_text}"
