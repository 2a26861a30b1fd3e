//! The scenario to simulate: a cluster, the data in its file system, and jobs. Units: bytes, seconds, bytes/s, cores.
//! docs/reference/simulator-scenarios.md describes each field.

use assay_spec::Params;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    Flows,
    Requests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Detail {
    Duration,
    Tasks,
    Traces,
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub fidelity: Fidelity,
    pub detail: Detail,
    pub trace_interval_s: f64,
    /// Whether each node is observed separately, also in a large cluster.
    pub trace_nodes: bool,
    /// Whether the result has tasks as columns.
    pub task_columns: bool,
    pub pieces: Option<u32>,
    pub cluster: Cluster,
    pub storage: Storage,
    pub engine: EngineCosts,
    pub noise: Noise,
    pub failures: Vec<NodeFailure>,
    pub datasets: Vec<DatasetSpec>,
    pub jobs: Vec<Job>,
    /// Assumed values, as text.
    pub assumptions: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Cluster {
    pub types: Vec<NodeType>,
    pub pool_cores: Option<f64>,
    pub rack_nodes: Option<u32>,
    pub uplink_bytes_per_s: f64,
}

#[derive(Clone, Debug)]
pub struct NodeType {
    pub name: String,
    pub names: Vec<String>,
    pub cores: f64,
    pub cpu_speed: f64,
    pub cpu_weight: f64,
    pub cache_bytes: f64,
    pub dirty_background_bytes: f64,
    pub dirty_bytes: f64,
    pub dirty_expire_s: f64,
    pub memory_bytes_per_s: f64,
    pub io_cpu_s_per_byte: f64,
    pub nic_in_bytes_per_s: f64,
    pub nic_out_bytes_per_s: f64,
    pub container_memory_bytes: f64,
    pub container_cores: f64,
    /// Factor of the speed of CPU and disks: less than 1 for slow nodes.
    pub speed_factor: f64,
    pub devices: Vec<DeviceSpec>,
}

#[derive(Clone, Debug)]
pub struct DeviceSpec {
    pub name: String,
    pub params: Params,
    pub size_bytes: u64,
    pub dfs_directories: u32,
    pub intermediate_directories: u32,
    pub readahead_bytes: f64,
    pub request_bytes: f64,
    pub dirty_limit_bytes: Option<f64>,
    pub used_share: f64,
}

#[derive(Clone, Debug)]
pub struct Storage {
    pub block_bytes: f64,
    pub replication: u32,
    /// Whether blocks are placed round-robin instead of as in HDFS.
    pub balanced: bool,
}

#[derive(Clone, Debug)]
pub struct EngineCosts {
    pub client_start_s: f64,
    pub job_submit_s: f64,
    pub am_start_s: f64,
    pub am_start_cpu_s: f64,
    pub job_end_s: f64,
    pub client_end_s: f64,
    pub task_start_s: f64,
    pub task_start_cpu_s: f64,
    pub task_end_s: f64,
    pub task_end_cpu_s: f64,
    pub node_heartbeat_s: f64,
    pub am_heartbeat_s: f64,
    pub tasks_per_heartbeat: Option<u32>,
    pub locality_wait_s: f64,
    pub speculation: bool,
    pub failure_detect_s: f64,
    pub daemon_memory_bytes: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Noise {
    pub task_sigma: f64,
    pub node_sigma: f64,
    pub run_sigma: f64,
    pub straggler_share: f64,
    pub straggler_factor: f64,
}

#[derive(Clone, Debug)]
pub struct NodeFailure {
    pub node: u32,
    pub at_s: f64,
}

#[derive(Clone, Debug)]
pub struct DatasetSpec {
    pub name: String,
    pub bytes: f64,
    pub files: u32,
    pub replication: u32,
    pub block_bytes: f64,
    pub cached: bool,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub am_memory_bytes: f64,
    /// Indices of the jobs that must end first.
    pub after: Vec<usize>,
    pub fixed_s: f64,
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug)]
pub struct Stage {
    pub name: String,
    pub is_reduce: bool,
    pub tasks: Option<u32>,
    pub memory_bytes: f64,
    pub cores: f64,
    pub input: Input,
    pub expand: f64,
    pub skew: f64,
    pub shares: Option<Vec<f64>>,
    pub cpu: CpuCosts,
    pub output: Output,
    pub sort: SortSpec,
    pub shuffle: ShuffleSpec,
    /// Indices of the stages of the same job that must end first, without its inputs.
    pub after: Vec<usize>,
}

#[derive(Clone, Debug)]
pub enum Input {
    None,
    Generated {
        bytes: f64,
    },
    /// `located`: whether the scheduler knows the location of the data.
    Dfs {
        dataset: String,
        bytes: Option<f64>,
        located: bool,
    },
    Stages(Vec<usize>),
}

#[derive(Clone, Debug, Default)]
pub struct CpuCosts {
    pub task_s: f64,
    pub read_s_per_byte: f64,
    pub process_s_per_byte: f64,
    pub sort_s_per_byte: f64,
    pub merge_s_per_byte: f64,
    pub write_s_per_byte: f64,
}

#[derive(Clone, Debug)]
pub enum Output {
    None,
    Dfs {
        dataset: Option<String>,
        ratio: f64,
        compression: f64,
        replication: u32,
        block_bytes: f64,
        remote_cpu_s_per_byte: f64,
    },
    Shuffle {
        ratio: f64,
        combiner: f64,
        compression: f64,
    },
}

#[derive(Clone, Debug)]
pub struct SortSpec {
    pub buffer_bytes: f64,
    pub spill_share: f64,
    pub factor: u32,
    /// Bytes of the records' index in the buffer per byte of output.
    pub metadata_share: f64,
}

#[derive(Clone, Debug)]
pub struct ShuffleSpec {
    pub slow_start: f64,
    pub copies: u32,
    pub heap_bytes: f64,
    pub buffer_share: f64,
    pub merge_share: f64,
    pub memory_limit_share: f64,
    pub kept_share: f64,
    pub factor: u32,
}

impl Scenario {
    /// Nodes of all types together.
    pub fn nodes(&self) -> usize {
        self.cluster.types.iter().map(|kind| kind.names.len()).sum()
    }
}

/// Why a scenario can't be simulated, and what is at fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The scenario is invalid.
    Input(String),
    /// The data does not fit onto the devices.
    DoesNotFit(String),
    /// The simulation would not end.
    Impossible(String),
}

impl Failure {
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Input(_) => "input",
            Failure::DoesNotFit(_) => "does-not-fit",
            Failure::Impossible(_) => "impossible",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Failure::Input(text) | Failure::DoesNotFit(text) | Failure::Impossible(text) => text,
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure::Input(text)
    }
}
