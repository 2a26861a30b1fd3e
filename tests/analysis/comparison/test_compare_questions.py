"""Test comparisons of selected runs, as terminal, page and report use them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.comparison.comparison import compare
from assay.interfaces.cli.decide.decide import decide as decide_command
from assay.questions.comparisons.comparison import comparison_view
from assay.questions.comparisons.speedup import SpeedupRequest, speedup_view
from assay.questions.comparisons.why import is_explained, observed_runs_of, pair_of, why_decision, why_result
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.report.build import report_of
from assay.questions.report.request import ReportRequest
from assay.store import Repository
from builders import build_repository, make_run, make_trace, price_book, study_runs
from detail_support import hybrid_tasks

pytestmark = pytest.mark.slow


def test_a_report_shows_the_figures_that_the_questions_answer(tmp_path: Path) -> None:
    runs = study_runs()
    repository = build_repository(tmp_path / "r", runs)
    table = repository.table()
    report = report_of(repository, table, ReportRequest())
    assert report.configurations is not None
    results = list(comparison_view(repository, table, report.decisions, "layout").results)
    assert sorted(report.configurations.comparisons, key=lambda c: c.group) == sorted(results, key=lambda c: c.group)
    assert sorted(results, key=lambda c: c.group) == sorted(
        compare(runs, factor="layout", baseline="HD2"), key=lambda c: c.group
    )
    assert [c.holm_p for c in results] == sorted(c.holm_p or 0 for c in results), "the clearest difference comes first"
    assert [(c.ratio, c.low, c.high) for c in results] != []
    (decision,) = report.decisions
    assert decision == decide(table, DecisionRequest("layout"))[0]
    assert {c.baseline for c in results} == {decision.baseline}
    over = speedup_view(repository, table, SpeedupRequest(("layout",), decision.baseline))
    assert over.baseline == decision.baseline


def test_cost_ratios_of_a_report_are_those_of_its_decision(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    report = report_of(repository, repository.table(), ReportRequest(), price_book())
    assert report.job_costs is not None
    (decision,) = report.decisions
    rows = [(r.workload, r.candidate, r.ratio, r.ratio_low, r.ratio_high, r.verdict) for r in report.job_costs.ratios]
    assert rows == [
        (r.workload, r.option, r.cost.ratio, r.cost.low, r.cost.high, r.cost.verdict)
        for r in decision.results
        if r.cost
    ]
    (option,), (performance,) = decision.options, report.job_costs.performance
    assert option.cost is not None
    assert (performance.layout, performance.cost_per_performance) == (option.option, option.cost.ratio)


def test_a_decision_leads_to_two_runs_that_show_why(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    table = repository.table()
    (decision,) = decide(table, DecisionRequest("layout"))
    result = next(result for result in decision.results if result.workload == "terasort")
    asked = why_result(decision, result)
    assert asked in why_decision(decision)
    assert dict(asked.pairs)["where"] == "workload=terasort"
    observed = observed_runs_of(repository, table)
    pair = pair_of(repository, table, asked, observed)
    assert pair is not None
    assert [repository.run(run_id).layout for run_id in pair.runs] == [decision.baseline, result.option]
    assert (pair.observed, is_explained(repository, observed, asked)) == (True, True)


def test_two_runs_with_task_attempts_or_traces_explain_a_decision(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    traced = []
    for run in study_runs():
        trace = make_trace(run) if run.layout == "HD2" and run.workload != "dfsio-read" else None
        tasks = hybrid_tasks() if run.layout == "SS2" and run.repetition == 1 else []
        repository.publish(run, trace=trace, tasks=tasks)
        traced += [run.run_id] if trace or tasks else []
    table = repository.table()
    observed = observed_runs_of(repository, table)
    assert sorted(repository.ids_at(observed, range(len(observed)))) == sorted(traced)
    (decision,) = decide(table, DecisionRequest("layout"))
    explained = {}
    for asked in why_decision(decision):
        pair = pair_of(repository, table, asked, observed)
        assert pair is not None
        explained[asked.where[0]] = is_explained(repository, observed, asked)
        assert pair.observed == explained[asked.where[0]] == (set(pair.runs) <= set(traced))
    assert explained.pop("workload=dfsio-read") is False
    assert set(explained.values()) == {True}


def test_hosts_are_sampled_evenly_over_all_runs(tmp_path: Path) -> None:
    """A kernel change after the fiftieth of 99 runs gave no warning, as only the first 50 were read."""
    runs = [
        make_run(n, layout=layout, levels={"layout": layout}, environment={"kernel": "6.1" if n < 180 else "6.12"})
        for n in range(198)
        for layout in [("HD2", "SS2")[n % 2]]
    ]
    repository = build_repository(tmp_path / "r", runs)
    view = speedup_view(repository, repository.table(), SpeedupRequest(("layout",), "HD2"))
    assert "kernel was not the same in all runs: 6.1 or 6.12" in [str(warning) for warning in view.warnings]


def test_levels_and_times_of_a_comparison_stand_in_the_same_order(tmp_path: Path) -> None:
    """The table once showed "16MiB to 64MiB" with "60.0 → 30.0", where 60.0 s was the time of 64MiB."""
    times = {"64MiB": (60.0, 61.0, 62.0), "16MiB": (30.0, 31.0, 32.0)}
    runs = [
        make_run(10 * at + n, parameters={"dfs.blocksize": size}, duration_s=seconds)
        for at, (size, made) in enumerate(times.items())
        for n, seconds in enumerate(made)
    ]
    folder = tmp_path / "r"
    build_repository(folder, runs)
    output = CliRunner().invoke(decide_command, ["dfs.blocksize", "--details", "groups", "--repository", str(folder)])
    assert output.exit_code == 0, output.output
    row = next(line for line in output.output.splitlines() if "→" in line)
    assert "64MiB → 16MiB" in row
    assert "61.0 → 31.0" in row
