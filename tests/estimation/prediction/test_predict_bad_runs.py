"""Test learning from unusable runs: they are refused or reported, never a traceback."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.analysis.statistics.runs.run_table import table_of
from assay.estimation.prediction.contradictions import data_warnings
from assay.estimation.prediction.explaining import cells, explain
from assay.estimation.prediction.model import learn
from assay.estimation.prediction.model_file import MAGIC, decode_model, encode_model
from assay.estimation.prediction.nearest import MeasuredConfigurations
from assay.estimation.prediction.predict import predict
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.forecasts.model_cache import RepositoryModel
from assay.questions.forecasts.next_runs import NextRunsRequest, budget_of, characterise, next_runs_by
from assay.store import Repository
from learning import learning_runs

pytestmark = pytest.mark.slow
FROM = "runs-1.parquet"
FACTOR = {"name": "a", "levels": ["b"], "numeric": False, "low": 0, "high": 0, "varied": True, "of_cluster": False}


def few(clusters: Sequence[int] = (8,)) -> list[Run]:
    """Return 72 runs of 54 configurations on each cluster."""
    return learning_runs(clusters=clusters, slots=(2, 4, 8))


def known(runs: Sequence[Run]) -> RepositoryModel:
    table = table_of(runs)
    model = learn(table)
    return RepositoryModel(table, MeasuredConfigurations.of(table), model, data_warnings(model, table))


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ([], "0 valid runs are too few"),
        (few()[:19], "19 valid runs are too few to learn from"),
        ([replace(run, status=RunStatus.FAILED) for run in few()], "0 valid runs are too few"),
        ([replace(few()[0], run_id=f"{n:032d}", duration_s=60.0 + n) for n in range(30)], "have only 1 configurations"),
        ([replace(run, duration_s=60.0) for run in few()], "took exactly 60 s"),
        ([replace(run, duration_s=0.0) for run in few()], "0 valid runs are too few"),
    ],
)
def test_too_few_runs_to_learn_from_are_refused_with_a_message(of: list[Run], words: str) -> None:
    with pytest.raises(SpecificationError, match=words) as raised:
        learn(table_of(of))
    assert raised.value.hint


def test_plausible_runs_are_not_flagged() -> None:
    assert known(few()).notices == ()


def test_contradictory_runs_and_mixed_units_are_reported_and_widen_the_interval() -> None:
    runs = few()
    repeated = [run for run in runs if run.parameters["mapreduce.tasktracker.map.tasks.maximum"] == "4"]
    odd = [replace(run, duration_s=run.duration_s * 1000.0) for run in repeated[::4]]
    remaining_runs = [run for run in runs if run not in repeated[::4]]
    notices = known([*remaining_runs, *odd]).notices
    assert "repetitions contradict each other in 9 of 54 configurations" in notices[0]
    assert "9 are about 1,000 times apart, as seconds and milliseconds are" in notices[0]
    others = [replace(run, duration_s=run.duration_s * (1000.0 if n % 18 == 0 else 1.0)) for n, run in enumerate(runs)]
    assert any("Their times may have other units" in words for words in known(others).notices)


def test_duplicate_runs_are_reported() -> None:
    runs = few()
    again = [replace(run, run_id=f"{n:032d}") for n, run in enumerate(runs[:30])]
    (notice,) = known([*runs, *again]).notices
    assert notice.startswith("30 of 102 valid runs have the configuration, start and duration of another run")


def test_one_level_written_in_two_ways_is_reported() -> None:
    sizes = ("134217728", "128MiB", "64MiB")
    runs = [replace(run, parameters={**run.parameters, "dfs.blocksize": sizes[n % 3]}) for n, run in enumerate(few())]
    assert any(words.startswith("dfs.blocksize is written in several ways") for words in known(runs).notices)


def test_a_factor_that_never_varied_is_not_predicted_and_a_question_about_it_is_refused(tmp_path: Path) -> None:
    one_network = known([run for run in few() if run.levels["network"] == "IB"])
    model, table = one_network.model, one_network.table
    with pytest.raises(SpecificationError, match="network has only one level here"):
        cells(model, table, ["layout", "network"])
    holes = replace(one_network, table=table.subset(np.arange(len(table)) % 5 != 0))
    with pytest.raises(SpecificationError, match="network has only one level here"):
        next_runs_by(
            holes, Repository.create(tmp_path), holes.table, NextRunsRequest(budget_of("2runs"), about="network")
        )
    assert "network" not in [effect.factor for effect in explain(model, table).factors]
    ethernet = table_of([replace(few()[0], levels={"layout": "HDD", "network": "ETH"})])
    predicted = predict(model, ethernet)
    assert np.isnan(predicted.expected_s[0])
    assert "no run has network ETH; measured levels: IB" in predicted.reasons[0]


def test_runs_with_equal_factors_are_not_explained() -> None:
    both = known(few())
    alike = both.table.subset(np.flatnonzero(both.table.columns["layout"].codes == 0))
    assert "layout" in explain(both.model, alike).alike
    with pytest.raises(SpecificationError, match="too few to learn from"):
        explain(both.model, both.table.subset(np.arange(5)))


@pytest.mark.parametrize(
    ("clusters", "kept", "words"),
    [((8,), 72, "of other clusters: 0 valid runs are too few"), ((12, 8), 80, "on c8: 8 valid runs are too few")],
)
def test_a_cluster_that_cannot_be_characterised_is_refused_with_the_reason(
    tmp_path: Path, clusters: Sequence[int], kept: int, words: str
) -> None:
    repository = Repository.create(tmp_path)
    for run in few(clusters)[:kept]:
        repository.publish(run)
    with pytest.raises(SpecificationError, match=words):
        characterise(repository, "c8", 0.1)


def test_a_cluster_with_too_few_configurations_to_leave_some_out_is_refused_with_a_message(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path)
    few_rows = [
        replace(run, run_id=f"{90_000 + 10 * copy + n:032d}", duration_s=run.duration_s * (1.0 + copy / 50))
        for n, run in enumerate(few((8,))[:12:4] + few((8,))[1:24:4])
        for copy in range(3)
    ]
    for run in (*few((12,)), *few_rows):
        repository.publish(run)
    with pytest.raises(SpecificationError, match="c8 was measured in 9 configurations only"):
        characterise(repository, "c8", 0.1)


@pytest.mark.parametrize("budget", ["", "0runs", "-3runs", "many", "2 parsecs", "0h"])
def test_an_invalid_budget_is_refused_with_a_message(budget: str) -> None:
    with pytest.raises(SpecificationError, match="is not a budget"):
        budget_of(budget)


def _header(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def changed(arrays: dict[str, Any]) -> None:
        header = {**json.loads(arrays["header"].tobytes()), **changes}
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

    return changed


def _array(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def changed(arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays[name])

    return changed


@pytest.fixture(scope="module")
def content() -> bytes:
    return encode_model(learn(table_of(few())), FROM)


@pytest.mark.parametrize(
    "tamper",
    [
        _header(factors=["no factor"]),
        _header(factors=[{**FACTOR, "levels": [1]}]),
        _header(factors=[{**FACTOR, "name": 7}]),
        _header(usual=[1.0, 2.0, 3.0, 4.0, 5.0]),
        _header(runs="many"),
        _header(unseen=[]),
        _header(level_quantiles=["colour"]),
        _array("forest.roots", lambda array: array + 10**6),
        _array("forest.right", lambda array: array * 0 - 1),
        _array("forest.number", lambda array: array[:-1]),
        _array("forest.feature", lambda array: array.astype(np.int64)),
        _array("medians", lambda array: array[:-1]),
        _array("medians", lambda array: array.astype(object)),
        lambda arrays: arrays.pop("scale.right"),
        lambda arrays: arrays.pop("header"),
    ],
)
def test_a_model_that_was_tampered_with_is_refused_though_its_checksum_fits(
    content: bytes, tamper: Callable[[dict[str, Any]], None]
) -> None:
    with np.load(io.BytesIO(content[len(MAGIC) + 65 :])) as there:
        arrays = dict(there)
    tamper(arrays)
    file = io.BytesIO()
    np.savez(file, **arrays)
    digest = hashlib.sha256(file.getvalue()).hexdigest().encode()
    with pytest.raises(RepositoryError, match="a cached model is not used"):
        decode_model(MAGIC + digest + b"\n" + file.getvalue(), FROM)
