"""Make the page of relative times of a site: configurations without prices, for jobs that a visitor chooses.

In: the summaries of :mod:`assay.questions.comparisons.relative_times`. Out: the values of the page. A browser computes
the relative times and their t intervals; it takes the quantiles from here.
"""

from collections.abc import Sequence
from typing import Any

from scipy.special import stdtrit

from assay.analysis.statistics import LEVEL
from assay.questions.comparisons.relative_times import ConfigurationTimes, RelativeTimes
from assay.text import column_title, layout_text, level_text, origin_badge

DEGREES_MAX = 200
"""Largest number of degrees of freedom with a separate quantile."""
_DIGITS = 7


def relative_values(summaries: Sequence[RelativeTimes]) -> dict[str, Any]:
    """Return the values of the page."""
    quantiles = [round(float(stdtrit(degrees, 0.5 + LEVEL / 2)), 4) for degrees in range(1, DEGREES_MAX + 1)]
    return {"parts": len(summaries), "data": {"quantiles": quantiles, "parts": [_part(item) for item in summaries]}}


def _part(summary: RelativeTimes) -> dict[str, Any]:
    names = list(summary.configurations[0].levels)
    varied_factors = [name for name in names if len({item.levels[name] for item in summary.configurations}) > 1]
    return {
        "title": origin_badge(summary.origin, summary.lab_scale),
        "jobs": summary.jobs,
        "left_out": summary.left_out,
        "factors": [
            {"title": column_title(name), "texts": [_text(item, name) for item in summary.configurations]}
            for name in varied_factors
        ],
        "cells": [
            [
                [time.job, time.runs, _rounded(time.log_s), None if time.variance is None else _rounded(time.variance)]
                for time in item.times
            ]
            for item in summary.configurations
        ],
    }


def _text(item: ConfigurationTimes, name: str) -> str:
    level = item.levels[name]
    return (layout_text(level) if name == "layout" else level_text(name, level)) or "not recorded"


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
