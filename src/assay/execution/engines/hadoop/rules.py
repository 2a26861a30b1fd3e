"""Hadoop's rules at plan time: shorthands and parameters, mistakes, per-job parameters, deployments and file systems.

Pure. In: parameters as text. Out: text and counts. Containers are computed as in YARN, replication and block size as in
HDFS.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.configuration import (
    daemon_state,
    file_system,
    is_job_parameter,
    name_mistake,
)
from assay.execution.engines.hadoop.settings.defaults import DEFAULTS
from assay.execution.engines.hadoop.settings.storage_types import policy_mistake, spread
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes
from assay.model import (
    BLOCK_SIZE,
    COMPRESSION,
    CONTAINERS,
    DAEMONS_TOO,
    HADOOP_TARGETS,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    MAP_SLOTS,
    NODE_MEMORY,
    PROFILE,
    PROFILED,
    PROFILES,
    REPLICATION,
    Cluster,
    Configuration,
    Default,
    Layout,
    Mistake,
    Network,
    NodeType,
    Placement,
    Spread,
)
from assay.model.plans.engine_values import block_size_bytes
from assay.specs.fields import COUNT, unknown

REPLICATION_DEFAULT = 3
"""Hadoop's default number of copies (hdfs-default.xml); a cluster with fewer workers gets one copy per worker."""
BLOCK_BYTES_MIN = 2**20
"""Minimum block size that the NameNode accepts, in bytes (dfs.namenode.fs-limits.min-block-size)."""
_CODEC = "org.apache.hadoop.io.compress"
CODECS: Final[Mapping[str, str | None]] = {
    "none": None,
    "snappy": f"{_CODEC}.SnappyCodec",
    "gzip": f"{_CODEC}.GzipCodec",
    "bzip2": f"{_CODEC}.BZip2Codec",
}
"""Codecs that work without native libraries: Hadoop's Java code, and snappy-java, which Hadoop includes."""
_CODEC_CLASSES: Final = ("DefaultCodec", "SnappyCodec", "GzipCodec", "BZip2Codec")
_MEMORY: Final = {"map": containers.MAP_MEMORY, "reduce": containers.REDUCE_MEMORY}


@dataclass(frozen=True, slots=True)
class HadoopRules:
    """The rules of MapReduce on YARN over HDFS."""

    name: str = "hadoop"
    includes: tuple[str, ...] = ()

    @property
    def defaults(self) -> tuple[Default, ...]:
        """Parameters that assay sets if a plan does not."""
        return DEFAULTS

    @property
    def shorthands(self) -> Mapping[str, tuple[str, ...]]:
        """``containers``, ``compression`` and ``profile``."""
        return HADOOP_TARGETS

    @property
    def parallelism(self) -> tuple[str, ...]:
        """``containers``, Hadoop 1's map slots, and YARN's memory for containers."""
        return CONTAINERS, MAP_SLOTS, NODE_MEMORY

    def parameters(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Convert ``compression`` into the switch and codec of map output, ``containers`` into a node's size, and
        ``profile`` into the parameter that assay reads; ``off`` sets none. Raises SpecificationError for an unknown
        codec."""
        engine_parameters = {name: value for name, value in settings.items() if name not in HADOOP_TARGETS}
        if COMPRESSION in settings:
            if mistake := _compression_mistake(settings[COMPRESSION]):
                raise SpecificationError(mistake)
            codec = CODECS[settings[COMPRESSION]]
            engine_parameters |= {MAP_OUTPUT_COMPRESS: "true" if codec else "false"} | (
                {MAP_OUTPUT_CODEC: codec} if codec else {}
            )
        if CONTAINERS in settings:
            engine_parameters |= containers.parameters_for(int(settings[CONTAINERS]), engine_parameters)
        if settings.get(PROFILE, "off") != "off":
            engine_parameters[PROFILED] = settings[PROFILE]
        return engine_parameters

    def settings_of(self, recorded_settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Translate Hadoop 1's map slots into containers, and name the codec of map output with its package."""
        settings, notices = dict(recorded_settings), []
        if MAP_OUTPUT_COMPRESS in settings or MAP_OUTPUT_CODEC in settings:
            codec = settings.get(MAP_OUTPUT_CODEC, "").rpartition(".")[2] or _CODEC_CLASSES[0]
            if codec not in _CODEC_CLASSES:
                raise SpecificationError(f"stock Hadoop has no codec {codec}")
            is_compressed = settings.get(MAP_OUTPUT_COMPRESS, "true").casefold() in ("true", "1")
            settings |= {
                MAP_OUTPUT_COMPRESS: "true" if is_compressed else "false",
                MAP_OUTPUT_CODEC: f"{_CODEC}.{codec}",
            }
        if MAP_SLOTS in settings:
            settings[CONTAINERS] = settings.pop(MAP_SLOTS)
            notices.append("map slots per worker became containers per worker")
        return settings, tuple(notices)

    def with_required_settings(self, settings: Mapping[str, str], workers: int) -> dict[str, str]:
        """Add the number of copies: Hadoop's default, or the number of workers if that is smaller."""
        return {REPLICATION: str(min(REPLICATION_DEFAULT, workers)), **settings}

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        """Check copies, block size, containers, codecs, and the names of other parameters, but not their values."""
        if name == REPLICATION:
            return _replication_mistake(value, len(cluster.workers))
        if name == BLOCK_SIZE:
            return _block_mistake(value)
        if name == CONTAINERS:
            return _count_mistake(value)
        if name in (PROFILE, PROFILED):
            return _profile_mistake(name, value, cluster)
        if name == COMPRESSION:
            return _compression_mistake(value)
        # A simulation needs no configuration files, and may repeat a run of Hadoop 1 with its names.
        return name_mistake(name) if "." in name and not cluster.simulated else None

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, stated_names: Collection[str] = ()
    ) -> Iterator[Mistake]:
        """Yield mistakes: more copies than workers, more memory than a node has, containers or sort buffers that
        never fit."""
        yield from _fixed_by_attached_cluster(cluster, stated_names, self)
        copies = parameters.get(REPLICATION, "1")
        if int(copies) > workers:
            message = f"{REPLICATION}: {copies} copies need {copies} workers, but {workers} are used"
            yield Mistake((REPLICATION,), message)
        if cluster.attached:
            return  # the cluster's operator has set the containers' memory if the plan does not
        yield from _memory_mistakes(parameters, cluster, stated_names)
        for names, message in containers.mistakes(parameters, workers):
            yield Mistake(names, message)

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        """Warn if real hosts would run with the few small containers that suit a lab's nodes."""
        if containers.NODE_MEMORY in parameters or cluster.placement is not Placement.SSH or cluster.attached:
            return ()
        yarn_bytes, worker_bytes = containers.node_memory_mb({}) * 2**20, cluster.workers[0].type.memory_bytes
        return (
            f"the plan does not set the containers per worker: YARN gets {format_bytes(yarn_bytes)} of its "
            f"{format_bytes(worker_bytes)}; set containers, {containers.MAP_MEMORY} and {containers.REDUCE_MEMORY}",
        )

    def job_can_set(self, name: str) -> bool:
        """Return whether ``name`` is a parameter of MapReduce jobs or of HDFS clients."""
        return is_job_parameter(name)

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return layout, daemon parameters, workers in use, and a network with addresses."""
        return daemon_state(
            configuration.layout,
            configuration.parameters,
            _workers_if_not_all(configuration, cluster),
            _network(configuration, cluster),
        )

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return the name of the HDFS: by layout, policy, and number of workers if not all."""
        return file_system(configuration.layout, _workers_if_not_all(configuration, cluster))

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        """Check the layout's storage policy against the kinds of its devices."""
        return policy_mistake(layout, node_type)

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        """Spread copies as HDFS does, by the layout's policy."""
        return spread(layout, node_type, copies)

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:
        """Return the number of containers on all workers, without the ApplicationMaster's."""
        return containers.tasks_of_a_wave(parameters, _MEMORY[kind], workers)

    def containers_per_worker(self, parameters: Mapping[str, str]) -> int:
        """Return the number of map containers that fit a worker."""
        return containers.containers_per_node(parameters, containers.MAP_MEMORY)

    def intermediate_bytes(self, one_pass_bytes: float, all_passes_bytes: float) -> float:  # noqa: ARG002
        """Return a job's map output, which stays until the job ends, plus the data that reduces have fetched."""
        return 2 * one_pass_bytes

    def copies(self, parameters: Mapping[str, str]) -> int:
        """Return HDFS's replication."""
        return int(parameters[REPLICATION])


def _fixed_by_attached_cluster(
    cluster: Cluster, stated_names: Collection[str], rules: HadoopRules
) -> Iterator[Mistake]:
    """Yield the plan's settings that no job can carry, if the daemons are externally managed."""
    for name in stated_names if cluster.attached else ():
        targets = rules.shorthands.get(name, (name,))
        if name in rules.shorthands and name != CONTAINERS:
            continue
        if not all(map(is_job_parameter, targets)) and ("." in name or name == CONTAINERS):
            message = f"{name} configures daemons, which are externally managed: a job can't set it"
            yield Mistake((name,), message)


def _workers_if_not_all(configuration: Configuration, cluster: Cluster) -> int | None:
    return configuration.workers if configuration.workers != len(cluster.workers) else None


def _network(configuration: Configuration, cluster: Cluster) -> Network | None:
    return cluster.networks.get(configuration.network) if configuration.network else None


def _replication_mistake(text: str, workers: int) -> str | None:
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        return f"{text[:20]!r} is not a number of copies: write 1, 2, 3, …"
    if int(text) > workers:
        return f"{text} copies need {text} workers, but the cluster has {workers}"
    return None


def _block_mistake(text: str) -> str | None:
    try:
        block_bytes = block_size_bytes(text)
    except ValueError as error:
        return str(error)
    if block_bytes < BLOCK_BYTES_MIN or block_bytes % 512:
        return f"{text} is not a block size: HDFS accepts multiples of 512 bytes, at least 1 MiB"
    return None


def _profile_mistake(name: str, value: str, cluster: Cluster) -> str | None:
    if value not in PROFILES:
        return unknown(name, value, PROFILES)
    if cluster.attached and value.endswith(DAEMONS_TOO):
        kind = value.removesuffix(DAEMONS_TOO)
        return f"{name}: the daemons of an attached cluster are externally managed; write {kind}"
    if cluster.attached and cluster.attached.only_edge and value != "off":
        return f"{name}: a profile needs a login on every worker, and this cluster file names the edge node only"
    return None


def _compression_mistake(text: str) -> str | None:
    if text in CODECS:
        return None
    return (
        f"{unknown('compression', text, CODECS)} (lz4 and zstd need libraries that Hadoop lacks: "
        f"where the hosts have them, set {MAP_OUTPUT_COMPRESS} and {MAP_OUTPUT_CODEC})"
    )


def _count_mistake(text: str) -> str | None:
    try:
        COUNT.parse(text)
    except ValueError as error:
        return str(error)
    return None


def _memory_mistakes(
    parameters: Mapping[str, str], cluster: Cluster, stated_names: Collection[str]
) -> Iterator[Mistake]:
    """Yield a mistake if a node's containers get more memory than the node has.

    assay's defaults suit a lab's nodes, so they are compared only with the nodes of other clusters.
    """
    if cluster.lab is not None and containers.NODE_MEMORY not in parameters:
        return
    floor_bytes = cluster.lab.memory_floor_bytes if cluster.lab else 0
    node_bytes = min(max(floor_bytes, int(node.type.memory_bytes * cluster.scale)) for node in cluster.workers)
    container_bytes = containers.node_memory_mb(parameters) * 2**20
    if container_bytes <= node_bytes:
        return
    if CONTAINERS in stated_names:
        request_text = f"containers: {format_bytes(container_bytes)} are requested"
        remedy = f"set fewer containers, or lower {containers.MAP_MEMORY} and {containers.REDUCE_MEMORY}"
    else:
        request_text = f"{containers.NODE_MEMORY}: containers get {format_bytes(container_bytes)}"
        remedy = "set a lower value, or 'containers: N', which sets it"
    message = f"{request_text}, a worker has {format_bytes(node_bytes)}; {remedy}, or in a lab raise memory_floor"
    yield Mistake((containers.NODE_MEMORY,), message)
