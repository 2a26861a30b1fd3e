"""Define the frozen values that all packages share: clusters, layouts, plans, runs, traces, baselines and prices.

The package does no I/O and reads no clock.
"""

from assay.model.clusters.cluster import (
    Address,
    Attachment,
    Cluster,
    Device,
    DeviceKind,
    Disks,
    KerberosLogin,
    LabSettings,
    Nic,
    Node,
    NodeType,
    Placement,
    Racks,
    Role,
    SparkClient,
)
from assay.model.clusters.device_baseline import DEVIATION_MAX, CoreSpeed, DeviceBaseline, Measurement
from assay.model.clusters.device_model import LINEAR_SEEK_SHARE, FlashModel, HddModel, default_flash, default_hdd
from assay.model.clusters.disk_requests import request_bytes
from assay.model.clusters.hardware_catalogue import DeviceOption, HardwareCatalogue, WorkerOption
from assay.model.clusters.host_checks import Advice, CheckReading, Criterion, Grade, HostCheckReport
from assay.model.clusters.layout import Directories, Layout, StoragePolicy
from assay.model.clusters.layout_code import ExtraDeviceUse, LayoutCode, devices_of_code, devices_of_text, devices_text
from assay.model.clusters.network import NETWORK_CODES, Network, NetworkKind, network_kind_of_name
from assay.model.clusters.price_book import YEAR_H, Amortisation, Energy, Exchange, LineItem, PriceBook
from assay.model.clusters.survey import Block, Clock, Daemon, Interface, Mount, Survey, survey_of
from assay.model.plans.configuration import Configuration
from assay.model.plans.cost_profile import CostProfile, EngineCosts, ProfileSource
from assay.model.plans.engine_parameters import (
    BLOCK_SIZE,
    COMPRESSION,
    CONTAINERS,
    DAEMONS_TOO,
    EXECUTORS,
    HADOOP_TARGETS,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    MAP_SLOTS,
    NODE_MEMORY,
    PARAMETER_TITLES,
    PROFILE,
    PROFILED,
    PROFILES,
    REPLICATION,
    SHORT_PARAMETER_NAMES,
    SHUFFLE_CODEC,
    SHUFFLE_COMPRESS,
    TARGETS,
    Meaning,
    counted_resources,
    parameters_with,
)
from assay.model.plans.factor import ENGINE_FACTOR, LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR, WORKLOAD, Factor
from assay.model.plans.plan import RETRIES, Plan, PrecisionGoal, WorkloadSpec
from assay.model.plans.program import JOBS_PACKAGE, SPARK_JOBS_PACKAGE, Outcome, Program, StoredFiles
from assay.model.plans.rules import Default, Mistake, Rules, Spread
from assay.model.plans.workload_profile import (
    BLOCK_BYTES,
    COMPRESSED_SHARES,
    DEFAULT_CODEC,
    StageProfile,
    Uncertain,
    WorkloadProfile,
    shuffle_codec,
    splits_of,
)
from assay.model.runs.environment import (
    ClusterFacts,
    Environment,
    Hardware,
    LabFacts,
    LayoutDirectories,
    NodeFacts,
    NodeGroups,
)
from assay.model.runs.imported import SOURCE_ID_LENGTH_MAX, ImportedRun, SkippedItem, foreign_run
from assay.model.runs.job import Executor, Job, Stage
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.reference_answers import TABLE_GENERATOR, ReferenceAnswers, ReferenceQueries, Rows
from assay.model.runs.run import RUN_SCHEMA_VERSION, SIMULATED_HIGH_S, SIMULATED_LOW_S, CacheState, Check, Run
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.model.runs.spreadsheet import escaped_cell, unescaped_text
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.host_sample import HostSample
from assay.model.runs.traces.stream import CountedStream
from assay.model.runs.traces.trace import CPU_BUSY, CPU_FREE, Trace
from assay.model.runs.warning import CodedWarning, WarningCode
