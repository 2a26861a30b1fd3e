"""Frozen values that all rooms share: cluster, layout, plan, run, trace, baseline, price. No I/O, no clock."""

from assay.model.baseline import DEVIATION_MAX, Baseline, CoreSpeed, Measurement
from assay.model.cluster import (
    Address,
    Attachment,
    Cluster,
    Device,
    DeviceKind,
    Disks,
    KerberosLogin,
    LabSettings,
    Network,
    Nic,
    Node,
    NodeType,
    Placement,
    Racks,
    Role,
    SparkClient,
)
from assay.model.device_model import COAST_FROM, FlashModel, HddModel, usual_flash, usual_hdd
from assay.model.environment import ClusterFacts, Environment, Hardware, LabFacts, LayoutPlaces, NodeFacts, NodeGroups
from assay.model.fitness import Advice, Criterion, Fitness, Grade, Reading
from assay.model.hardware import DeviceOption, HardwareCatalogue, WorkerOption
from assay.model.imported import SOURCE_ID_LENGTH_MAX, ImportedRun, SkippedItem, foreign_run
from assay.model.layout import Directories, Layout, StoragePolicy
from assay.model.layout_code import Beside, LayoutCode, devices_of_code, devices_of_text, devices_text
from assay.model.plan import (
    COMPRESSION,
    CONTAINERS,
    ENGINE_FACTOR,
    HADOOP_TARGETS,
    LAYOUT_FACTOR,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    MAP_SLOTS,
    NETWORK_FACTOR,
    RETRIES,
    SHUFFLE_CODEC,
    SHUFFLE_COMPRESS,
    TARGETS,
    WORKERS_FACTOR,
    WORKLOAD,
    Configuration,
    Factor,
    Plan,
    Until,
    WorkloadSpec,
)
from assay.model.price import YEAR_H, Amortisation, Energy, Exchange, LineItem, PriceBook
from assay.model.program import OWN_JOBS, OWN_SPARK, Outcome, Program, Stored
from assay.model.reference import GENERATOR, Answered, Asked, Rows
from assay.model.requests import request_bytes
from assay.model.rules import Default, Mistake, Rules, Spread
from assay.model.run import (
    RUN_SCHEMA_VERSION,
    SIMULATED_HIGH_S,
    SIMULATED_LOW_S,
    CacheState,
    Check,
    Executor,
    FailureClass,
    Job,
    Origin,
    Phase,
    Run,
    RunStatus,
    Stage,
    Task,
)
from assay.model.spreadsheet import harmless_cell, meant_text
from assay.model.stream import CountedStream
from assay.model.survey import Daemon, Mount, Survey, survey_of
from assay.model.trace import CPU_BUSY, CPU_FREE, Trace
from assay.model.warning import CodedWarning, WarningCode
from assay.model.workload_profile import (
    BLOCK_BYTES,
    DEFAULT_CODEC,
    USUALLY_LEFT,
    CostProfile,
    EngineCosts,
    Learned,
    StageProfile,
    Uncertain,
    WorkloadProfile,
    shuffle_codec,
    splits_of,
)
