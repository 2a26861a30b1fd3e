"""List the engines under contract tests, how to provoke their faults, and their gaps.

A new engine is one more :class:`Subject` here. What it can't do is a gap: named, with the reason, and skipped by name.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from assay.estimation.simulator.engine import shipped_simulator
from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import Engine, EngineKind, Provider, ProviderKind
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.spark.distribution import find as find_spark
from assay.execution.hosts.local import LocalTransport
from assay.model.clusters.cluster import Cluster, Device, DeviceKind, Nic, Node, NodeType, Placement, Role
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.configuration import Configuration
from assay.model.plans.program import JOBS_PACKAGE, SPARK_JOBS_PACKAGE, Program
from assay.workloads.workload import Size, WorkloadProgram
from attached_subject import external_kind
from campaign_support import java_processes
from paths import ARCHIVED_JAVA
from simulator_support import has_simulator
from toy_engine import TOY

DATA_BYTES = 1_000_000
SHUFFLED_BYTES = 20_000_000
EXAMPLES = "org.apache.hadoop.examples"
IN_ONE_JVM = {"mapreduce.job.ubertask.enable": "true"}
"""Options of jobs that run in their ApplicationMaster's JVM; what is shuffled, and what is endless, has containers."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One engine under test."""

    name: str
    kind: EngineKind
    base: Mapping[str, str]
    """Parameters of its configurations."""
    carried: Mapping[str, str]
    """A parameter that a job carries, with a value that differs from what holds otherwise."""
    restarting: Mapping[str, str]
    """One that needs a restart."""
    impossible: Mapping[str, str]
    """Parameters that can't be."""
    writes: Callable[[str], Program]
    """A program that writes :data:`DATA_BYTES` in two files below a path."""
    checks: Callable[[str, str], Program]
    """A program that checks the files below the first path and writes its report below the second."""
    fails: Callable[[str], Program]
    """A program that reads a path where there is nothing."""
    endless: Callable[[str], Program]
    """A program that would take minutes; it works below a path."""
    left: Callable[[Path], object]
    """What of it still runs on this machine with the given home, in any form that is false when there is nothing."""
    shuffles: Callable[[int], Program] | None = None
    """A program that shuffles some 20 MB, and whose map tasks spend this number of CPU milliseconds in one method."""
    disturb: Callable[[Engine, Path], None] | None = None
    """Breaks it, so that it is in trouble."""
    lacking: Callable[[], str | None] = lambda: None
    """Why this machine cannot run it; None where it can."""
    shares_engine: bool = False
    """Whether it attaches to an engine that was started for the tests. Subjects that do may share that engine."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Missing ability to the reason."""

    def requires(self, ability: str) -> None:
        """Skip the test with the reason, if the engine lacks ``ability``."""
        if ability in self.gaps:
            pytest.skip(f"gap of {self.name}: {ability}: {self.gaps[ability]}")

    def cluster(self, home: Path) -> Cluster:
        """Return this machine as a cluster of one node, with a disk in a folder next to ``home``."""
        disk = home.parent / "disk"
        disk.mkdir(parents=True, exist_ok=True)
        device = Device("ssd", DeviceKind.SSD, 5e8, 5e8, None, None, 10**11, directory=str(disk))
        machine = NodeType("machine", 2, 8 * 2**30, (device,), Nic(1e10))
        node = Node("node", machine, frozenset({Role.MASTER, Role.WORKER}))
        name = f"contract-{self.name}-{home.parent.name}"
        return Cluster(name, Placement.LOCAL, (node,), home=str(home), java_home=str(ARCHIVED_JAVA))

    def provider(self, home: Path) -> Provider:
        """Return its provider on that cluster, reached without SSH. Skips the test where the engine cannot run."""
        if lacking := self.lacking():
            pytest.skip(f"{self.name}: {lacking}")
        cluster = self.cluster(home)
        return self.kind.provider_of(cluster)(cluster, {"node": LocalTransport("node")})

    def configuration(self, extra: Mapping[str, str] | None = None, layout: str = "SSD") -> Configuration:
        """Return a configuration with its base parameters and ``extra``."""
        directories = (Directories("ssd"),)
        return Configuration({}, Layout(layout, directories, directories), {**self.base, **(extra or {})})


def _teragen(rows: int, path: str, maps: int, options: Mapping[str, str] | None = None) -> Program:
    given = {"mapreduce.job.maps": str(maps), **(options or {})}
    return Program(f"{EXAMPLES}.terasort.TeraGen", (str(rows), path), given)


def _kill_datanode(_engine: Engine, home: Path) -> None:
    [pid] = java_processes("datanode.DataNode", str(home))
    os.kill(pid, signal.SIGKILL)


HADOOP = Subject(
    name="hadoop",
    kind=engine_kind("hadoop"),
    base={"dfs.replication": "1", "dfs.blocksize": "16MiB"},
    carried={"mapreduce.task.io.sort.mb": "16"},
    restarting={containers.NODE_MEMORY: "2048"},
    impossible={containers.MAP_MEMORY: "999999"},
    writes=lambda path: _teragen(DATA_BYTES // 100, path, 2, IN_ONE_JVM),
    checks=lambda path, report: Program(f"{EXAMPLES}.terasort.TeraValidate", (path, report), IN_ONE_JVM),
    fails=lambda path: Program(f"{EXAMPLES}.WordCount", (path, f"{path}-out")),
    endless=lambda path: _teragen(2_000_000_000, path, 1),
    left=lambda home: java_processes(str(home)),
    shuffles=lambda burn_ms: Program(
        f"{JOBS_PACKAGE}Shuffle",
        (str(SHUFFLED_BYTES),),
        {"mapreduce.job.maps": "2", "mapreduce.job.reduces": "1", "assay.shuffle.map-burn-ms": str(burn_ms)},
    ),
    disturb=_kill_datanode,
)


def _sh(script: str) -> Program:
    return Program("sh", ("-ec", script), engine="toy")


TOY_SUBJECT = Subject(
    name="toy",
    kind=TOY,
    base={},
    carried={"toy.speed": "2"},
    restarting={"toy.daemon": "2"},
    impossible={"toy.not.there": "1"},
    writes=lambda path: _sh(
        f'mkdir -p "$STORE{path}"; for n in 1 2; do head -c {DATA_BYTES // 2} /dev/zero > "$STORE{path}/part-$n"; done'
    ),
    checks=lambda path, report: _sh(f'mkdir -p "$STORE{report}"; ls "$STORE{path}" > "$STORE{report}/names"'),
    fails=lambda path: _sh(f'cat "$STORE{path}"'),
    endless=lambda _path: _sh("echo going; sleep 300"),
    left=lambda home: subprocess.run(["flock", "--nonblock", home / "lock", "true"], check=False).returncode,
    gaps={"daemons": "it has no daemons", "shuffling": "it shuffles nothing", "profiling": "no JVMs"},
)


def _spark(name: str, *arguments: object) -> Program:
    return Program(f"{SPARK_JOBS_PACKAGE}{name}", tuple(map(str, arguments)), engine="spark")


def _spark_subject(master: str) -> Subject:
    base = {**HADOOP.base, "spark.master": master, "spark.executor.cores": "1"}
    return Subject(
        name=f"spark-{master}",
        kind=engine_kind("spark"),
        base=base,
        carried={"spark.io.compression.codec": "zstd"},
        restarting=HADOOP.restarting,
        impossible={"spark.executor.memory": "999999m"},
        writes=lambda path: _spark("Rows", DATA_BYTES, 2, path),
        checks=HADOOP.checks,
        fails=lambda path: _spark("TeraSort", path, f"{path}-out", 2),
        endless=lambda path: _spark("Rows", 10**12, 1, path),
        left=HADOOP.left,
        shuffles=lambda burn_ms: _spark("Shuffle", SHUFFLED_BYTES, 2, 1, "random", 1, burn_ms, 0),
        disturb=HADOOP.disturb,
        gaps={"providing": "spark-standalone has the same provider"} if master == "yarn" else {},
        lacking=lambda: None if find_spark() else "Spark is not installed: run `assay spark fetch`, or set SPARK_HOME",
    )


def _workload(name: str, data_bytes: int = DATA_BYTES, reduces: int = 1, block: int = 2**24) -> WorkloadProgram:
    return WorkloadProgram(name, (), size=Size(data_bytes, 1, maps=2, reduces=reduces, block_bytes=block))


SIMULATED = replace(
    HADOOP,
    name="hadoop, simulated",
    kind=replace(HADOOP.kind, providers={ProviderKind.DEPLOYED: shipped_simulator(HADOOP.kind.rules)}),
    writes=lambda _path: _workload("teragen"),
    endless=lambda _path: _workload("terasort", 40 * 10**9, reduces=2000, block=2**15),
    left=lambda _home: None,
    disturb=None,
    lacking=lambda: None if has_simulator() else "the simulator is not built: `make setup`",
    gaps={
        "hosts": "it uses no hosts and locks none",
        "clock": "its times are virtual",
        "writing": "programs write nothing",
        "failing": "it refuses programs that it can't simulate",
        "daemons": "it has no daemons",
        "shuffling": "it writes no shuffled data",
        "profiling": "it has no JVMs",
        "attaching": "it is not a running Hadoop",
    },
)
SPARK_MASTERS = ("yarn", "standalone")
ATTACHED = replace(
    HADOOP,
    name="hadoop, attached to",
    kind=external_kind(),
    shares_engine=True,
    disturb=None,
    gaps={
        "daemons": "an attached cluster's daemons are not assay's to end",
        "providing": "it restarts nothing; what a job can't carry is refused",
        "defaults": "assay's defaults for deployed clusters are not set on an attached Hadoop",
    },
)


def _spark_attached(master: str) -> Subject:
    sizes = {"cores": "1", "memory": "640m", "memoryOverhead": "128m"}
    masters = {"spark.yarn.am.memory": "192m", "spark.yarn.am.memoryOverhead": "128m"}
    return replace(
        _spark_subject(master),
        name=f"spark, attached to {master}",
        kind=external_kind("spark", master),
        base={**HADOOP.base, **{f"spark.executor.{name}": value for name, value in sizes.items()}, **masters},
        shares_engine=True,
        disturb=None,
        gaps={**ATTACHED.gaps, **({"shuffling": "on Spark's own master as on YARN"} if master == "standalone" else {})},
    )


SUBJECTS = {"toy": TOY_SUBJECT, "simulated": SIMULATED, "hadoop": HADOOP, "attached": ATTACHED}
SUBJECTS |= {f"spark-attached-{name}": _spark_attached(name) for name in SPARK_MASTERS}
SUBJECTS |= {f"spark-{name}": _spark_subject(name) for name in SPARK_MASTERS}
NEEDS_NOTHING = ("toy", "simulated")
TAKES_MINUTES = ("spark-attached-standalone", "spark-yarn", "spark-standalone")
"""Subjects of `make test-long`. Attached Spark on YARN, attached and deployed Hadoop, and a campaign on a deployed
Spark with its own master, which use the same code, run in `make test`."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    if name in NEEDS_NOTHING:
        return []
    return [pytest.mark.hadoop, pytest.mark.long] if name in TAKES_MINUTES else [pytest.mark.hadoop]


PARAMETERS = [pytest.param(name, marks=_marks(name)) for name in SUBJECTS]
