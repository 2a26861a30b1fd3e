"""Compute by YARN's rules how many tasks a node runs at once and their heap, and find settings that can't work.

In: engine parameters as text, on top of :data:`DEFAULTS`. Out: counts of containers, and parameters. Memory is in MiB,
as in Hadoop's ``-mb`` parameters. The rules are the CapacityScheduler's: a request is rounded up to a multiple of the
smallest allocation; the memory of a node decides how many fit, and vcores count only with the
DominantResourceCalculator. On one node, the ApplicationMaster occupies a container as well.
"""

import math
import re
from collections.abc import Iterator, Mapping

NODE_MEMORY = "yarn.nodemanager.resource.memory-mb"
NODE_VCORES = "yarn.nodemanager.resource.cpu-vcores"
ALLOCATION_MIN = "yarn.scheduler.minimum-allocation-mb"
CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
MAP_MEMORY = "mapreduce.map.memory.mb"
REDUCE_MEMORY = "mapreduce.reduce.memory.mb"
MASTER_MEMORY = "yarn.app.mapreduce.am.resource.mb"
SORT_BUFFER = "mapreduce.task.io.sort.mb"
JAVA_OPTIONS = {
    MAP_MEMORY: "mapreduce.map.java.opts",
    REDUCE_MEMORY: "mapreduce.reduce.java.opts",
    MASTER_MEMORY: "yarn.app.mapreduce.am.command-opts",
}
"""A container's memory to the options of the JVM in it."""

DEFAULTS: dict[str, str] = {
    NODE_VCORES: "16",
    NODE_MEMORY: "1536",
    ALLOCATION_MIN: "128",
    MASTER_MEMORY: "384",
    MAP_MEMORY: "384",
    REDUCE_MEMORY: "384",
    SORT_BUFFER: "64",
}
"""Defaults, which fit a lab's nodes."""

HEAP_SHARE = (2, 3)
"""Share of a container's memory for its JVM's heap, as a fraction; the rest is for stacks, classes and buffers."""
OLD_GENERATION_SHARE = (2, 3)
"""Maximum share of a heap for the sort buffer, as a fraction. The buffer is one array, and must fit into the old
generation, which is two thirds of the heap (HotSpot's NewRatio 2)."""
SORT_BUFFER_MAX_MB = 2047
"""Maximum size of the sort buffer that MapTask accepts, in MiB."""
_UNITS_MB = {"": 2**-20, "k": 2**-10, "m": 1, "g": 2**10, "t": 2**20}


def _whole_number(parameters: Mapping[str, str], name: str) -> int:
    text = parameters.get(name, DEFAULTS.get(name, "1"))
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text.strip()) else 0


def node_memory_mb(parameters: Mapping[str, str]) -> int:
    """Return a node's memory for containers; 0 if the parameter is not a number."""
    return _whole_number(parameters, NODE_MEMORY)


def allocation_mb(parameters: Mapping[str, str], memory_name: str) -> int:
    """Return the memory of a container that requests parameter ``memory_name``: whole smallest allocations."""
    allocation_min_mb = max(1, _whole_number(parameters, ALLOCATION_MIN))
    return max(1, math.ceil(_whole_number(parameters, memory_name) / allocation_min_mb)) * allocation_min_mb


def containers_per_node(parameters: Mapping[str, str], memory_name: str) -> int:
    """Return the maximum number of concurrent containers that request parameter ``memory_name`` on an empty node."""
    fitting_by_memory = _whole_number(parameters, NODE_MEMORY) // allocation_mb(parameters, memory_name)
    return min(fitting_by_memory, _vcores(parameters, memory_name)) if _counts_vcores(parameters) else fitting_by_memory


def _counts_vcores(parameters: Mapping[str, str]) -> bool:
    return parameters.get(CALCULATOR) == DOMINANT


def _vcores(parameters: Mapping[str, str], memory_name: str) -> int:
    return _whole_number(parameters, NODE_VCORES) // max(1, _whole_number(parameters, _vcores_of(memory_name)))


def _vcores_of(memory_name: str) -> str:
    return memory_name.replace(".memory.mb", ".cpu.vcores").replace(".resource.mb", ".resource.cpu-vcores")


def tasks_of_a_wave(parameters: Mapping[str, str], memory_name: str, workers: int) -> int:
    """Return the maximum number of concurrent tasks of a kind on ``workers`` nodes, next to the ApplicationMaster."""
    tasks_per_free_node = containers_per_node(parameters, memory_name)
    remaining_mb = _whole_number(parameters, NODE_MEMORY) - allocation_mb(parameters, MASTER_MEMORY)
    tasks_next_to_master = max(0, remaining_mb) // allocation_mb(parameters, memory_name)
    if _counts_vcores(parameters):
        remaining_vcores = _whole_number(parameters, NODE_VCORES) - max(
            1, _whole_number(parameters, _vcores_of(MASTER_MEMORY))
        )
        tasks_next_to_master = min(
            tasks_next_to_master, max(0, remaining_vcores) // max(1, _whole_number(parameters, _vcores_of(memory_name)))
        )
    return tasks_per_free_node * (workers - 1) + tasks_next_to_master


def parameters_for(containers: int, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters with which every node runs exactly ``containers`` concurrent containers.

    The node's memory fits that number of the largest containers. The scheduler also counts vcores, which limits the
    number of smaller containers too.
    """
    largest_mb = max(
        allocation_mb(parameters, memory_name) for memory_name in (MAP_MEMORY, REDUCE_MEMORY, MASTER_MEMORY)
    )
    return {NODE_MEMORY: str(containers * largest_mb), NODE_VCORES: str(containers), CALCULATOR: DOMINANT}


def heap_mb(parameters: Mapping[str, str], memory_name: str) -> int:
    """Return the heap of a JVM in a container of parameter ``memory_name``, if the JVM's options do not state it."""
    return _whole_number(parameters, memory_name) * HEAP_SHARE[0] // HEAP_SHARE[1]


def stated_heap_mb(options: str) -> float | None:
    """Return the heap that Java options state (the last ``-Xmx``); None if they state no heap."""
    sizes = re.findall(r"(?:^|\s)-Xmx(\d{1,18})([kKmMgGtT]?)(?=\s|$)", options)
    return int(sizes[-1][0]) * _UNITS_MB[sizes[-1][1].lower()] if sizes else None


def mistakes(parameters: Mapping[str, str], workers: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the reasons why ``parameters`` would fail or never start, with the parameters at fault, the likeliest
    first.
    """
    for name in DEFAULTS:
        if name in parameters and _whole_number(parameters, name) < 1:
            yield (name,), f"{parameters[name][:20]!r} is not a whole number above 0"
            return
    node_mb = _whole_number(parameters, NODE_MEMORY)
    for memory_name in (MAP_MEMORY, REDUCE_MEMORY, MASTER_MEMORY):
        container_mb = allocation_mb(parameters, memory_name)
        if container_mb > node_mb:
            yield (
                (memory_name, NODE_MEMORY),
                f"a container of {container_mb} MiB never fits on a node that gives {node_mb} MiB",
            )
            return
        stated_mb = stated_heap_mb(parameters.get(JAVA_OPTIONS[memory_name], ""))
        if stated_mb is not None and stated_mb > container_mb:
            yield (
                (JAVA_OPTIONS[memory_name], memory_name),
                f"a heap of {stated_mb:g} MiB is more than its container's {container_mb} MiB",
            )
    for memory_name in (MAP_MEMORY, REDUCE_MEMORY):
        if tasks_of_a_wave(parameters, memory_name, workers) < 1:
            yield (
                (NODE_VCORES, NODE_MEMORY, memory_name),
                (
                    f"no task fits in addition to the ApplicationMaster, which is also a container: the cluster runs "
                    f"{containers_per_node(parameters, memory_name) * workers} at once"
                ),
            )
            return
    yield from _sort_buffer_mistakes(parameters)


def _sort_buffer_mistakes(parameters: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    buffer_mb = _whole_number(parameters, SORT_BUFFER)
    stated_mb = stated_heap_mb(parameters.get(JAVA_OPTIONS[MAP_MEMORY], ""))
    map_heap_mb = heap_mb(parameters, MAP_MEMORY) if stated_mb is None else stated_mb
    buffer_max_mb = int(map_heap_mb * OLD_GENERATION_SHARE[0] / OLD_GENERATION_SHARE[1])
    names = (SORT_BUFFER, JAVA_OPTIONS[MAP_MEMORY], MAP_MEMORY)
    if buffer_mb > SORT_BUFFER_MAX_MB:
        yield names, f"a sort buffer has at most {SORT_BUFFER_MAX_MB} MiB"
    elif buffer_mb > buffer_max_mb:
        yield (
            names,
            (
                f"a sort buffer of {buffer_mb} MiB does not fit into a map's heap of {map_heap_mb:g} MiB, one array of "
                f"which has at most {buffer_max_mb}; reduce it, or raise {MAP_MEMORY}"
            ),
        )
