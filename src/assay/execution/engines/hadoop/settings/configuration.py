"""Render Hadoop's configuration files for a layout. Pure.

In: the cluster, the layout, the plan's engine parameters, the folders of a deployment. Out: the text of every file on
every node. assay's defaults are in :mod:`assay.execution.engines.hadoop.settings.defaults`. The plan's parameters
override them, but not addresses and directories, which follow from the cluster and the layout.
"""

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.defaults import BY_DEFAULT
from assay.execution.engines.hadoop.settings.storage_types import storage_type
from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_bytes
from assay.model import Cluster, Directories, Layout, Network, Node, Placement, Role, StoragePolicy

MEMORY_MOUNT = "/dev/shm"  # noqa: S108 - the tmpfs that Linux has; assay creates a folder in it
# A lab's nodes share one small machine: small heaps, the serial collector, only the C1 compiler, and no bytecode
# verification, which takes a fifth of a JVM's start-up time. On real hosts, JVMs have Java's defaults.
SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
_SMALL_DAEMON = f"-Xmx256m {SMALL_JVM}"

# Parameters that a job carries. All others belong to daemons, which must restart for a new value.
JOB_PREFIXES = ("mapreduce.", "yarn.app.mapreduce.", "dfs.blocksize", "dfs.replication", "dfs.client.", "io.")
_DAEMON_PREFIXES = ("mapreduce.jobhistory.", "mapreduce.shuffle.")
_SIZES = ("dfs.blocksize",)
_FILES = {
    "core-site.xml": ("fs.", "hadoop.", "ipc.", "io."),
    "hdfs-site.xml": ("dfs.",),
    "capacity-scheduler.xml": ("yarn.scheduler.capacity.",),
    "mapred-site.xml": ("mapreduce.", "yarn.app.mapreduce."),
    "yarn-site.xml": ("yarn.",),
}
_LOG4J = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports that assay connects to, or that must differ on a host; the others are Hadoop's defaults."""

    namenode_rpc: int = 8020
    namenode_http: int = 9870
    datanode_transfer: int = 9866
    datanode_http: int = 9864
    datanode_ipc: int = 9867
    resourcemanager_rpc: int = 8032
    resourcemanager_scheduler: int = 8030
    resourcemanager_tracker: int = 8031
    resourcemanager_admin: int = 8033
    resourcemanager_http: int = 8088
    nodemanager_http: int = 8042
    nodemanager_localizer: int = 8040
    nodemanager_address: int = 0
    shuffle: int = 13562
    history_rpc: int = 10020
    history_http: int = 19888
    history_admin: int = 10033


@dataclass(frozen=True, slots=True)
class Deployment:
    """The daemons with one layout and one set of parameters on a cluster. ``marker`` is in every command."""

    cluster: Cluster
    layout: Layout
    parameters: Mapping[str, str]
    classpath: str
    java: str
    java_options: str
    """Options that every JVM needs on this Java version."""
    marker: str
    ports: Ports
    hosts: Mapping[str, str]
    """Node name to the host name or address by which other nodes reach it."""
    home: str
    """Parent folder of the deployments on each host."""
    workers: int | None = None
    """Number of workers in use; None: all."""
    one_network: bool = False
    """Whether the daemons listen only on the address in ``hosts``, because the hosts have several networks."""
    memory_bytes: int = 0
    """Maximum memory for a DataNode's blocks, for the policy LAZY_PERSIST."""

    @property
    def daemon_java_options(self) -> str:
        """Options of the daemons' JVMs for a small machine; empty on real hosts, which have Java's defaults."""
        return "" if self.cluster.placement is Placement.SSH else _SMALL_DAEMON

    @property
    def task_java_options(self) -> str:
        """Options of the tasks' JVMs for a small machine, without the heap; empty on real hosts."""
        return "" if self.cluster.placement is Placement.SSH else SMALL_JVM

    @property
    def name(self) -> str:
        """The name of its file system, which is part of its folders' names."""
        return file_system(self.layout, self.workers)

    @property
    def directory(self) -> str:
        """The folder of this deployment on each host: configuration, logs, pid files."""
        return f"{self.home}/{self.name}"

    @property
    def scratch(self) -> str:
        """The folder for temporary files of daemons, clients and Hadoop's local runner; not in /tmp, which all users
        of a host share.
        """
        return f"{self.cluster.home}/scratch"

    @property
    def java_scratch(self) -> str:
        """The folder for temporary files of Java libraries such as Jetty; it is emptied before daemons start."""
        return f"{self.scratch}/java"

    @property
    def image_directory(self) -> str:
        """The NameNode's metadata directory on the master; it is valid only with the blocks on the DataNodes."""
        return f"{self.directory}/namenode"

    def hdfs_directories(self, node: Node) -> list[str]:
        """Return the DataNode's directories on ``node`` for this layout."""
        return _paths(node, self.layout.hdfs, self.name, "hdfs")

    def intermediate_directories(self, node: Node) -> list[str]:
        """Return the NodeManager's local directories on ``node`` for this layout."""
        return _paths(node, self.layout.intermediate, self.name, "local")

    def memory_directories(self, node: Node) -> list[str]:
        """Return the DataNode's directory in memory, if the policy needs one."""
        needs_memory = self.layout.policy is StoragePolicy.LAZY_PERSIST and Role.WORKER in node.roles
        return [f"{MEMORY_MOUNT}/assay-{self.marker}/{self.name}/{node.name}"] if needs_memory else []

    def data_directories(self, node: Node) -> str:
        """Return ``dfs.datanode.data.dir``: with storage types if HDFS places blocks by them."""
        paths = self.hdfs_directories(node)
        if self.layout.policy is None or not paths:
            return ",".join(paths)
        storage_types = {device.name: storage_type(device.kind) for device in node.type.devices}
        types = [storage_types[part.device] for part in self.layout.hdfs for _ in range(part.count)]
        typed_paths = [f"[{type_}]{path}" for type_, path in zip(types, paths, strict=True)]
        return ",".join([*typed_paths, *(f"[RAM_DISK]{path}" for path in self.memory_directories(node))])

    def host(self, node: Node) -> str:
        """Return the name by which the other nodes reach ``node``."""
        return self.hosts[node.name]


def file_system(layout: Layout, workers: int | None) -> str:
    """Return the name of a layout's HDFS on ``workers`` workers (None: all).

    Each name has its own blocks. The name consists of the layout, its policy, and the number of workers if not all
    are used.
    """
    policy = f".{layout.policy}" if layout.policy else ""
    return f"{layout.name}{policy}{f'.{workers}' if workers else ''}"


def _paths(node: Node, parts: tuple[Directories, ...], file_system_name: str, folder_name: str) -> list[str]:
    if Role.WORKER not in node.roles:
        return []
    directory_of = {device.name: device.directory for device in node.type.devices}
    return [
        f"{directory_of[part.device]}/assay/{file_system_name}/{folder_name}{'' if part.count == 1 else index}"
        for part in parts
        for index in range(1, part.count + 1)
    ]


def is_job_parameter(name: str) -> bool:
    """Return whether a job can set ``name``. Daemons must restart for a new value of any other parameter."""
    return name.startswith(JOB_PREFIXES) and not name.startswith(_DAEMON_PREFIXES)


def name_mistake(name: str) -> str | None:
    """Return a message if no configuration file of Hadoop has a parameter with this name; None for a valid name."""
    prefixes = [prefix for file_prefixes in _FILES.values() for prefix in file_prefixes]
    if name.startswith(tuple(prefixes)):
        return None
    return f"no configuration file of Hadoop has this parameter: its parameters start with {', '.join(prefixes)}"


def daemon_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the daemons' parameters, sorted."""
    return {name: value for name, value in sorted(parameters.items()) if not is_job_parameter(name)}


def daemon_state(
    layout: Layout, parameters: Mapping[str, str], workers: int | None = None, network: Network | None = None
) -> str:
    """Return the state of the daemons as text; configurations with the same text need no restart between them.

    ``workers``: number of workers in use, if not all. A network counts if its addresses differ.
    """
    addresses = sorted(network.addresses.items()) if network else []
    return json.dumps([layout.name, repr(layout), daemon_parameters(parameters), workers, addresses])


def normalised(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return ``parameters`` with sizes written as Hadoop reads them (``64MiB`` becomes bytes)."""
    try:
        return {
            name: str(parse_bytes(value)) if name in _SIZES and value.strip().endswith("B") else value
            for name, value in parameters.items()
        }
    except ValueError as error:
        raise SpecificationError(f"engine parameter: {error}") from error


def properties(deployment: Deployment, node: Node) -> dict[str, str]:
    """Return all properties of ``node``: defaults, then the plan's, then those that the cluster fixes."""
    return {**BY_DEFAULT, **job_options(deployment, deployment.parameters), **_cluster_properties(deployment, node)}


def job_options(deployment: Deployment, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return ``parameters`` as Hadoop reads them, with the options of the tasks' JVMs.

    These options contain the deployment's marker, by which left-over JVMs are ended, and a heap derived from the
    container's memory unless the plan states a heap.
    """
    all_parameters = {**deployment.parameters, **parameters}
    stated_options = {option: all_parameters.get(option) for option in containers.JAVA_OPTIONS.values()}
    heaps_mb = {
        option: containers.heap_mb(all_parameters, memory) for memory, option in containers.JAVA_OPTIONS.items()
    }
    jvm_options = {
        option: _jvm_options(deployment, text or f"-Xmx{heaps_mb[option]}m {deployment.task_java_options}".strip())
        for option, text in stated_options.items()
    }
    return {**normalised(parameters), **jvm_options}


def _jvm_options(deployment: Deployment, options: str) -> str:
    marker = f"-Dassay.deployment={deployment.marker}"
    return " ".join(part for part in (options, deployment.java_options, marker) if part)


def _cluster_properties(deployment: Deployment, node: Node) -> dict[str, str]:
    master, host, ports = deployment.host(deployment.cluster.master), deployment.host(node), deployment.ports
    all_addresses = "0.0.0.0"  # noqa: S104 - a cluster's daemons listen to their cluster
    bind = host if deployment.cluster.placement is Placement.LOCAL or deployment.one_network else all_addresses
    addresses = {
        "fs.defaultFS": f"hdfs://{master}:{ports.namenode_rpc}",
        "hadoop.tmp.dir": deployment.scratch,
        # For the local runner. Its default, /tmp/hadoop, belongs to the first user who runs a job.
        "mapreduce.jobtracker.staging.root.dir": f"{deployment.scratch}/staging",
        "yarn.node-attribute.fs-store.root-dir": f"file://{deployment.scratch}/node-attributes",
        "yarn.node-labels.fs-store.root-dir": f"file://{deployment.scratch}/node-labels",
        "dfs.namenode.name.dir": f"file://{deployment.image_directory}",
        "dfs.namenode.rpc-bind-host": bind,
        "dfs.namenode.http-address": f"{master}:{ports.namenode_http}",
        "dfs.namenode.http-bind-host": bind,
        "dfs.namenode.safemode.min.datanodes": str(len(deployment.cluster.workers)),
        "dfs.datanode.hostname": host,
        "dfs.datanode.address": f"{bind}:{ports.datanode_transfer}",
        "dfs.datanode.http.address": f"{bind}:{ports.datanode_http}",
        "dfs.datanode.ipc.address": f"{bind}:{ports.datanode_ipc}",
        "yarn.resourcemanager.hostname": master,
        "yarn.resourcemanager.bind-host": bind,
        "yarn.resourcemanager.address": f"{master}:{ports.resourcemanager_rpc}",
        "yarn.resourcemanager.scheduler.address": f"{master}:{ports.resourcemanager_scheduler}",
        "yarn.resourcemanager.resource-tracker.address": f"{master}:{ports.resourcemanager_tracker}",
        "yarn.resourcemanager.admin.address": f"{master}:{ports.resourcemanager_admin}",
        "yarn.resourcemanager.webapp.address": f"{master}:{ports.resourcemanager_http}",
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.bind-host": bind,
        "yarn.nodemanager.address": f"{host}:{ports.nodemanager_address}",
        "yarn.nodemanager.webapp.address": f"{host}:{ports.nodemanager_http}",
        "yarn.nodemanager.localizer.address": f"{host}:{ports.nodemanager_localizer}",
        "yarn.nodemanager.log-dirs": f"{deployment.cluster.home}/containers",
        "yarn.application.classpath": deployment.classpath,
        "mapreduce.application.classpath": deployment.classpath,
        "mapreduce.shuffle.port": str(ports.shuffle),
        "mapreduce.jobhistory.bind-host": bind,
        "mapreduce.jobhistory.address": f"{master}:{ports.history_rpc}",
        "mapreduce.jobhistory.webapp.address": f"{master}:{ports.history_http}",
        "mapreduce.jobhistory.admin.address": f"{master}:{ports.history_admin}",
    }
    directories = {
        "dfs.datanode.data.dir": deployment.data_directories(node),
        "yarn.nodemanager.local-dirs": ",".join(deployment.intermediate_directories(node)),
    }
    memory = {"dfs.datanode.max.locked.memory": str(deployment.memory_bytes)} if deployment.memory_bytes else {}
    return addresses | memory | {name: value for name, value in directories.items() if value}


def render(deployment: Deployment, node: Node) -> dict[str, str]:
    """Return the text of each file in ``node``'s configuration directory, by file name."""
    remaining_properties = dict(sorted(properties(deployment, node).items()))
    files: dict[str, str] = {}
    for name, prefixes in _FILES.items():  # in this order: a scheduler property is not for yarn-site.xml
        file_properties = {
            key: remaining_properties.pop(key) for key in list(remaining_properties) if key.startswith(prefixes)
        }
        files[name] = _xml(file_properties)
    if remaining_properties:
        raise SpecificationError("; ".join(f"{name}: {name_mistake(name)}" for name in remaining_properties))
    return {**files, "log4j.properties": _LOG4J}


def _xml(values: Mapping[str, Any]) -> str:
    texts = {html.escape(name, quote=False): html.escape(str(value), quote=False) for name, value in values.items()}
    lines = [f"  <property><name>{name}</name><value>{text}</value></property>" for name, text in texts.items()]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>", *lines, "</configuration>", ""])
