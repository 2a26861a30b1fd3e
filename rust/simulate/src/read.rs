//! Read a scenario from JSON. Every error names the field and the reason.

use assay_spec::{json, Fields, Json};

use crate::read_cluster::cluster;
use crate::read_jobs;
use crate::scenario::{DatasetSpec, Detail, EngineCosts, Failure, Fidelity, NodeFailure, Noise, Scenario, Storage};

const BLOCK_BYTES: f64 = 134_217_728.0;
const TOP_KEYS: [&str; 15] = [
    "id",
    "seed",
    "fidelity",
    "detail",
    "trace_interval_s",
    "trace_by",
    "tasks_as",
    "pieces",
    "cluster",
    "storage",
    "engine",
    "noise",
    "failures",
    "datasets",
    "jobs",
];

/// Return the id of the scenario as JSON, and the scenario. An invalid scenario also returns its id.
pub fn read(text: &str) -> (Option<Json>, Result<Scenario, Failure>) {
    match json::parse(text) {
        Err(why) => (None, Err(Failure::Input(why))),
        Ok(document) => {
            let id = document.member("id").filter(|id| matches!(id, Json::Text(_) | Json::Number(_))).cloned();
            (id, scenario(&document).map_err(Failure::Input))
        }
    }
}

fn scenario(document: &Json) -> Result<Scenario, String> {
    let top = Fields::new(String::new(), document, &TOP_KEYS)?;
    let engine = engine(top.optional("engine"))?;
    let storage = storage(top.optional("storage"))?;
    let mut assumptions = Vec::new();
    let cluster = cluster(top.required("cluster")?, engine.daemon_memory_bytes, &mut assumptions)?;
    let mut datasets = Vec::new();
    if top.optional("datasets").is_some() {
        for (index, item) in top.list("datasets")?.iter().enumerate() {
            datasets.push(dataset(format!("datasets[{index}]."), item, &storage)?);
        }
    }
    let jobs = read_jobs::jobs(top.list("jobs")?, &datasets, &storage)?;
    let pieces = match top.optional("pieces") {
        None => None,
        Some(_) => Some(range(&top, "pieces", 1, 64)? as u32),
    };
    let trace_interval_s = top.positive_or("trace_interval_s", 1.0)?;
    if trace_interval_s < 0.01 {
        return Err("trace_interval_s: less than 0.01".into());
    }
    let detail = match choice(&top, "detail", &["duration", "tasks", "traces"])? {
        0 => Detail::Duration,
        1 => Detail::Tasks,
        _ => Detail::Traces,
    };
    let is_requests = choice(&top, "fidelity", &["flows", "requests"])? == 1;
    let mut scenario = Scenario {
        seed: top.integer_or("seed", 1.0)?,
        fidelity: if is_requests { Fidelity::Requests } else { Fidelity::Flows },
        detail,
        trace_interval_s,
        trace_nodes: choice(&top, "trace_by", &["group", "node"])? == 1,
        task_columns: choice(&top, "tasks_as", &["objects", "columns"])? == 1,
        pieces,
        cluster,
        storage,
        engine,
        noise: noise(top.optional("noise"))?,
        failures: Vec::new(),
        datasets,
        jobs,
        assumptions,
    };
    if top.optional("failures").is_some() {
        for (index, item) in top.list("failures")?.iter().enumerate() {
            let failure = failure(format!("failures[{index}]."), item, &scenario)?;
            scenario.failures.push(failure);
        }
    }
    Ok(scenario)
}

/// Return the index of a text in `choices`; 0 if the text is absent.
pub fn choice(fields: &Fields, key: &str, choices: &[&str]) -> Result<usize, String> {
    if fields.optional(key).is_none() {
        return Ok(0);
    }
    let text = fields.text(key)?;
    let index = choices.iter().position(|choice| *choice == text);
    index.ok_or_else(|| format!("{}{key}: {} is not one of {}", fields.at, json::quoted(&text), choices.join(", ")))
}

/// A share from 0 to 1.
pub fn share(fields: &Fields, key: &str, default: f64) -> Result<f64, String> {
    let value = fields.number_or(key, default)?;
    if value > 1.0 {
        return Err(format!("{}{key}: {value} is more than 1", fields.at));
    }
    Ok(value)
}

/// A whole number within bounds.
pub fn range(fields: &Fields, key: &str, low: u64, high: u64) -> Result<u64, String> {
    let value = fields.integer(key)?;
    if value < low || value > high {
        return Err(format!("{}{key}: {value} is not from {low} to {high}", fields.at));
    }
    Ok(value)
}

/// A truth value.
pub fn truth(fields: &Fields, key: &str, default: bool) -> Result<bool, String> {
    match fields.optional(key) {
        None => Ok(default),
        Some(Json::Bool(value)) => Ok(*value),
        Some(_) => Err(format!("{}{key}: must be true or false", fields.at)),
    }
}

fn storage(item: Option<&Json>) -> Result<Storage, String> {
    let empty = Json::Object(Vec::new());
    let keys = ["block_bytes", "replication", "placement"];
    let fields = Fields::new("storage.".into(), item.unwrap_or(&empty), &keys)?;
    Ok(Storage {
        block_bytes: block_bytes(&fields, BLOCK_BYTES)?,
        replication: replication(&fields, 3)?,
        balanced: choice(&fields, "placement", &["hdfs", "balanced"])? == 1,
    })
}

pub fn block_bytes(fields: &Fields, default: f64) -> Result<f64, String> {
    let bytes = fields.positive_or("block_bytes", default)?;
    if bytes < 4096.0 {
        return Err(format!("{}block_bytes: less than 4096", fields.at));
    }
    Ok(bytes)
}

pub fn replication(fields: &Fields, default: u32) -> Result<u32, String> {
    match fields.optional("replication") {
        None => Ok(default),
        Some(_) => Ok(range(fields, "replication", 1, 10)? as u32),
    }
}

fn engine(item: Option<&Json>) -> Result<EngineCosts, String> {
    let empty = Json::Object(Vec::new());
    let keys = [
        "client_start_s",
        "job_submit_s",
        "am_start_s",
        "am_start_cpu_s",
        "job_end_s",
        "client_end_s",
        "task_start_s",
        "task_start_cpu_s",
        "task_end_s",
        "task_end_cpu_s",
        "node_heartbeat_s",
        "am_heartbeat_s",
        "tasks_per_heartbeat",
        "locality_wait_s",
        "speculation",
        "failure_detect_s",
        "daemon_memory_bytes",
    ];
    let fields = Fields::new("engine.".into(), item.unwrap_or(&empty), &keys)?;
    let or_zero = |key: &str| fields.number_or(key, 0.0);
    Ok(EngineCosts {
        client_start_s: or_zero("client_start_s")?,
        job_submit_s: or_zero("job_submit_s")?,
        am_start_s: or_zero("am_start_s")?,
        am_start_cpu_s: or_zero("am_start_cpu_s")?,
        job_end_s: or_zero("job_end_s")?,
        client_end_s: or_zero("client_end_s")?,
        task_start_s: or_zero("task_start_s")?,
        task_start_cpu_s: or_zero("task_start_cpu_s")?,
        task_end_s: or_zero("task_end_s")?,
        task_end_cpu_s: or_zero("task_end_cpu_s")?,
        node_heartbeat_s: heartbeat(&fields, "node_heartbeat_s")?,
        am_heartbeat_s: heartbeat(&fields, "am_heartbeat_s")?,
        tasks_per_heartbeat: match fields.optional("tasks_per_heartbeat") {
            None => None,
            Some(_) => Some(range(&fields, "tasks_per_heartbeat", 1, 1 << 20)? as u32),
        },
        locality_wait_s: fields.number_or("locality_wait_s", 3.0)?,
        speculation: truth(&fields, "speculation", false)?,
        failure_detect_s: fields.number_or("failure_detect_s", 600.0)?,
        daemon_memory_bytes: or_zero("daemon_memory_bytes")?,
    })
}

/// An interval in seconds: 0, or at least one millisecond.
fn heartbeat(fields: &Fields, key: &str) -> Result<f64, String> {
    let interval_s = fields.number_or(key, 1.0)?;
    if interval_s > 0.0 && interval_s < 0.001 {
        return Err(format!("{}{key}: less than 0.001, and not 0", fields.at));
    }
    Ok(interval_s)
}

fn noise(item: Option<&Json>) -> Result<Noise, String> {
    let empty = Json::Object(Vec::new());
    let keys = ["task_sigma", "node_sigma", "run_sigma", "straggler_share", "straggler_factor"];
    let fields = Fields::new("noise.".into(), item.unwrap_or(&empty), &keys)?;
    let sigma = |key: &str| {
        let value = fields.number_or(key, 0.0)?;
        if value > 2.0 {
            return Err(format!("noise.{key}: {value} is more than 2"));
        }
        Ok(value)
    };
    Ok(Noise {
        task_sigma: sigma("task_sigma")?,
        node_sigma: sigma("node_sigma")?,
        run_sigma: sigma("run_sigma")?,
        straggler_share: share(&fields, "straggler_share", 0.0)?,
        straggler_factor: fields.positive_or("straggler_factor", 3.0)?,
    })
}

fn failure(at: String, item: &Json, scenario: &Scenario) -> Result<NodeFailure, String> {
    let fields = Fields::new(at, item, &["node", "at_s"])?;
    let name = fields.text("node")?;
    let node = scenario.cluster.types.iter().flat_map(|kind| &kind.names).position(|node_name| *node_name == name);
    let node = node.ok_or_else(|| format!("{}node: there is no {}", fields.at, json::quoted(&name)))?;
    Ok(NodeFailure { node: node as u32, at_s: fields.number("at_s")? })
}

fn dataset(at: String, item: &Json, storage: &Storage) -> Result<DatasetSpec, String> {
    let fields = Fields::new(at, item, &["name", "bytes", "files", "replication", "block_bytes", "cached"])?;
    Ok(DatasetSpec {
        name: fields.text("name")?,
        bytes: fields.positive("bytes")?,
        files: match fields.optional("files") {
            None => 1,
            Some(_) => range(&fields, "files", 1, 10_000_000)? as u32,
        },
        replication: replication(&fields, storage.replication)?,
        block_bytes: block_bytes(&fields, storage.block_bytes)?,
        cached: truth(&fields, "cached", false)?,
    })
}
