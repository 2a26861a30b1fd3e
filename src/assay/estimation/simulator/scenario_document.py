"""Define the simulator's input as typed structs that encode to its JSON, field by field.

The structs have the names and units of the reader in ``rust/simulate`` (``read.rs``, ``read_cluster.rs``,
``read_jobs.rs``; docs/reference/simulator-scenarios.md). ``rust/simulate/scenario.schema.json`` is their JSON Schema:
:func:`schema_text` writes it, and a test compares it with the structs and with what the reader accepts. A field that is
None or empty is left out, and the reader then takes its default.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field


class CpuPool(Struct, frozen=True):
    """Cores of a lab's machine, which all nodes share."""

    cores: float
    background_cores: float
    """Cores in use by other processes."""


class RackUplinks(Struct, frozen=True):
    """Racks of equal size."""

    nodes: int
    uplink_bytes_per_s: float


class ContainerSpace(Struct, frozen=True, omit_defaults=True):
    """Memory and cores of a node for containers."""

    memory_bytes: float
    cores: float | None = None


class ScenarioDevice(Struct, frozen=True, omit_defaults=True):
    """One disk of a node."""

    name: str
    size_bytes: float
    model: Mapping[str, Any]
    """Parameters of the device model (:func:`~assay.analysis.devices.model_parameters.model_parameters`)."""
    purposes: Mapping[str, int]
    """``dfs`` and ``intermediate`` to the number of directories."""
    readahead_bytes: float | None = None
    request_bytes: float | None = None
    dirty_limit_bytes: float | None = None


class ScenarioNodes(Struct, frozen=True):
    """Nodes of one type."""

    name: str
    names: list[str]
    cores: float
    cpu_speed: float
    memory_bytes: float
    cache_bytes: float
    nic_in_bytes_per_s: float
    containers: ContainerSpace
    devices: list[ScenarioDevice]


class ScenarioCluster(Struct, frozen=True, omit_defaults=True):
    """The workers of a cluster by type."""

    nodes: list[ScenarioNodes]
    cpu_pool: CpuPool | None = None
    racks: RackUplinks | None = None

    @property
    def size(self) -> int:
        """Number of nodes."""
        return sum(len(kind.names) for kind in self.nodes)


class ScenarioStorage(Struct, frozen=True):
    """Settings of HDFS."""

    block_bytes: float
    replication: int


class ScenarioEngine(Struct, frozen=True):
    """Fixed costs and intervals of the engine."""

    client_start_s: float
    am_start_s: float
    job_end_s: float
    client_end_s: float
    task_start_s: float
    task_start_cpu_s: float
    node_heartbeat_s: float
    am_heartbeat_s: float
    locality_wait_s: float
    daemon_memory_bytes: float


class ScenarioDataset(Struct, frozen=True):
    """Files that exist before the run."""

    name: str
    bytes: float
    files: int


class StageInput(Struct, frozen=True, omit_defaults=True):
    """Input of the tasks of a stage."""

    source: Literal["dfs", "generated", "stage"] = field(name="from")
    dataset: str | None = None
    bytes: float | None = None
    located: bool | None = None
    """Whether the scheduler knows the nodes that hold the data."""
    stages: list[str] = []
    """Stages whose output is fetched."""


class StageCpu(Struct, frozen=True, omit_defaults=True):
    """CPU costs of a stage's tasks."""

    task_s: float
    read_s_per_byte: float
    process_s_per_byte: float
    sort_s_per_byte: float = 0.0
    write_s_per_byte: float = 0.0


class StageOutput(Struct, frozen=True, omit_defaults=True):
    """Output of the tasks of a stage, as a ratio of their input."""

    to: Literal["dfs", "shuffle", "none"]
    dataset: str | None = None
    ratio: float | None = None
    combiner: float | None = None
    """Share of the output that remains after the combiner."""
    compression: float | None = None
    """Share of the output that remains after compression."""
    replication: int | None = None
    remote_cpu_s_per_byte: float | None = None


class StageSort(Struct, frozen=True, omit_defaults=True):
    """The sort of a stage's output before a shuffle."""

    buffer_bytes: float
    spill_share: float
    factor: int
    metadata_share: float | None = None


class StageShuffle(Struct, frozen=True, omit_defaults=True):
    """The fetch and merge of a stage's input."""

    slow_start: float
    copies: int
    heap_bytes: float
    buffer_share: float
    merge_share: float
    memory_limit_share: float
    factor: int
    kept_share: float | None = None


class ScenarioStage(Struct, frozen=True, omit_defaults=True):
    """Tasks that do the same work."""

    name: str
    kind: Literal["map", "reduce"]
    tasks: int
    input: StageInput
    cpu: StageCpu
    output: StageOutput
    memory_bytes: float | None = None
    sort: StageSort | None = None
    shuffle: StageShuffle | None = None
    after: list[str] = []
    """Stages that must end first, in addition to those of the input."""


class ScenarioJob(Struct, frozen=True, omit_defaults=True):
    """One job; jobs run one after another."""

    name: str
    stages: list[ScenarioStage]
    am_memory_bytes: float = 0.0


class ScenarioDocument(Struct, frozen=True, omit_defaults=True):
    """One simulation: a line of the simulator's input. Defaults are those of the reader."""

    cluster: ScenarioCluster
    storage: ScenarioStorage
    engine: ScenarioEngine
    jobs: list[ScenarioJob]
    datasets: list[ScenarioDataset]
    seed: int = 1
    id: str = ""
    fidelity: Literal["flows", "requests"] = "flows"
    detail: Literal["duration", "tasks", "traces"] = "duration"
    trace_by: Literal["group", "node"] = "group"
    """``node`` observes each node alone; ``group`` observes the nodes of a rack or type of a large cluster together."""
    tasks_as: Literal["objects", "columns"] = "objects"


SimulatorInput = ScenarioDocument | Mapping[str, Any]
"""A document, or plain values with its fields: a scenario that was written by hand."""


def schema_text() -> str:
    """Return the JSON Schema of a document, as in ``rust/simulate/scenario.schema.json``."""
    return json.dumps(msgspec.json.schema(ScenarioDocument), indent=2) + "\n"
