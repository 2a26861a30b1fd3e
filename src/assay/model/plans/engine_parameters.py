"""The engine parameters that assay interprets: meaning, title, and short names.

Runs of all sources carry these names, so the table is part of the model. Code outside the engines selects parameters by
meaning (:func:`parameters_with`) and contains no engine's parameter names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

CONTAINERS = "containers"
COMPRESSION = "compression"
PROFILE = "profile"
MAP_SLOTS = "mapreduce.tasktracker.map.tasks.maximum"
"""Concurrent map tasks per worker in Hadoop 1; later versions have containers."""
NODE_MEMORY = "yarn.nodemanager.resource.memory-mb"
EXECUTORS = "spark.executor.instances"
MAP_OUTPUT_COMPRESS = "mapreduce.map.output.compress"
MAP_OUTPUT_CODEC = "mapreduce.map.output.compress.codec"
SHUFFLE_COMPRESS, SHUFFLE_CODEC = "spark.shuffle.compress", "spark.io.compression.codec"
REPLICATION = "dfs.replication"
BLOCK_SIZE = "dfs.blocksize"
PROFILED = "mapreduce.assay.profile"
"""Kind of the recorded profile. assay reads it; Hadoop does not. Without a profile the parameter is absent."""
PROFILE_KINDS = ("cpu", "cpu+kernel", "wall", "alloc", "lock")
DAEMONS_TOO = "+daemons"
"""End of a value of ``profile`` that includes the DataNodes and NodeManagers."""
PROFILES = (*PROFILE_KINDS, *(f"{kind}{DAEMONS_TOO}" for kind in PROFILE_KINDS), "off")
"""The values of ``profile``."""


class Meaning(Enum):
    """The setting that an engine parameter controls."""

    TASKS_PER_WORKER = "tasks that a worker runs at once"
    EXECUTORS = "executors of a job"
    COMPRESSION_SWITCH = "whether map output is compressed"
    COMPRESSION_CODEC = "codec of map output"
    REPLICATION = "copies of each block"
    BLOCK_SIZE = "size of a block"
    BUFFER_SIZE = "size of a buffer"
    SORT_FACTOR = "streams that are merged at once"
    DIRECTORIES = "directories on the devices of a layout"


@dataclass(frozen=True, slots=True)
class EngineParameter:
    """One parameter of an engine."""

    name: str
    meaning: Meaning
    title: str = ""
    """Column title; empty: the parameter's name."""
    short_names: tuple[str, ...] = ()
    """Accepted short names, including ALOJA's."""
    counted_resource: str = ""
    """The counted resource, singular, such as ``map slot``; empty for parameters that are not counts."""


ENGINE_PARAMETERS = (
    EngineParameter(MAP_SLOTS, Meaning.TASKS_PER_WORKER, "Map slots per worker", ("maps",), "map slot"),
    EngineParameter(NODE_MEMORY, Meaning.TASKS_PER_WORKER),
    EngineParameter(EXECUTORS, Meaning.EXECUTORS, "Executors", counted_resource="executor"),
    EngineParameter("mapreduce.task.io.sort.factor", Meaning.SORT_FACTOR, "Sort factor", ("iosf",)),
    EngineParameter(REPLICATION, Meaning.REPLICATION, "HDFS copies", ("replication",)),
    EngineParameter("io.file.buffer.size", Meaning.BUFFER_SIZE, "I/O buffer", ("iofilebuf",)),
    EngineParameter(MAP_OUTPUT_COMPRESS, Meaning.COMPRESSION_SWITCH, "Map output compressed", ("comp",)),
    EngineParameter("mapred.compress.map.output", Meaning.COMPRESSION_SWITCH),
    EngineParameter(MAP_OUTPUT_CODEC, Meaning.COMPRESSION_CODEC, "Compression codec", ("codec",)),
    EngineParameter("mapred.map.output.compression.codec", Meaning.COMPRESSION_CODEC),
    EngineParameter(BLOCK_SIZE, Meaning.BLOCK_SIZE, "HDFS block size", ("blk_size",)),
    EngineParameter("dfs.datanode.data.dir", Meaning.DIRECTORIES),
    EngineParameter("dfs.namenode.name.dir", Meaning.DIRECTORIES),
    EngineParameter("yarn.nodemanager.local-dirs", Meaning.DIRECTORIES),
    EngineParameter("yarn.nodemanager.log-dirs", Meaning.DIRECTORIES),
    EngineParameter("hadoop.tmp.dir", Meaning.DIRECTORIES),
    EngineParameter("mapreduce.cluster.local.dir", Meaning.DIRECTORIES),
)
PARAMETER_TITLES: Mapping[str, str] = MappingProxyType(
    {item.name: item.title for item in ENGINE_PARAMETERS if item.title}
)
SHORT_PARAMETER_NAMES: Mapping[str, str] = MappingProxyType(
    {short: item.name for item in ENGINE_PARAMETERS for short in item.short_names}
)
HADOOP_TARGETS = {
    CONTAINERS: (NODE_MEMORY, "yarn.nodemanager.resource.cpu-vcores", "yarn.scheduler.capacity.resource-calculator"),
    COMPRESSION: (MAP_OUTPUT_COMPRESS, MAP_OUTPUT_CODEC),
    PROFILE: (PROFILED,),
}
SPARK_COMPRESSION = (SHUFFLE_COMPRESS, "spark.shuffle.spill.compress", SHUFFLE_CODEC)
TARGETS = {**HADOOP_TARGETS, COMPRESSION: (*HADOOP_TARGETS[COMPRESSION], *SPARK_COMPRESSION)}
"""Shorthand of a plan to the engine parameters that it sets. Runs of the plan record both."""


def parameters_with(*meanings: Meaning) -> tuple[str, ...]:
    """Return the names of the parameters with these meanings, in table order."""
    return tuple(item.name for item in ENGINE_PARAMETERS if item.meaning in meanings)


def counted_resources() -> dict[str, str]:
    """Return parameter name to counted resource, singular."""
    return {item.name: item.counted_resource for item in ENGINE_PARAMETERS if item.counted_resource}
