"""Convert an answer's JSON values to table rows, and list the columns shown in notebooks."""

from collections.abc import Callable, Iterator
from typing import Any

RUN_COLUMNS = ("run_id", "started_at", "workload", "layout", "repetition", "status", "origin", "duration_s", "anomaly")
DECISION_COLUMNS = (
    "workload",
    "option",
    "baseline",
    "verdict",
    "time.ratio",
    "time.low",
    "time.high",
    "cost.ratio",
    "cost.low",
    "cost.high",
    "origin",
)
SPEEDUP_COLUMNS = ("group", "candidate", "baseline", "ratio", "low", "high", "groups", "origin")
SIDE_COLUMNS = ("label", "summary.n", "summary.geometric_mean_s", "ratio", "ratio_low", "ratio_high", "origin")
COST_COLUMNS = (
    "job",
    "group",
    "rank",
    "label",
    "n",
    "time_s",
    "rate_per_h",
    "cost",
    "cost_low",
    "cost_high",
    "verdict",
)
WHATIF_COLUMNS = ("workload", "configuration", "measured_s", "simulated_s", "low_s", "high_s", "ratio", "limit_after")
PREDICTION_COLUMNS = ("expected_s", "low_s", "high_s", "level", "basis", "runs")
SHAPE_COLUMNS = ("label", "time_s", "time_low_s", "time_high_s", "rate_per_h", "job_cost", "limit", "origin")
CHOICE_COLUMNS = ("label", "bill", "day_s", "day_low_s", "day_high_s", "day_cost", "keeps_probability")


def rows_under(name: str) -> Callable[[Any], list[dict[str, Any]]]:
    """Return a function that takes the rows under ``name``."""
    return lambda values: values[name]


def decision_rows(values: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield, per decision, one row per option over its workloads (``workload`` is None), then one per option
    and workload."""
    for answer in values:
        decision = answer["decision"]
        decision_columns = {name: decision[name] for name in ("factor", "baseline", "origin", "lab_scale")}
        for option in decision["options"]:
            yield {
                **decision_columns,
                "workload": None,
                **{name: option[name] for name in ("option", "verdict", "time", "cost")},
            }
        for result in decision["results"]:
            yield {**decision_columns, **result}


def cost_rows(values: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of each job, with the levels of the job in one text."""
    for view in values:
        job = " ".join(view["job"].values())
        for row in view["rows"]:
            columns = {name: value for name, value in row.items() if name != "rate"}
            yield {"job": job, "currency": view["currency"], **columns}


def change_rows(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each change with the configuration that changed."""
    for history in values["histories"]:
        for change in history["changes"]:
            yield {"configuration": history["configuration"], "runs": history["runs"], **change}


def gate_rows(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the verdict on each configuration, with the configuration in one text."""
    for row in values["rows"]:
        yield {**row, "configuration": ", ".join(row["configuration"].values())}


def finding_rows(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each finding with its origin."""
    for origin, findings in values["by_origin"].items():
        for finding in findings:
            yield {"origin": origin, **finding}
