//! Scenarios for tests, and access to their results.

use assay_simulate::{answer, Tables};
use assay_spec::{json, Json};

pub const HDD: &str = r#"{"kind":"hdd","read_bytes_per_s":6e6,"write_bytes_per_s":6e6,"inner_share":0.55,"seek_track_s":0.001,"seek_full_s":0.014,"rpm":7200,"write_cache_bytes":3000000}"#;
pub const SSD: &str = r#"{"kind":"ssd","read_bytes_per_s":25e6,"write_bytes_per_s":23e6}"#;

/// A small cluster with a sort. Each member can be overridden.
#[derive(Clone)]
pub struct Case {
    pub nodes: u32,
    pub disks: u32,
    pub model: String,
    pub nic: f64,
    pub cores: f64,
    pub slots: u32,
    pub bytes: f64,
    pub maps: u32,
    pub reduces: u32,
    pub replication: u32,
    pub cache: f64,
    pub seed: u32,
    pub fidelity: &'static str,
    pub detail: &'static str,
    /// Members of the scenario in JSON, each with a comma after it.
    pub extra_members: String,
}

impl Case {
    pub fn new(model: &str) -> Case {
        Case {
            nodes: 3,
            disks: 2,
            model: model.into(),
            nic: 60e6,
            cores: 4.0,
            slots: 4,
            bytes: 300e6,
            maps: 12,
            reduces: 6,
            replication: 3,
            cache: 1e9,
            seed: 1,
            fidelity: "flows",
            detail: "duration",
            extra_members: String::new(),
        }
    }

    pub fn json(&self) -> String {
        let window = if self.model.contains("hdd") { 32768 } else { 65536 };
        format!(
            r#"{{"id":1,"seed":{},"fidelity":"{}","detail":"{}",{}"cluster":{{"nodes":[{{"name":"w","count":{},"cores":{},
            "memory_bytes":4e9,"cache_bytes":{},"nic_in_bytes_per_s":{},"containers":{{"memory_bytes":{}}},
            "devices":[{{"name":"d","count":{},"size_bytes":50000003072,"model":{},
            "purposes":{{"dfs":1,"intermediate":1}},"readahead_bytes":{window},"dirty_limit_bytes":3e6}}]}}]}},
            "storage":{{"block_bytes":25e6,"replication":{}}},
            "engine":{{"job_submit_s":1,"task_start_cpu_s":0.5,"node_heartbeat_s":0.2,"am_heartbeat_s":0.2}},
            "datasets":[{{"name":"in","bytes":{},"files":{}}}],
            "jobs":[{{"name":"sort","am_memory_bytes":1,"stages":[
            {{"name":"map","input":{{"from":"dfs","dataset":"in"}},"cpu":{{"process_s_per_byte":10e-9,"sort_s_per_byte":10e-9}},
            "output":{{"to":"shuffle"}},"sort":{{"buffer_bytes":64e6}}}},
            {{"name":"reduce","kind":"reduce","tasks":{},"input":{{"from":"stage","stage":"map"}},
            "cpu":{{"process_s_per_byte":10e-9,"merge_s_per_byte":5e-9}},"output":{{"to":"dfs"}},
            "shuffle":{{"heap_bytes":200e6}}}}]}}]}}"#,
            self.seed,
            self.fidelity,
            self.detail,
            self.extra_members,
            self.nodes,
            self.cores,
            self.cache,
            self.nic,
            self.slots,
            self.disks,
            self.model,
            self.replication,
            self.bytes,
            self.maps,
            self.reduces
        )
        .replace('\n', " ")
    }

    pub fn run(&self) -> Json {
        let text = self.text();
        json::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    pub fn text(&self) -> String {
        answer(&self.json(), &mut Tables::default(), || 0.0)
    }

    pub fn seconds(&self) -> f64 {
        let result = self.run();
        number(&result, &["duration_s"])
    }
}

pub fn number(result: &Json, path: &[&str]) -> f64 {
    let member = path.iter().try_fold(result, |value, key| value.member(key));
    match member {
        Some(Json::Number(number)) => *number,
        other => panic!("{path:?} is {other:?} in {result:?}"),
    }
}

pub fn list<'a>(result: &'a Json, key: &str) -> &'a [Json] {
    match result.member(key) {
        Some(Json::List(items)) => items,
        other => panic!("{key} is {other:?}"),
    }
}
