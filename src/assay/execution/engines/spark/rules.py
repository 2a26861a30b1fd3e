"""Check Spark's settings at plan time.

Spark runs on Hadoop's daemons, next to Hadoop's programs, so Hadoop's rules apply too. Pure. Memory is in MiB. The
memory that an executor requests is compared with the memory that a node gives to containers, as in YARN.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from assay.execution.engines.hadoop.rules import CODECS, HadoopRules
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.spark import settings
from assay.foundation.errors import SpecificationError
from assay.model import (
    COMPRESSION,
    CONTAINERS,
    SHUFFLE_COMPRESS,
    TARGETS,
    Cluster,
    Configuration,
    Default,
    Layout,
    Mistake,
    NodeType,
    Spread,
)
from assay.specs.fields import unknown

_CODECS: Final = {"none": None, "snappy": "snappy", "lz4": "lz4", "lzf": "lzf", "zstd": "zstd"}
CLUSTER_FILE_SETTINGS: Final = (settings.QUEUE, settings.TAGS, settings.STAGING, settings.DEPLOY_MODE, settings.EVENTS)
"""Settings that the cluster file states for an externally managed Spark, and that assay sets for each run on it."""
_BOOLEANS: Final = ("true", "false")
_COUNT_SETTINGS: Final = (
    settings.EXECUTORS,
    settings.MOST_EXECUTORS,
    settings.CORES,
    "spark.sql.shuffle.partitions",
    "spark.default.parallelism",
)
_COUNT_OR_ZERO_SETTINGS: Final = (settings.LEAST_EXECUTORS, settings.FIRST_EXECUTORS)
_SIZE_SETTINGS: Final = (
    settings.MEMORY,
    settings.OVERHEAD,
    settings.MASTER_MEMORY,
    settings.MASTER_OVERHEAD,
    settings.DRIVER_MEMORY,
)


@dataclass(frozen=True, slots=True)
class SparkRules:
    """The rules of Spark on YARN, or on its own master, over HDFS."""

    hadoop: HadoopRules
    name: str = "spark"
    includes: tuple[str, ...] = ("hadoop",)

    @property
    def defaults(self) -> tuple[Default, ...]:
        """Defaults that assay sets, for Hadoop and for Spark."""
        return (*self.hadoop.defaults, *settings.DEFAULTS)

    @property
    def shorthands(self) -> Mapping[str, tuple[str, ...]]:
        """Hadoop's shorthands; ``compression`` sets Spark's codec too."""
        return TARGETS

    @property
    def parallelism(self) -> tuple[str, ...]:
        """``containers`` and the number of executors."""
        return CONTAINERS, settings.EXECUTORS

    def parameters(self, settings_given: Mapping[str, str]) -> dict[str, str]:
        """Convert ``compression`` into Spark's switches and codec, and the other shorthands by Hadoop's rules."""
        remaining_settings = dict(settings_given)
        compression = remaining_settings.get(COMPRESSION)
        if compression is None:
            return self.hadoop.parameters(remaining_settings)
        if compression not in CODECS:
            del remaining_settings[COMPRESSION]
        codec = _CODECS.get(compression)
        switches = dict.fromkeys((SHUFFLE_COMPRESS, settings.SPILL_COMPRESS), "true" if codec else "false")
        return self.hadoop.parameters(remaining_settings) | switches | ({settings.CODEC: codec} if codec else {})

    def settings_of(self, recorded_settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Translate Hadoop's parameters; Spark's are written as recorded."""
        return self.hadoop.settings_of(recorded_settings)

    def with_required_settings(self, settings_given: Mapping[str, str], workers: int) -> dict[str, str]:
        """Add the number of copies that HDFS keeps."""
        return self.hadoop.with_required_settings(settings_given, workers)

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        """Check counts, sizes, switches, the codec and the master; Hadoop's rules check the others."""
        if name == COMPRESSION:
            return None if value in _CODECS else unknown("compression", value, _CODECS)
        if name == settings.MASTER and value not in (settings.YARN, settings.STANDALONE):
            return unknown("master", value, (settings.YARN, settings.STANDALONE))
        if name == settings.CODEC and value not in _CODECS:
            return unknown("codec", value, [codec for codec in _CODECS if codec != "none"])
        if name in _COUNT_SETTINGS and not (value.isdecimal() and 0 < int(value) < 10**6):
            return f"{value[:20]!r} is not a whole number above 0"
        if name in _COUNT_OR_ZERO_SETTINGS and not (value.isdecimal() and int(value) < 10**6):
            return f"{value[:20]!r} is not a whole number"
        if name in _SIZE_SETTINGS and settings.memory_mb(value) is None:
            return f"{value[:20]!r} is not a size: write it as Spark does, such as 640m or 2g"
        if name == settings.LOCALITY_WAIT:
            try:
                settings.locality_wait_s({settings.LOCALITY_WAIT: value})
            except SpecificationError as error:
                return error.message
            return None
        if name == settings.DYNAMIC and value not in _BOOLEANS:
            return f"{value[:20]!r} is not true or false"
        return None if name.startswith(settings.PREFIX) else self.hadoop.setting_mistake(name, value, cluster)

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, stated_names: Collection[str] = ()
    ) -> Iterator[Mistake]:
        """Yield Hadoop's mistakes, executors that never fit a node, and heaps that Spark refuses."""
        hadoop_names = [name for name in stated_names if not name.startswith(settings.PREFIX)]
        yield from self.hadoop.mistakes(settings.of_hadoop(parameters), cluster, workers, hadoop_names)
        if cluster.attached:
            yield from _fixed_by_attached_cluster(parameters, stated_names)
            return  # the cluster's administrator sets the defaults of executors
        heap_mb = settings.memory_mb(settings.setting_value(parameters, settings.MEMORY)) or 0
        if heap_mb < settings.HEAP_MIN_MB:
            yield Mistake((settings.MEMORY,), _heap_message(heap_mb))
        executor_mb = settings.container_mb(parameters, settings.MEMORY, settings.OVERHEAD)
        node_mb = containers.node_memory_mb(parameters)
        if executor_mb > node_mb:
            names = (settings.MEMORY, settings.OVERHEAD, containers.NODE_MEMORY)
            message = f"an executor of {executor_mb} MiB never fits on a node that gives {node_mb} MiB to containers"
            yield Mistake(names, message)
            return
        yield from _executor_count_mistakes(parameters, workers, executor_mb)
        yield from _exceeded_executor_limits(parameters, workers)

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        """Return Hadoop's warnings, and a warning for dynamic allocation, which has no shuffle service here."""
        texts = self.hadoop.warnings(parameters, cluster)
        if not settings.is_dynamic(parameters) or cluster.attached:
            return texts
        message = (
            "spark.dynamicAllocation.enabled: executors with shuffle files are not released, because no shuffle "
            "service runs"
        )
        return (*texts, message)

    def job_can_set(self, name: str) -> bool:
        """Return True for Spark's settings except its master, and for settings that a Hadoop job carries."""
        return name != settings.MASTER if name.startswith(settings.PREFIX) else self.hadoop.job_can_set(name)

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return Hadoop's key, extended if Spark's own daemons run."""
        key = self.hadoop.deployment_key(without_spark(configuration), cluster)
        return key if settings.on_yarn(configuration.parameters) else f"{key} {settings.STANDALONE}"

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return the name of the HDFS, which Hadoop's and Spark's runs share."""
        return self.hadoop.file_system(configuration, cluster)

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        """Return Hadoop's message, because storage is HDFS; None without a mistake."""
        return self.hadoop.layout_mistake(layout, node_type)

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        """Spread copies as HDFS does."""
        return self.hadoop.spread(layout, node_type, copies)

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:  # noqa: ARG002
        """Return the number of cores of all executors, for any kind of task."""
        return settings.executors(parameters, workers) * max(1, settings.count_value(parameters, settings.CORES))

    def containers_per_worker(self, parameters: Mapping[str, str]) -> int:
        """Return the number of Hadoop's containers that fit a worker."""
        return self.hadoop.containers_per_worker(parameters)

    def intermediate_bytes(self, one_pass_bytes: float, all_passes_bytes: float) -> float:
        """Return the bytes of all shuffle files, which exist until the application ends, plus one pass of data that was
        spilled after fetching or is cached on disks."""
        return all_passes_bytes + min(one_pass_bytes, all_passes_bytes)

    def copies(self, parameters: Mapping[str, str]) -> int:
        """Return HDFS's replication."""
        return self.hadoop.copies(parameters)


def without_spark(configuration: Configuration) -> Configuration:
    """Return the configuration without Spark's parameters, as Hadoop's daemons use it."""
    return replace(configuration, parameters=settings.of_hadoop(configuration.parameters))


def _fixed_by_attached_cluster(parameters: Mapping[str, str], stated_names: Collection[str]) -> Iterator[Mistake]:
    """Yield settings that no job can carry on an externally managed Spark."""
    if settings.MASTER in stated_names:
        message = (
            f"{settings.MASTER} is set by the cluster file (attached: spark), because the cluster is externally managed"
        )
        yield Mistake((settings.MASTER,), message)
    for name in CLUSTER_FILE_SETTINGS:
        if name in stated_names:
            yield Mistake((name,), f"{name} is set by the cluster file, which names your queue and folder")
    heap_mb = settings.memory_mb(parameters.get(settings.MEMORY, "")) if settings.MEMORY in parameters else None
    if heap_mb is not None and heap_mb < settings.HEAP_MIN_MB:
        yield Mistake((settings.MEMORY,), _heap_message(heap_mb))


def _heap_message(heap_mb: float) -> str:
    return f"an executor's heap of {heap_mb:g} MiB is less than the {settings.HEAP_MIN_MB:g} MiB that Spark needs"


def _executor_count_mistakes(parameters: Mapping[str, str], workers: int, requested_mb: int) -> Iterator[Mistake]:
    """Yield a mistake if not all executors fit next to the ApplicationMaster. The program would wait for the missing
    executors."""
    if not settings.on_yarn(parameters):
        return
    allocation_min_mb = settings.count_value({**containers.DEFAULTS, **parameters}, containers.ALLOCATION_MIN)
    node_mb = containers.node_memory_mb(parameters)

    def rounded(memory_mb: int) -> int:
        return -(-memory_mb // max(1, allocation_min_mb)) * max(1, allocation_min_mb)

    master_mb = rounded(settings.container_mb(parameters, settings.MASTER_MEMORY, settings.MASTER_OVERHEAD))
    executor_mb = rounded(requested_mb)
    fitting_executors = node_mb // executor_mb * (workers - 1) + max(0, node_mb - master_mb) // executor_mb
    executor_count = settings.executors(parameters, workers)
    if executor_count > fitting_executors:
        count_setting = settings.MOST_EXECUTORS if settings.is_dynamic(parameters) else settings.EXECUTORS
        names = (count_setting, settings.MEMORY, settings.OVERHEAD, containers.NODE_MEMORY)
        capacity_text = (
            f"in addition to the ApplicationMaster's {master_mb} MiB on {workers} workers that give {node_mb} MiB each"
        )
        yield Mistake(
            names,
            f"{executor_count} executors of {executor_mb} MiB are requested, but only {fitting_executors} fit "
            f"{capacity_text}",
        )


def _exceeded_executor_limits(parameters: Mapping[str, str], workers: int) -> Iterator[Mistake]:
    """Yield mistakes of dynamic allocation: a minimum or initial number of executors that exceeds the maximum."""
    if not settings.is_dynamic(parameters):
        return
    executors_max = settings.executors(parameters, workers)
    for name in (settings.LEAST_EXECUTORS, settings.FIRST_EXECUTORS, settings.EXECUTORS):
        if (executor_count := settings.count_value(parameters, name)) > executors_max:
            message = f"{executor_count} executors are requested, but at most {executors_max} are allowed"
            yield Mistake((name, settings.MOST_EXECUTORS), message)
