"""Test the public names, the weight of the import, and the errors of wrong arguments."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.foundation.errors import AssayError, MissingLibraryError, RepositoryError, SpecificationError
from assay.interfaces.python import answer as answer_module
from builders import build_repository, study_runs
from paths import EXAMPLES, ROOT
from simulator_support import EXAMPLE, needs_simulator

PUBLIC = {
    "Answer",
    "AnswerChart",
    "AssayError",
    "EngineError",
    "FormatError",
    "HostError",
    "LabError",
    "MissingLibraryError",
    "OpenedRepository",
    "RepositoryError",
    "SpecificationError",
    "__version__",
    "open",
    "run",
    "size",
}
SIGNATURES = {
    "runs": "where limit",
    "questions": "where prices",
    "decide": "question where baseline prices ignore",
    "speedup": "factor where baseline group ignore deployments",
    "compare": "runs of",
    "cost": "prices where by take on currency seed exclude_flagged",
    "cost_over_years": "prices years where baseline rounding exclude_flagged",
    "limits": "run",
    "workload_limits": "where",
    "tasks": "run node job",
    "profile": "run phase stage node attempt at_s process",
    "scatter": "x y where by shape",
    "changes": "where",
    "gate": "baseline max_slowdown where ignore",
    "anomalies": "where",
    "findings": "where prices exclude_flagged",
    "whatif": "changes where target prices stated extra_costs profile cluster",
    "predict": "where cluster",
    "recommend": "workloads catalogue prices budget deadline capacity years minimize confidence simulations seed jobs "
    "learn where extra_costs",
    "next": "budget where cluster about",
    "enough_runs": "cluster precision where",
    "explain": "where by",
    "close": "",
}
"""A change of these names breaks programs of users. docs/how-to/use-from-python.md has the deprecation policy."""


def test_the_public_names_are_pinned() -> None:
    assert set(assay.__all__) == set(dir(assay)) == PUBLIC
    assert all(getattr(assay, name) is not None for name in PUBLIC)
    methods = inspect.getmembers(assay.OpenedRepository, inspect.isfunction)
    signatures = {
        name: " ".join(list(inspect.signature(method).parameters)[1:])
        for name, method in methods
        if not name.startswith("_")
    }
    assert signatures == SIGNATURES
    assert " ".join(inspect.signature(assay.run).parameters) == (
        "plan repository only until again baseline simulate profile learn_from where otlp"
    )
    public = {name for name in dir(assay.Answer) if not name.startswith("_")}
    assert public == {
        *("value", "sentence", "notes", "shown", "json_values", "rows", "chart_specs"),
        *("to_dict", "to_rows", "to_arrow", "to_pandas", "to_polars", "charts"),
    }


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "use-from-python.md").read_text(encoding="utf-8")
    names = {name for name in PUBLIC if name != "__version__"} | set(SIGNATURES) - {"close"}
    assert sorted(name for name in names if f"`{name}" not in page and f"assay.{name}" not in page) == []


def test_an_unknown_name_is_an_attribute_error_with_the_names() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'opne'; it has .*open, run"):
        assay.opne  # noqa: B018


def test_the_import_loads_nothing_heavy() -> None:
    script = "import sys; import assay; assay.__version__; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "duckdb", "pandas", "pyarrow", "polars", "sklearn", "fastapi", "uvicorn", "click"}
    assert heavy & set(done.stdout.split()) == set()


@pytest.mark.slow
def test_a_decision_loads_no_web_framework(tmp_path: Path) -> None:
    build_repository(tmp_path / "r", study_runs())
    script = (
        f"import sys, assay; assay.open({str(tmp_path / 'r')!r}).decide('layout')._repr_html_(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"fastapi", "uvicorn", "click"} & set(done.stdout.split()) == set()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> assay.OpenedRepository:
    root = tmp_path_factory.mktemp("errors") / "r"
    build_repository(root, study_runs())
    return assay.open(root)


NUMBER: Any = 5
FRACTION: Any = 2.5
OTHER: Any = "configuration"
"""Arguments of wrong types, which a checker of types would refuse."""

WRONG: dict[str, tuple[Callable[[assay.OpenedRepository], Any], str]] = {
    "a column": (lambda r: r.runs({"layuot": "HD2"}), "did you mean 'layout'"),
    "a level": (lambda r: r.decide("layout", "layout=SS22"), "SS2"),
    "a question": (lambda r: r.decide("layuot"), "did you mean 'layout'"),
    "a baseline": (lambda r: r.decide("layout", baseline="HD22"), "did you mean 'HD2'"),
    "a factor": (lambda r: r.speedup("layuot"), "did you mean 'layout'"),
    "no condition": (lambda r: r.runs("layout"), "layout"),
    "conditions of another type": (lambda r: r.runs(NUMBER), "a mapping"),
    "a condition of another type": (lambda r: r.runs([NUMBER]), "a mapping"),
    "a question of another type": (lambda r: r.decide(NUMBER), "question is a text"),
    "a run of another type": (lambda r: r.limits(NUMBER), "run is a text"),
    "a run that is missing": (lambda r: r.limits("zzz"), "zzz"),
    "one run": (lambda r: r.compare(r.runs().value[0].run_id), "fewer than two runs are chosen"),
    "a choice": (lambda r: r.compare("0", "1", of=OTHER), "did you mean 'configurations'"),
    "a file": (lambda r: r.cost("prices-that-are-missing.yaml"), "prices-that-are-missing.yaml"),
    "a file of another type": (lambda r: r.cost(NUMBER), "prices is a file's path"),
    "a limit": (lambda r: r.runs(limit=0), "0 is not an integer of 1 or more"),
    "a limit with decimals": (lambda r: r.runs(limit=FRACTION), "2.5 is not an integer of 1 or more"),
    "years": (lambda r: r.cost_over_years(EXAMPLES / "sandisk-2014" / "prices.yaml", -1), "from 0.001 to 100"),
    "a baseline time": (lambda r: r.gate("2026-13-01"), "not a time, condition, campaign or run"),
    "a share": (lambda r: r.gate("2026-11-01", 11), "from 0 to 10"),
    "a factor to ignore": (lambda r: r.gate("2026-11-01", ignore="layuot"), "did you mean 'layout'"),
    "a metric": (lambda r: r.scatter("duration_m"), "duration_s"),
    "no configuration": (lambda r: r.predict({}), "workload"),
    "a budget": (lambda r: r.next("much"), "much"),
    "a change": (lambda r: r.whatif("SS2"), "SS2"),
    "an objective": (
        lambda r: r.recommend("sort:1TB", catalogue="c.yaml", prices="p.yaml", minimize="prise"),
        "did you mean 'price'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_raise_documented_errors(name: str, opened: assay.OpenedRepository) -> None:
    ask, words = WRONG[name]
    with pytest.raises(AssayError) as caught:
        ask(opened)
    assert isinstance(caught.value, SpecificationError | RepositoryError)
    assert words in str(caught.value)


def test_a_folder_without_a_repository_and_one_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="there is no repository here"):
        assay.open(tmp_path)
    root = build_repository(tmp_path / "r", study_runs()).root
    (root / "repository.json").write_text(json.dumps({"assay_repository": 99}))
    with pytest.raises(RepositoryError, match="a newer version of assay"):
        assay.open(root)
    (root / "repository.json").write_text(json.dumps({"assay_repository": 0}))
    with pytest.raises(RepositoryError, match="an older version of assay"):
        assay.open(root)
    (root / "repository.json").write_text(json.dumps({"assay_repository": "one"}))
    with pytest.raises(RepositoryError, match="another version of assay"):
        assay.open(root)
    with pytest.raises(SpecificationError, match="name a folder"):
        assay.open(NUMBER)


def test_a_missing_library_is_named_with_its_installation(
    opened: assay.OpenedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = opened.runs()
    for name, method in (("pandas", answer.to_pandas), ("polars", answer.to_polars), ("pyarrow", answer.to_arrow)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingLibraryError, match=f"pip install {name}"):
            method()


def test_an_empty_repository_has_no_runs_and_no_answer(tmp_path: Path) -> None:
    build_repository(tmp_path / "r", [])
    opened = assay.open(tmp_path / "r")
    assert opened.runs().to_dict() == []
    assert "0 runs" in opened.runs()._repr_html_()
    with pytest.raises(RepositoryError, match="no runs yet"):
        opened.decide("storage")


def test_nested_values_become_columns_and_lists_become_text() -> None:
    assert answer_module.flattened({"a": {"b": {"c": 1}, "d": [1, "é"]}, "e": None}) == {
        "a.b.c": 1,
        "a.d": '[1, "é"]',
        "e": None,
    }


@needs_simulator
@pytest.mark.slow
def test_a_plan_is_executed_and_resumed_from_python(tmp_path: Path) -> None:
    names = {"only": ["terasort", "layout=SS2"], "simulate": True}
    first = assay.run(EXAMPLE, tmp_path / "r", until="1 runs", **names)  # type: ignore[arg-type]
    assert (first.value.made, first.value.already_there) == (1, 0)
    assert first.sentence == "attempts: 1 (1 valid); runs finished earlier: 0"
    more = assay.run(EXAMPLE, tmp_path / "r", **names)  # type: ignore[arg-type]
    assert more.value.campaign_id == first.value.campaign_id
    assert more.value.already_there == 1
    runs = assay.open(tmp_path / "r").runs().value
    assert len(runs) == 1 + more.value.made > 1
    assert {(run.workload, run.layout, str(run.origin)) for run in runs} == {("terasort", "SS2", "simulated")}
    assert more.to_dict()["statuses"] == {"valid": more.value.made}


def test_a_campaign_is_refused_inside_an_event_loop() -> None:
    async def notebook() -> None:
        assay.run("plan.yaml")

    with pytest.raises(SpecificationError, match=r"!assay run plan\.yaml"):
        asyncio.run(notebook())
