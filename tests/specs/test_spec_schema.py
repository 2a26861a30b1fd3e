"""Test that the JSON Schemas match the loaders and accept the examples."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from assay.analysis.cost.parts import counts_from_facts
from assay.analysis.cost.prices import run_price
from assay.execution.planning.expansion import expand
from assay.execution.planning.plan_files.hardware_file import load_catalogue
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.execution.planning.plan_files.schemas import json_schema
from assay.foundation.errors import SpecificationError
from assay.model import ClusterFacts
from assay.model.clusters.cluster import Placement
from assay.specs import load_cluster, load_prices
from assay.specs.profiles import load_profile
from assay.workloads.catalogue import workloads
from paths import EXAMPLES
from program import called as assay

FILES = sorted(path for path in EXAMPLES.glob("*/*.yaml") if path.name != "results.yaml")  # those are no specifications


def kind_of(content: dict[str, Any]) -> str:
    return next(kind for kind in ("catalogue", "plan", "prices", "profile", "cluster") if kind in content)


def typed(path: Path) -> Any:
    """Return the file as an editor's YAML 1.2 core schema sees it: numbers and booleans, but no dates."""
    content = YAML(typ="safe", pure=True).load(path.read_text())
    return {key: value.isoformat() if isinstance(value, datetime.date) else value for key, value in content.items()}


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("file", FILES, ids=[f"{file.parent.name}/{file.name}" for file in FILES])
def test_every_example_loads_and_satisfies_its_schema(file: Path) -> None:
    content = typed(file)
    kind = kind_of(content)
    loaders: dict[str, Callable[[Path], object]] = {"cluster": load_cluster, "plan": load_plan, "prices": load_prices}
    loaders |= {"profile": load_profile, "catalogue": load_catalogue}
    loaders[kind](file)
    assert [error.message for error in validator(kind).iter_errors(content)] == []


def test_the_lab_example_compares_two_disks_of_each_kind() -> None:
    plan = load_plan(EXAMPLES / "lab" / "hdd-vs-ssd.yaml")
    assert [configuration.layout.name for configuration in expand(plan)] == ["HD2", "SS2"]
    assert plan.cluster.placement is Placement.LAB
    assert len(plan.cluster.workers) == 3
    assert plan.repetitions >= 3


def test_the_prices_of_the_lab_example_give_the_totals_of_sandisk_with_its_seven_nodes() -> None:
    book = load_prices(EXAMPLES / "lab" / "prices.yaml")
    plan = load_plan(EXAMPLES / "lab" / "hdd-vs-ssd.yaml")
    totals = {}
    for workers in (3, 6):
        for configuration in expand(plan):
            layout = configuration.layout
            facts = replace(ClusterFacts.of_layout(plan.cluster, layout), workers=workers, nodes=workers + 1)
            counts = replace(counts_from_facts(facts, layout.name, {}), ports=None)
            totals[workers, layout.name] = float(run_price(book, counts, layout.name).total)
    assert totals == {
        (6, "HD2"): pytest.approx(37_561, abs=1),
        (6, "SS2"): pytest.approx(46_567, abs=1),
        (3, "HD2"): pytest.approx(4 * 37_561 / 7, abs=1),
        (3, "SS2"): pytest.approx(4 * 37_561 / 7 + 6 * 750.5, abs=1),
    }


def test_the_local_example_compares_two_configurations_on_one_machine() -> None:
    plan = load_plan(EXAMPLES / "local" / "containers.yaml")
    assert plan.cluster.placement is Placement.LOCAL
    assert len(expand(plan)) == 2


CLUSTER = EXAMPLES / "lab" / "cluster.yaml"
PLAN = EXAMPLES / "lab" / "hdd-vs-ssd.yaml"
WRONG = [
    (CLUSTER, ("node_types", "worker", "memroy"), "16GB"),
    (CLUSTER, ("node_types", "worker", "memory"), "16"),
    (CLUSTER, ("node_types", "worker", "memory"), None),
    (CLUSTER, ("node_types", "worker", "nic"), "10GB/s"),
    (CLUSTER, ("node_types", "worker", "nic"), {"rate": "10Gbit/s", "cost": "$5"}),
    (CLUSTER, ("node_types", "worker", "cores"), 0),
    (CLUSTER, ("node_types", "worker", "devices", "hdd", "kind"), "disk"),
    (CLUSTER, ("nodes", "Master"), {"type": "worker", "roles": ["master"]}),
    (CLUSTER, ("lab", "scale"), "2"),
    (CLUSTER, ("lab", "scale"), 2),
    (PLAN, ("workloads",), []),
    (PLAN, ("workloads", 0, "dfsio-write", "reduces"), 6),
    (PLAN, ("workloads", 0, "sorting"), {"data": "1GB"}),
    (PLAN, ("parameters", "dfs.replication"), [3]),
    (PLAN, ("parameters", "replication"), 3),
    (PLAN, ("factors", "layout"), []),
    (PLAN, ("timeout",), 10),
    (PLAN, ("layouts",), {"a": {"hdfs": ["hdd1"]}}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "path", "value"), WRONG, ids=[f"{'.'.join(map(str, w[1]))}={w[2]}" for w in WRONG])
def test_the_loader_refuses_everything_that_the_schema_refuses(
    tmp_path: Path, file: Path, path: tuple[Any, ...], value: Any
) -> None:
    content = typed(file)
    holder = content
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    assert not validator(kind_of(content)).is_valid(content)
    (tmp_path / "cluster.yaml").write_text(CLUSTER.read_text())
    written = tmp_path / file.name
    written.write_text(json.dumps(content))
    with pytest.raises(SpecificationError):
        (load_plan if file is PLAN else load_cluster)(written)


@pytest.mark.parametrize("value", [{"rate": "1Gbit/s", "price": "$50"}, "1Gbit/s"])
def test_a_nic_is_its_rate_or_keys(value: Any) -> None:
    content = typed(CLUSTER)
    content["node_types"]["worker"]["nic"] = value
    assert validator("cluster").is_valid(content)


def test_every_workload_with_its_options_is_in_the_schema() -> None:
    definitions = json_schema("plan")["$defs"]
    assert list(definitions["Workload"]["properties"]) == list(workloads())
    for name, workload in workloads().items():
        general = {"data", "data_per_node", "waves", "label"}
        assert set(definitions[name]["properties"]) == general | {option.name for option in workload.options}


def _strings(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [text for item in schema for text in _strings(item)]
    if not isinstance(schema, dict):
        return []
    patterns = [schema] if isinstance(schema.get("pattern"), str) else []
    return patterns + [text for item in schema.values() for text in _strings(item)]


@pytest.mark.parametrize("kind", ["cluster", "plan", "prices"])
def test_patterns_are_portable_and_their_examples_match(kind: str) -> None:
    import re

    strings = _strings(json_schema(kind))
    assert strings
    for schema in strings:
        assert "(?P" not in schema["pattern"], "named groups are Python's own"
        assert schema["examples"]
        assert all(re.search(schema["pattern"], example) for example in schema["examples"])


@pytest.mark.parametrize("kind", ["cluster", "plan", "prices"])
def test_every_key_has_a_description_and_none_may_be_null(kind: str) -> None:
    schema = json_schema(kind)
    for name, model in {"": schema, **schema["$defs"]}.items():
        for key, value in model.get("properties", {}).items():
            assert "description" in value, f"{name}.{key}"
    assert '"null"' not in json.dumps(schema)


def test_the_command_prints_the_schema() -> None:
    assert json.loads(assay("schema", "plan").stdout) == json_schema("plan")
    wrong = assay("schema", "plans")
    assert wrong.returncode == 2
    assert "'cluster', 'plan', 'prices'" in wrong.stderr


def test_a_schema_of_something_else_is_refused() -> None:
    with pytest.raises(SpecificationError, match=r"unknown kind of file 'plans'; did you mean 'plan'\?"):
        json_schema("plans")
