//! Read the cluster of a scenario: nodes, devices, CPU pool and racks. Default values replace absent ones and are
//! listed as assumptions.

use assay_devices::{revolution_s, SeekCurve};
use assay_spec::{device_model, Fields, Json, Params};

use crate::scenario::{Cluster, DeviceSpec, NodeType};

const NODES_MAX: u64 = 200_000;
const DEVICES_MAX: usize = 60;
/// Default readahead: the maximum request of Linux by default (BLK_DEF_MAX_SECTORS). HDFS reads 4 MiB ahead, but a request
/// of another stream may follow each request.
const READAHEAD_BYTES: f64 = 1_310_720.0;
const READAHEAD_BYTES_MAX: f64 = 67_108_864.0;
/// Default of the maximum request of a device.
const REQUEST_BYTES: f64 = 524_288.0;
/// Default size of a disk.
const SIZE_BYTES: u64 = 4_000_000_000_000;
/// Minimum share of the memory of a node that caches files.
const CACHE_SHARE_MIN: f64 = 0.05;

pub fn cluster(item: &Json, daemon_memory_bytes: f64, assumptions: &mut Vec<String>) -> Result<Cluster, String> {
    let fields = Fields::new("cluster.".into(), item, &["nodes", "cpu_pool", "racks"])?;
    let mut types = Vec::new();
    for (index, node) in fields.list("nodes")?.iter().enumerate() {
        types.push(node_type(format!("cluster.nodes[{index}]."), node, daemon_memory_bytes, assumptions)?);
    }
    let names: Vec<&String> = types.iter().flat_map(|kind: &NodeType| &kind.names).collect();
    if names.is_empty() {
        return Err("cluster.nodes: at least one node is needed".into());
    }
    let mut sorted_names = names.clone();
    sorted_names.sort();
    if let Some(pair) = sorted_names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("cluster.nodes: {} occurs twice", pair[0]));
    }
    let mut pool_cores = None;
    if let Some(pool) = fields.optional("cpu_pool") {
        let pool = Fields::new("cluster.cpu_pool.".into(), pool, &["cores", "background_cores"])?;
        let (cores, background) = (pool.positive("cores")?, pool.number_or("background_cores", 0.0)?);
        if background >= cores {
            return Err("cluster.cpu_pool.background_cores: must be less than cores".into());
        }
        pool_cores = Some(cores - background);
    }
    let (mut rack_nodes, mut uplink_bytes_per_s) = (None, f64::INFINITY);
    if let Some(racks) = fields.optional("racks") {
        let racks = Fields::new("cluster.racks.".into(), racks, &["nodes", "uplink_bytes_per_s"])?;
        let nodes = racks.integer("nodes")?;
        if nodes == 0 || nodes > NODES_MAX {
            return Err(format!("cluster.racks.nodes: must be 1 to {NODES_MAX}"));
        }
        rack_nodes = Some(nodes as u32);
        uplink_bytes_per_s = racks.positive("uplink_bytes_per_s")?;
    }
    Ok(Cluster { types, pool_cores, rack_nodes, uplink_bytes_per_s })
}

const NODE_KEYS: [&str; 18] = [
    "name",
    "count",
    "names",
    "cores",
    "cpu_speed",
    "cpu_weight",
    "memory_bytes",
    "cache_bytes",
    "dirty_background_bytes",
    "dirty_bytes",
    "dirty_expire_s",
    "memory_bandwidth_bytes_per_s",
    "io_cpu_s_per_byte",
    "nic_in_bytes_per_s",
    "nic_out_bytes_per_s",
    "containers",
    "slow",
    "devices",
];

fn node_type(
    at: String,
    item: &Json,
    daemon_memory_bytes: f64,
    assumptions: &mut Vec<String>,
) -> Result<NodeType, String> {
    let fields = Fields::new(at, item, &NODE_KEYS)?;
    let name = fields.text("name")?;
    let names = node_names(&fields, &name)?;
    let containers =
        Fields::new(format!("{}containers.", fields.at), fields.required("containers")?, &["memory_bytes", "cores"])?;
    let container_memory_bytes = containers.positive("memory_bytes")?;
    let memory_bytes = fields.positive("memory_bytes")?;
    let default_cache_bytes =
        (memory_bytes - container_memory_bytes - daemon_memory_bytes).max(CACHE_SHARE_MIN * memory_bytes);
    let cache_bytes = fields.number_or("cache_bytes", default_cache_bytes)?;
    let cores = fields.positive("cores")?;
    let nic_in_bytes_per_s = fields.positive("nic_in_bytes_per_s")?;
    let mut devices = Vec::new();
    for (index, device) in fields.list("devices")?.iter().enumerate() {
        let at = format!("{}devices[{index}].", fields.at);
        devices.extend(device_group(at, device, &name, assumptions)?);
    }
    if devices.is_empty() || devices.len() > DEVICES_MAX {
        return Err(format!("{}devices: 1 to {DEVICES_MAX} are needed", fields.at));
    }
    let speed_factor = fields.positive_or("slow", 1.0)?;
    Ok(NodeType {
        name,
        names,
        cores,
        cpu_speed: fields.positive_or("cpu_speed", 1.0)? * speed_factor,
        cpu_weight: fields.positive_or("cpu_weight", cores)?,
        cache_bytes,
        dirty_background_bytes: fields.number_or("dirty_background_bytes", 0.1 * cache_bytes)?,
        dirty_bytes: fields.number_or("dirty_bytes", 0.2 * cache_bytes)?,
        dirty_expire_s: fields.number_or("dirty_expire_s", 30.0)?,
        memory_bytes_per_s: fields.positive_or("memory_bandwidth_bytes_per_s", 4e9)?,
        io_cpu_s_per_byte: fields.number_or("io_cpu_s_per_byte", 0.0)?,
        nic_in_bytes_per_s,
        nic_out_bytes_per_s: fields.positive_or("nic_out_bytes_per_s", nic_in_bytes_per_s)?,
        container_memory_bytes,
        container_cores: containers.positive_or("cores", f64::MAX)?,
        speed_factor,
        devices,
    })
}

fn node_names(fields: &Fields, name: &str) -> Result<Vec<String>, String> {
    if fields.optional("names").is_none() {
        let count = fields.integer_or("count", 1.0)?;
        if count > NODES_MAX {
            return Err(format!("{}count: more than {NODES_MAX}", fields.at));
        }
        return Ok((1..=count).map(|index| format!("{name}{index}")).collect());
    }
    let mut names = Vec::new();
    for item in fields.list("names")? {
        match item {
            Json::Text(text) if !text.is_empty() => names.push(text.clone()),
            _ => return Err(format!("{}names: must be a list of texts that are not empty", fields.at)),
        }
    }
    if fields.optional("count").is_some() && fields.integer("count")? != names.len() as u64 {
        return Err(format!("{}count: is not the number of names", fields.at));
    }
    Ok(names)
}

fn device_group(at: String, item: &Json, node: &str, assumptions: &mut Vec<String>) -> Result<Vec<DeviceSpec>, String> {
    let keys = [
        "name",
        "count",
        "size_bytes",
        "model",
        "purposes",
        "readahead_bytes",
        "request_bytes",
        "dirty_limit_bytes",
        "used_share",
    ];
    let fields = Fields::new(at, item, &keys)?;
    let name = fields.text("name")?;
    let size_bytes = fields.integer_or("size_bytes", SIZE_BYTES as f64)?;
    if size_bytes < 1 << 20 {
        return Err(format!("{}size_bytes: less than 1 MiB", fields.at));
    }
    let model = fields.required("model")?;
    let device_name = format!("{node}.{name}");
    let params = device_params(format!("{}model.", fields.at), model, size_bytes, &device_name, assumptions)?;
    let readahead_bytes = fields.positive_or("readahead_bytes", READAHEAD_BYTES)?.max(512.0);
    if readahead_bytes > READAHEAD_BYTES_MAX {
        return Err(format!("{}readahead_bytes: more than {READAHEAD_BYTES_MAX}", fields.at));
    }
    let request_bytes = fields.positive_or("request_bytes", readahead_bytes.min(REQUEST_BYTES))?;
    let used_share = fields.positive_or("used_share", 0.5)?;
    if used_share > 1.0 {
        return Err(format!("{}used_share: {used_share} is more than 1", fields.at));
    }
    let mut directories = [0, 0];
    if let Some(purposes) = fields.optional("purposes") {
        let purposes = Fields::new(format!("{}purposes.", fields.at), purposes, &["dfs", "intermediate"])?;
        for (count, purpose) in directories.iter_mut().zip(["dfs", "intermediate"]) {
            *count = purposes.integer_or(purpose, 0.0)?.min(1024) as u32;
        }
    }
    let count = fields.integer_or("count", 1.0)?;
    if count > 1024 {
        return Err(format!("{}count: more than 1024", fields.at));
    }
    let dirty_limit_bytes = fields.optional_positive("dirty_limit_bytes")?;
    let device = |name: String| DeviceSpec {
        name,
        params: params.clone(),
        size_bytes,
        dfs_directories: directories[0],
        intermediate_directories: directories[1],
        readahead_bytes,
        request_bytes: request_bytes.clamp(512.0, 1e8),
        dirty_limit_bytes,
        used_share,
    };
    let device_name_of = |index: u64| if count == 1 { name.clone() } else { format!("{name}-{index}") };
    Ok((1..=count).map(|index| device(device_name_of(index))).collect())
}

/// Read the parameters of a device. Default values replace the absent internal ones and are listed as assumptions.
fn device_params(
    at: String,
    item: &Json,
    size_bytes: u64,
    device_name: &str,
    assumptions: &mut Vec<String>,
) -> Result<Params, String> {
    let members = match item {
        Json::Object(members) => members.clone(),
        _ => return Err(format!("{}: must be an object", at.trim_end_matches('.'))),
    };
    let is_given = |key: &str| item.member(key).filter(|value| **value != Json::Null).is_some();
    let mut members: Vec<(String, Json)> = members;
    let common_rate = item.member("bytes_per_s").cloned();
    members.retain(|(key, value)| key != "bytes_per_s" && *value != Json::Null);
    let mut fill = |key: &str, value: Json| {
        if !members.iter().any(|(name, _)| name == key) {
            members.push((key.into(), value));
            return true;
        }
        false
    };
    if let Some(rate) = common_rate {
        fill("read_bytes_per_s", rate);
    }
    if !is_given("write_bytes_per_s") {
        let read_rate = item.member("read_bytes_per_s").or_else(|| item.member("bytes_per_s"));
        if let Some(rate) = read_rate {
            fill("write_bytes_per_s", rate.clone());
        }
    }
    let is_hdd = item.member("kind") == Some(&Json::Text("hdd".into()));
    let defaults = if is_hdd { fill_hdd(&at, item, &mut fill)? } else { fill_flash(item, &mut fill) };
    members.retain(|(key, _)| key != "iops");
    if !defaults.is_empty() {
        assumptions.push(format!("{device_name}: defaults, not stated: {}", defaults.join(", ")));
    }
    let params = device_model(at.clone(), &Json::Object(members), size_bytes)?;
    check_bounds(&at, &params)?;
    Ok(params)
}

/// Refuse values that no device has, or that the nanoseconds of the model cannot represent.
fn check_bounds(at: &str, params: &Params) -> Result<(), String> {
    let rate = (1e3, 1e13);
    let time = (0.0, 10.0);
    let iops = (0.1, 1e12);
    let bounds: Vec<(&str, f64, (f64, f64))> = match params {
        Params::Hdd(hdd) => vec![
            ("read_bytes_per_s", hdd.read_bytes_per_s, rate),
            ("write_bytes_per_s", hdd.write_bytes_per_s, rate),
            ("interface_bytes_per_s", hdd.interface_bytes_per_s, (1e3, 1e15)),
            ("inner_share", hdd.inner_share, (0.01, 1.0)),
            ("seek_track_s", hdd.seek_track_s, time),
            ("seek_full_s", hdd.seek_full_s, time),
            ("rpm", hdd.rpm, (60.0, 1e6)),
        ],
        Params::Ssd(ssd) => vec![
            ("read_bytes_per_s", ssd.read_bytes_per_s, rate),
            ("write_bytes_per_s", ssd.write_bytes_per_s, rate),
            ("burst_write_bytes_per_s", ssd.burst_write_bytes_per_s, rate),
            ("read_latency_s", ssd.read_latency_s, time),
            ("write_latency_s", ssd.write_latency_s, time),
            ("read_iops", ssd.read_iops.unwrap_or(1.0), iops),
            ("write_iops", ssd.write_iops.unwrap_or(1.0), iops),
        ],
    };
    match bounds.iter().find(|(_, value, (low, high))| value < low || value > high) {
        Some((key, value, (low, high))) => Err(format!("{at}{key}: {value} is not from {low:e} to {high:e}")),
        None => Ok(()),
    }
}

fn fill_hdd(at: &str, item: &Json, fill: &mut impl FnMut(&str, Json) -> bool) -> Result<Vec<String>, String> {
    let number = |key: &str, default: f64| match item.member(key) {
        Some(Json::Number(number)) => *number,
        _ => default,
    };
    let mut defaults = Vec::new();
    for (key, value) in [("inner_share", 1.0), ("seek_track_s", 0.001), ("rpm", 7200.0)] {
        if fill(key, Json::Number(value)) {
            defaults.push(format!("{key} {value}"));
        }
    }
    let mut full_s = 0.014;
    let track_s = number("seek_track_s", 0.001);
    if let Some(iops) = item.member("iops") {
        let iops = match iops {
            Json::Number(iops) if *iops > 0.0 => *iops,
            Json::Null => f64::INFINITY,
            other => return Err(format!("{at}iops: must be a number above 0, not {other:?}")),
        };
        if iops.is_finite() {
            // Full-stroke seek time with which the mean seek plus half a turn gives the stated IOPS.
            let mean_share = SeekCurve::new(0.0, 1.0).mean_s();
            let arm_s = (1.0 / iops - revolution_s(number("rpm", 7200.0)) / 2.0 - track_s).max(0.0);
            full_s = track_s + arm_s / mean_share;
        }
    }
    if fill("seek_full_s", Json::Number(full_s.max(track_s))) {
        defaults.push(format!("seek_full_s {:.4}", full_s.max(track_s)));
    }
    Ok(defaults)
}

fn fill_flash(item: &Json, fill: &mut impl FnMut(&str, Json) -> bool) -> Vec<String> {
    let mut defaults = Vec::new();
    for (key, value) in [("channels", 8.0), ("read_latency_s", 100e-6), ("write_latency_s", 50e-6)] {
        if fill(key, Json::Number(value)) {
            defaults.push(format!("{key} {value}"));
        }
    }
    if let Some(iops) = item.member("iops").filter(|value| **value != Json::Null) {
        fill("read_iops", iops.clone());
        fill("write_iops", iops.clone());
    }
    defaults
}
