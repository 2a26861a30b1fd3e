"""Costs as JSON values, the same for ``--json``, the REST API and the Python API."""

from typing import Any

from assay.questions.costs.cost_rows import JobCostEffectiveness
from assay.questions.costs.years_of_use import JobCosts
from assay.questions.json_values import json_value

_OLD_NAMES = {"break_even_prices": "switching_prices", "flagged_count": "includes_flagged"}
"""Keys of release 0.3 with the present names of their values. The next release drops them."""


def cost_effectiveness_json(view: JobCostEffectiveness) -> dict[str, Any]:
    """Return the costs of one job per run, with the headline and the price per hour of each item."""
    content: dict[str, Any] = json_value(view) | {
        "headline": view.headline,
        "note": view.note,
        "quadrants": json_value(view.quadrants),
        "size_recorded": view.size_recorded,
    }
    content |= {old_name: content[name] for old_name, name in _OLD_NAMES.items()}
    for row, view_row in zip(content["rows"], view.rows, strict=True):
        row["label"] = view_row.label
        for item, rate_item in zip(row["rate"]["items"], view_row.rate.items, strict=True):
            item["per_h"] = json_value(rate_item.per_h)
    return content


def cost_over_years_json(costs: JobCosts) -> dict[str, Any]:
    """Return the costs over the years of use: the tables, and the levels that they are narrowed to."""
    view = costs.view
    content: dict[str, Any] = json_value(view)
    for layout, bill in view.bills.items():
        content["bills"][layout]["total"] = json_value(bill.total)
    content.pop("summaries")
    for row, view_row in zip(content["rows"], view.rows, strict=True):
        row["gated_aggregate_mb_per_s"] = view.aggregate_mb_per_s(view_row)
    return content | {"narrowed": costs.narrowed, "over_years": json_value(costs.over_years)}
