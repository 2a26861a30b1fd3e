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
    separate_count = len(job_cost.rows) - len(first)
    rows_text = job_cost.group_name(1) if job_cost.further_decisions else f"{len(first)} compared options"
    others_text = (
        f" ({separate_count} other {'option' if separate_count == 1 else 'options'} not compared)"
        if separate_count
        else ""
    )
    if counts[RowVerdict.CHEAPEST]:
        return f"Cheapest of {rows_text}{others_text}"
    ties = counts[RowVerdict.TIE]
    tied_text = f"any of {rows_text}" if ties == len(first) else f"{ties} of {rows_text}"
    return f"Open: {tied_text} may be the cheapest{others_text}"
