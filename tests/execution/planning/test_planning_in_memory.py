"""Test plans in memory: checked as files are, and written as YAML that loads as the same plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.planning.plan_files.plan_reader import checked_plan, load_plan, plan_of_texts
from assay.execution.planning.plan_files.plan_text import content_of, document_of_content
from assay.foundation.errors import SpecificationError
from assay.model.plans.factor import Factor
from assay.model.plans.plan import PrecisionGoal
from assay.specs.document import Value, document_of
from paths import EXAMPLES

PLANS = sorted(path for path in EXAMPLES.glob("*/*.yaml") if path.read_text().startswith(("plan:", "#")))
PLANS = [path for path in PLANS if "\nplan:" in f"\n{path.read_text()}"]
CLUSTER = (EXAMPLES / "lab" / "cluster.yaml").read_text()
CONTENT: dict[str, Value] = {
    "plan": "mine",
    "cluster": "cluster.yaml",
    "workloads": [{"terasort": {"data": "2GB", "maps": "6"}}],
    "factors": {"layout": ["HD2", "SS2"], "dfs.blocksize": ["64MiB", "128MiB"]},
    "repetitions": "2",
}


@pytest.mark.parametrize("path", PLANS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_plan_written_as_yaml_asks_for_the_same_runs(path: Path, tmp_path: Path) -> None:
    plan = load_plan(path)
    (tmp_path / plan.cluster_file).write_text(plan.cluster_source)
    (tmp_path / "plan.yaml").write_text(document_of_content(content_of(plan)).text)
    again = load_plan(tmp_path / "plan.yaml")
    assert again.fingerprint == plan.fingerprint
    assert replace(again, source=plan.source, cluster=plan.cluster) == plan


def test_a_changed_plan_has_the_text_and_the_fingerprint_of_what_it_is_now() -> None:
    plan = plan_of_texts(CONTENT, CLUSTER)
    layout, _ = plan.factors
    more = replace(
        plan, factors=(layout, Factor("containers", ("2", "4"))), until=PrecisionGoal(0.05, 9), timeout_s=90.0
    )
    changed = checked_plan(more)
    assert changed.fingerprint != plan.fingerprint
    assert "  containers: [2, 4]" in changed.source.splitlines()
    assert "  half_width: 5%" in changed.source.splitlines()
    assert (changed.until, changed.timeout_s, changed.retries) == (PrecisionGoal(0.05, 9), 90.0, plan.retries)
    assert (
        checked_plan(replace(changed, factors=plan.factors, until=None, timeout_s=None)).fingerprint == plan.fingerprint
    )


def test_a_mistake_in_a_plan_without_a_file_has_its_line_in_the_written_form() -> None:
    plan = plan_of_texts(CONTENT, CLUSTER)
    wrong = replace(plan, factors=(plan.factors[0], Factor("containers", ("2", "999"))))
    with pytest.raises(SpecificationError, match=r"containers: .* are requested.*layout=HD2 containers=999") as caught:
        checked_plan(wrong)
    where = str(caught.value.where)
    lines = document_of_content(content_of(wrong)).text.splitlines()
    assert lines[int(where.removeprefix("plan.yaml:")) - 1] == "  containers: [2, 999]"
    with pytest.raises(SpecificationError, match=r"layout 'NVE' asks for 1 NVMe device per node") as caught:
        plan_of_texts({**CONTENT, "factors": {}, "layout": "NVE"}, CLUSTER)
    assert caught.value.where == "plan.yaml:7"


texts = st.text(max_size=8) | st.sampled_from(["null", "~", "- a", "a: b", "#", "{", "yes", "0.80", "1_000"])
inner: st.SearchStrategy[Value] = st.recursive(
    texts, lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(texts, deeper, max_size=3), max_leaves=6
)
contents = st.dictionaries(texts, inner, min_size=1, max_size=4)


@given(contents)
def test_a_reader_of_the_written_file_finds_the_same_lines(content: dict[str, Value]) -> None:
    try:
        document = document_of_content(content)
    except SpecificationError as error:
        assert "is not text" in error.message  # noqa: PT017 - most contents are written
        return
    again = document_of(document.text.encode(), document.path)
    assert again.content == content
    assert {at: line for at, line in again.lines.items() if at in document.lines} == document.lines
