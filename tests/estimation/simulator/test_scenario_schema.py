"""Test that the structs of a scenario, the committed JSON Schema and the simulator's reader agree on every field."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from assay.estimation.simulator.process import simulator
from assay.estimation.simulator.scenario_document import schema_text
from paths import ROOT

SCHEMA = ROOT / "rust/simulate/scenario.schema.json"
Step = str | int
_BY_SOURCE = ("dataset", "bytes", "stages")
"""Fields of an input that some of its sources need."""
CPU = {
    "task_s": 0.1,
    "read_s_per_byte": 1e-9,
    "process_s_per_byte": 1e-9,
    "sort_s_per_byte": 1e-9,
    "write_s_per_byte": 1e-9,
}
SORT = {"buffer_bytes": 1e8, "spill_share": 0.8, "factor": 10, "metadata_share": 0.16}
SHUFFLE = {
    "slow_start": 0.05,
    "copies": 5,
    "heap_bytes": 1e9,
    "buffer_share": 0.7,
    "merge_share": 0.66,
    "memory_limit_share": 0.25,
    "factor": 10,
    "kept_share": 0.1,
}
READ = {"from": "dfs", "dataset": "in", "bytes": 1e6, "located": True}
SHUFFLED = {"to": "shuffle", "ratio": 1.0, "combiner": 0.5, "compression": 0.5}
WRITTEN = {
    "to": "dfs",
    "dataset": "out",
    "ratio": 1.0,
    "compression": 0.9,
    "replication": 1,
    "remote_cpu_s_per_byte": 0.0,
}
FETCHED = {"from": "stage", "stages": ["map"]}
DEVICE = {
    "name": "ssd1",
    "size_bytes": 1e12,
    "model": {"kind": "ssd", "bytes_per_s": 5e8},
    "purposes": {"dfs": 1, "intermediate": 1},
    "readahead_bytes": 1e6,
    "request_bytes": 5e5,
    "dirty_limit_bytes": 1e8,
}
COMPLETE: dict[str, Any] = {
    "id": "complete",
    "seed": 1,
    "fidelity": "flows",
    "detail": "duration",
    "trace_by": "group",
    "tasks_as": "objects",
    "cluster": {
        "nodes": [
            {
                "name": "worker",
                "names": ["w1", "w2"],
                "cores": 4.0,
                "cpu_speed": 1.0,
                "memory_bytes": 8e9,
                "cache_bytes": 1e9,
                "nic_in_bytes_per_s": 1e8,
                "containers": {"memory_bytes": 6e9, "cores": 4.0},
                "devices": [DEVICE],
            }
        ],
        "cpu_pool": {"cores": 4.0, "background_cores": 1.0},
        "racks": {"nodes": 2, "uplink_bytes_per_s": 1e9},
    },
    "storage": {"block_bytes": 1e6, "replication": 2},
    "engine": {
        "client_start_s": 1.0,
        "am_start_s": 1.0,
        "job_end_s": 1.0,
        "client_end_s": 1.0,
        "task_start_s": 1.0,
        "task_start_cpu_s": 1.0,
        "node_heartbeat_s": 1.0,
        "am_heartbeat_s": 1.0,
        "locality_wait_s": 3.0,
        "daemon_memory_bytes": 1e9,
    },
    "datasets": [{"name": "in", "bytes": 4e6, "files": 1}],
    "jobs": [
        {
            "name": "job",
            "am_memory_bytes": 1e9,
            "stages": [
                {
                    "name": "map",
                    "kind": "map",
                    "tasks": 4,
                    "memory_bytes": 1e9,
                    "input": READ,
                    "cpu": CPU,
                    "output": SHUFFLED,
                    "sort": SORT,
                },
                {
                    "name": "reduce",
                    "kind": "reduce",
                    "tasks": 2,
                    "memory_bytes": 1e9,
                    "input": FETCHED,
                    "cpu": CPU,
                    "output": WRITTEN,
                    "shuffle": SHUFFLE,
                    "after": ["map"],
                },
            ],
        }
    ],
}


def answers(documents: Sequence[object]) -> list[dict[str, Any]]:
    """Return the simulator's answer to each document."""
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    done = subprocess.run([str(simulator())], input=lines.encode(), capture_output=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def objects(document: Any, schema: dict[str, Any], at: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Yield the path of each object of the document with the name of its struct."""
    for choice in schema.get("anyOf", [schema]):
        if "$ref" in choice and isinstance(document, dict):
            name = choice["$ref"].rsplit("/", 1)[1]
            yield at, name
            for key, inner in STRUCTS[name]["properties"].items():
                if key in document:
                    yield from objects(document[key], inner, (*at, key))
        elif choice.get("type") == "array" and isinstance(document, list):
            for index, item in enumerate(document):
                yield from objects(item, choice.get("items", {}), (*at, index))


def value_at(document: Any, path: Sequence[Step]) -> Any:
    for step in path:
        document = document[step]
    return document


def changed(path: Sequence[Step], key: str, value: object) -> dict[str, Any]:
    """Return the complete document with another value of one field; None leaves the field out."""
    document = copy.deepcopy(COMPLETE)
    fields = value_at(document, path)
    fields[key] = value
    if value is None:
        del fields[key]
    return document


SCHEMA_TREE: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
STRUCTS: dict[str, dict[str, Any]] = SCHEMA_TREE["$defs"]
PATHS = list(objects(COMPLETE, SCHEMA_TREE))


def test_the_committed_schema_is_that_of_the_structs() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), (
        "write schema_text() to rust/simulate/scenario.schema.json"
    )


def test_the_reader_accepts_a_document_with_every_field_of_the_schema() -> None:
    present: dict[str, set[str]] = {name: set() for name in STRUCTS}
    for path, name in PATHS:
        present[name] |= set(value_at(COMPLETE, path))
    assert present == {name: set(struct["properties"]) for name, struct in STRUCTS.items()}
    (answer,) = answers([COMPLETE])
    assert answer.get("error") is None
    assert answer["duration_s"] > 0


def test_the_reader_refuses_an_unknown_field_of_each_object() -> None:
    for (path, name), answer in zip(PATHS, answers([changed(path, "bogus", 1) for path, _ in PATHS]), strict=True):
        assert "bogus" in answer.get("error", ""), (path, name)


def test_the_reader_reads_each_field_and_refuses_a_wrong_type() -> None:
    fields = [(path, key) for path, _ in PATHS for key in value_at(COMPLETE, path) if (path, key) != ((), "id")]
    wrong = [
        changed(path, key, False if isinstance(value_at(COMPLETE, path)[key], str) else "x") for path, key in fields
    ]
    for (path, key), answer in zip(fields, answers(wrong), strict=True):
        assert key in answer.get("error", ""), (path, key, answer)


def test_the_reader_takes_exactly_the_choices_of_the_schema() -> None:
    choices = [
        (path, key, choice)
        for path, name in PATHS
        for key, inner in STRUCTS[name]["properties"].items()
        if key not in ("to", "from", "kind")
        for choice in inner.get("enum", ())
    ]
    assert choices
    accepted = answers([changed(path, key, choice) for path, key, choice in choices])
    refused = answers([changed(path, key, "other") for path, key, _ in choices])
    for (path, key, choice), known, unknown in zip(choices, accepted, refused, strict=True):
        assert "error" not in known, (path, key, choice, known)
        assert f"not one of {', '.join(value_of(path, key))}" in unknown["error"], (path, key, unknown)


def value_of(path: Sequence[Step], key: str) -> list[str]:
    """Return the choices of a field in the schema, in the order of the reader's message."""
    name = dict(PATHS)[tuple(path)]
    struct = STRUCTS[name]["properties"][key]
    default = struct["default"]
    return [default, *(choice for choice in struct["enum"] if choice != default)]


@pytest.mark.parametrize("key", ["to", "from", "kind"])
def test_the_reader_knows_each_source_target_and_kind_of_the_schema(key: str) -> None:
    paths = [
        (path, name) for path, name in PATHS if key in STRUCTS[name]["properties"] and key in value_at(COMPLETE, path)
    ]
    for path, name in paths:
        (refused,) = answers([changed(path, key, "other")])
        named = refused["error"].partition("not one of ")[2].split(", ")
        assert set(STRUCTS[name]["properties"][key]["enum"]) <= set(named), refused


def test_an_optional_field_of_the_schema_may_be_missing() -> None:
    optional = [
        (path, key)
        for path, name in PATHS
        for key in value_at(COMPLETE, path)
        if key not in STRUCTS[name].get("required", ())
        and not (name == "StageInput" and key in _BY_SOURCE)
        and (path, key) != ((), "datasets")
    ]
    for (path, key), answer in zip(
        optional, answers([changed(path, key, None) for path, key in optional]), strict=True
    ):
        assert "error" not in answer, (path, key, answer)
