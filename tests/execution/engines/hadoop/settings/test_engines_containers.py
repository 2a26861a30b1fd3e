"""Test YARN's arithmetic: containers per node, waves, heaps and buffers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.engines.hadoop.settings.containers import (
    ALLOCATION_MIN,
    DOMINANT,
    JAVA_OPTIONS,
    MAP_MEMORY,
    MASTER_MEMORY,
    NODE_MEMORY,
    NODE_VCORES,
    REDUCE_MEMORY,
    SORT_BUFFER,
    allocation_mb,
    containers_per_node,
    heap_mb,
    mistakes,
    parameters_for,
    stated_heap_mb,
    tasks_of_a_wave,
)

memory = st.integers(1, 4096).map(str)
kinds = st.fixed_dictionaries(
    {MAP_MEMORY: memory, REDUCE_MEMORY: memory, MASTER_MEMORY: memory, ALLOCATION_MIN: memory}
)
LISA14 = {
    NODE_MEMORY: str(48 * 1024),
    NODE_VCORES: "16",
    MAP_MEMORY: "1024",
    REDUCE_MEMORY: "1024",
    ALLOCATION_MIN: "256",
    MASTER_MEMORY: "1536",
    "mapreduce.map.java.opts": "-Xmx1000m",
    SORT_BUFFER: "256",
}


def test_the_defaults_run_four_tasks_on_a_node_and_one_fewer_next_to_the_application_master() -> None:
    assert containers_per_node({}, MAP_MEMORY) == 4
    assert tasks_of_a_wave({}, REDUCE_MEMORY, 3) == 11
    assert heap_mb({}, MAP_MEMORY) == 256
    assert not list(mistakes({}, 1))


def test_memory_alone_counts_until_the_scheduler_counts_vcores() -> None:
    assert containers_per_node(LISA14, MAP_MEMORY) == 48
    counted = LISA14 | {"yarn.scheduler.capacity.resource-calculator": DOMINANT}
    assert containers_per_node(counted, MAP_MEMORY) == 16
    assert tasks_of_a_wave(counted, MAP_MEMORY, 2) == 31
    assert containers_per_node(counted | {"mapreduce.map.cpu.vcores": "3"}, MAP_MEMORY) == 5
    assert not list(mistakes(LISA14, 2))


def test_a_request_is_rounded_up_to_a_multiple_of_the_smallest() -> None:
    assert allocation_mb({MAP_MEMORY: "400", ALLOCATION_MIN: "128"}, MAP_MEMORY) == 512
    assert containers_per_node({MAP_MEMORY: "400", NODE_MEMORY: "1024"}, MAP_MEMORY) == 2


@given(kinds, st.integers(1, 64), st.integers(1, 20))
def test_the_requested_number_of_containers_is_set_whatever_their_size(
    given_kinds: dict[str, str], n: int, workers: int
) -> None:
    parameters = given_kinds | parameters_for(n, given_kinds)
    for kind in (MAP_MEMORY, REDUCE_MEMORY, MASTER_MEMORY):
        assert containers_per_node(parameters, kind) == n
    for kind in (MAP_MEMORY, REDUCE_MEMORY):
        assert tasks_of_a_wave(parameters, kind, workers) == n * workers - 1


@given(kinds, st.integers(1, 20000).map(str), st.integers(1, 20))
def test_a_configuration_without_mistakes_runs_at_least_one_task(
    given_kinds: dict[str, str], node: str, workers: int
) -> None:
    parameters = given_kinds | {NODE_MEMORY: node}
    if not list(mistakes(parameters, workers)):
        assert tasks_of_a_wave(parameters, MAP_MEMORY, workers) >= 1
        assert tasks_of_a_wave(parameters, REDUCE_MEMORY, workers) >= 1
        for kind in JAVA_OPTIONS:
            assert heap_mb(parameters, kind) <= allocation_mb(parameters, kind)


@pytest.mark.parametrize(
    ("parameters", "at", "words"),
    [
        (
            {SORT_BUFFER: "256"},
            SORT_BUFFER,
            "does not fit into a map's heap of 256 MiB, one array of which has at most 170",
        ),
        ({SORT_BUFFER: "4096", MAP_MEMORY: "9000", NODE_MEMORY: "20000"}, SORT_BUFFER, "at most 2047 MiB"),
        ({MAP_MEMORY: "2048"}, MAP_MEMORY, "a container of 2048 MiB never fits on a node that gives 1536 MiB"),
        ({MAP_MEMORY: "much"}, MAP_MEMORY, "'much' is not a whole number"),
        ({NODE_MEMORY: "384"}, NODE_VCORES, "no task fits in addition to the ApplicationMaster"),
        ({"mapreduce.map.java.opts": "-Xmx2g"}, "mapreduce.map.java.opts", "a heap of 2048 MiB is more than"),
    ],
)
def test_settings_that_fail_or_wait_for_ever_are_named(parameters: dict[str, str], at: str, words: str) -> None:
    (names, messages), *_ = mistakes(parameters, 1)
    assert names[0] == at
    assert words in messages


def test_a_stated_heap_is_the_last_one() -> None:
    assert stated_heap_mb("-Xmx1g -Dx=-Xmx7m -Xmx1000m") == 1000
    assert stated_heap_mb("-Xmx1g") == 1024
    assert stated_heap_mb("-Xms1g") is None
