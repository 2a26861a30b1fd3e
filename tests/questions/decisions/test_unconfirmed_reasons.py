"""A difference that the correction leaves without a verdict states its p values, and how many values it has."""

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.statistics import InferenceScope, Verdict
from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.model import Run
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import row_verdict, verdict_note
from builders import make_run

WORKLOADS = 20


@pytest.fixture(scope="module")
def decision() -> Decision:
    """SSDs are three times as fast on TeraSort, by a factor that depends on the copies; equally fast on the others."""
    rng = np.random.default_rng(1)
    (decision,) = decide(_table(rng), DecisionRequest("layout", "HD2"))
    return decision


def _table(rng: np.random.Generator) -> RunTable:
    runs: list[Run] = []
    for number in range(WORKLOADS):
        for copies in range(3):
            for block in range(4):
                for layout in ("HD2", "SS2"):
                    gain = 3.0 * (1 + 0.2 * (copies - 1)) if number == 0 and layout == "SS2" else 1.0
                    runs.append(
                        make_run(
                            len(runs),
                            workload="terasort" if number == 0 else f"w{number}",
                            layout=layout,
                            levels={"layout": layout},
                            parameters={"dfs.replication": str(copies + 1), "dfs.blocksize": str(block + 1)},
                            duration_s=float(300 * np.exp(rng.normal(0, 0.02)) / gain),
                        )
                    )
    return table_of(runs)


def test_an_unconfirmed_row_states_its_p_values_and_the_number_of_levels(decision: Decision) -> None:
    (row,) = (row for row in decision.results if row.workload == "terasort")
    assert row.time is not None
    assert row.time.low is not None
    assert row.time.low > 1.5
    assert row.verdict is Verdict.NOT_DISTINGUISHABLE
    assert row.time.groups == 12
    p, corrected = row.time.p or 0.0, row.time.holm_p or 0.0
    assert p < 0.05 <= corrected
    reason = f"p = {p:.2g}, corrected {corrected:.2g}, n = 3 levels of HDFS copies"
    assert row_verdict(row) == f"faster, not confirmed ({reason})"
    assert row_verdict(row, reason=False) == "faster, not confirmed"
    note = verdict_note(decision)
    assert f"corrected for {decision.family} comparisons (Holm)" in note
    assert "Not confirmed: the p value is 0.05 or more after this correction." in note
    assert "the levels of that setting are the values (n), not the runs" in note


def test_the_note_explains_only_what_the_rows_have(decision: Decision) -> None:
    confirmed = tuple(replace(row, verdict=Verdict.FASTER) for row in decision.results)
    assert "Not confirmed" not in verdict_note(replace(decision, results=confirmed))
    (row,) = (row for row in decision.results if row.workload == "terasort")
    assert row.time is not None
    of_groups = replace(row, time=replace(row.time, levels=None, scope=InferenceScope.SIMILAR))
    assert row_verdict(of_groups).endswith(f"corrected {row.time.holm_p:.2g})")
    assert "(n)" not in verdict_note(replace(decision, results=(of_groups,)))
