//! Read and check the description of a device: the parameters of the models in `assay-devices`.

use assay_devices::{HddParams, Model, SsdParams};

use crate::{Fields, Json};

const QUEUE_DEPTH: f64 = 32.0;
/// Default rate of the interface as a multiple of the outer zone's rate: SATA has 600 MB/s, a common drive 150 MB/s.
const INTERFACE_FACTOR: f64 = 4.0;

#[derive(Clone, Debug)]
pub enum Params {
    Hdd(HddParams),
    Ssd(SsdParams),
}

impl Params {
    pub fn model(&self, seed: u64) -> Model {
        match self {
            Params::Hdd(params) => Model::hdd(params, seed),
            Params::Ssd(params) => Model::ssd(params),
        }
    }
}

/// Read the model of a hard disk or an SSD. `at` is the path to it for messages, with a trailing point.
pub fn device_model(at: String, item: &Json, size_bytes: u64) -> Result<Params, String> {
    match item.member("kind") {
        Some(Json::Text(kind)) if kind == "hdd" => Ok(Params::Hdd(hdd(at, item, size_bytes)?)),
        Some(Json::Text(kind)) if kind == "ssd" => Ok(Params::Ssd(ssd(at, item)?)),
        _ => Err(format!("{at}kind: must be \"hdd\" or \"ssd\"")),
    }
}

pub fn hdd(at: String, item: &Json, size_bytes: u64) -> Result<HddParams, String> {
    let keys = [
        "kind",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "inner_share",
        "seek_track_s",
        "seek_full_s",
        "rpm",
        "queue_depth",
        "write_cache_bytes",
        "interface_bytes_per_s",
    ];
    let fields = Fields::new(at, item, &keys)?;
    let read_bytes_per_s = fields.positive("read_bytes_per_s")?;
    let params = HddParams {
        size_bytes,
        read_bytes_per_s,
        write_bytes_per_s: fields.positive("write_bytes_per_s")?,
        inner_share: fields.positive("inner_share")?,
        seek_track_s: fields.number("seek_track_s")?,
        seek_full_s: fields.number("seek_full_s")?,
        rpm: fields.positive("rpm")?,
        queue_depth: fields.integer_or("queue_depth", QUEUE_DEPTH)? as usize,
        write_cache_bytes: fields.integer_or("write_cache_bytes", 0.0)?,
        interface_bytes_per_s: fields.positive_or("interface_bytes_per_s", INTERFACE_FACTOR * read_bytes_per_s)?,
    };
    if params.inner_share > 1.0 {
        return Err(format!("{}inner_share: {} is more than 1", fields.at, params.inner_share));
    }
    if params.seek_full_s < params.seek_track_s {
        return Err(format!("{}seek_full_s: less than seek_track_s", fields.at));
    }
    fields.check_queue_depth(params.queue_depth)?;
    Ok(params)
}

pub fn ssd(at: String, item: &Json) -> Result<SsdParams, String> {
    let keys = [
        "kind",
        "channels",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "burst_write_bytes_per_s",
        "burst_bytes",
        "read_latency_s",
        "write_latency_s",
        "read_iops",
        "write_iops",
        "queue_depth",
    ];
    let fields = Fields::new(at, item, &keys)?;
    let write_bytes_per_s = fields.positive("write_bytes_per_s")?;
    let params = SsdParams {
        channels: fields.integer("channels")? as usize,
        read_bytes_per_s: fields.positive("read_bytes_per_s")?,
        write_bytes_per_s,
        burst_write_bytes_per_s: fields.positive_or("burst_write_bytes_per_s", write_bytes_per_s)?,
        burst_bytes: fields.number_or("burst_bytes", 0.0)?,
        read_latency_s: fields.number("read_latency_s")?,
        write_latency_s: fields.number("write_latency_s")?,
        read_iops: fields.optional_positive("read_iops")?,
        write_iops: fields.optional_positive("write_iops")?,
        queue_depth: fields.integer_or("queue_depth", QUEUE_DEPTH)? as usize,
    };
    if params.channels == 0 || params.channels > 1024 {
        return Err(format!("{}channels: must be 1 to 1024", fields.at));
    }
    fields.check_queue_depth(params.queue_depth)?;
    Ok(params)
}
