"""Tests of the facts on how the decisions of a report compare runs."""

from dataclasses import replace
from pathlib import Path

from assay.analysis.comparison.dependence import OVER_LEVELS
from assay.analysis.comparison.sampled_levels import SampledLevels
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.report.method import method_facts
from assay.questions.trust.flags import flags_in
from builders import build_repository, make_run


def test_the_interval_names_a_method_once_with_the_factors_of_its_levels(tmp_path: Path) -> None:
    runs = [
        make_run(2 * number + (layout == "SS2"), layout=layout, levels={"layout": layout}, duration_s=100.0 + number)
        for number in range(4)
        for layout in ("HD2", "SS2")
    ]
    repository = build_repository(tmp_path / "r", runs)
    table = flags_in(repository).table
    [decision] = decisions_of(repository, table, DecisionRequest("layout"))
    [result] = decision.results
    assert result.time is not None
    times = [
        replace(result.time, method=OVER_LEVELS.format(factor), levels=SampledLevels(factor, 3))
        for factor in ("dfs.blocksize", "dfs.replication", "dfs.blocksize")
    ]
    results = (result, *(replace(result, time=time) for time in times))
    facts = {
        fact.name: fact.text for fact in method_facts(table, (), [replace(decision, results=results)], all_loaded=False)
    }
    over_levels = "Student's t on the levels of HDFS block size or HDFS copies, on which the gain depends"
    assert facts["Interval"] == f"95 %, by {result.time.method}; {over_levels}."
