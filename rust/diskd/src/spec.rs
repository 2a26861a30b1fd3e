//! Which disks are wanted, where? Parses the specification file; every error names the field and what is wrong with it.

use std::fs;
use std::path::{Path, PathBuf};

use assay_devices::{HddParams, Model, SsdParams};

use crate::json::{self, Json};

const SECTOR_BYTES: u64 = 512;
const QUEUE_DEPTH: f64 = 32.0;
/// The interface's rate as a multiple of the outer zone's: 600 MB/s of SATA to the 150 MB/s of a common drive.
const INTERFACE_SHARE: f64 = 4.0;

#[derive(Debug)]
pub struct Spec {
    pub mount: PathBuf,
    pub seed: u64,
    pub devices: Vec<DeviceSpec>,
}

#[derive(Debug)]
pub struct DeviceSpec {
    pub name: String,
    pub image: PathBuf,
    pub size_bytes: u64,
    pub params: Params,
}

#[derive(Debug)]
pub enum Params {
    Hdd(HddParams),
    Ssd(SsdParams),
}

impl DeviceSpec {
    pub fn model(&self, seed: u64) -> Model {
        match &self.params {
            Params::Hdd(params) => Model::hdd(params, seed),
            Params::Ssd(params) => Model::ssd(params),
        }
    }
}

pub fn load(path: &Path) -> Result<Spec, String> {
    let text = fs::read_to_string(path).map_err(|why| why.to_string())?;
    let document = json::parse(&text)?;
    let fields = Fields::new(String::new(), &document, &["mount", "seed", "devices"])?;
    let mut devices: Vec<DeviceSpec> = Vec::new();
    for (index, item) in fields.list("devices")?.iter().enumerate() {
        let device = device(format!("devices[{index}]."), item)?;
        if devices.iter().any(|other| other.name == device.name) {
            return Err(format!("devices[{index}].name: {} is there twice", device.name));
        }
        if devices.iter().any(|other| other.image == device.image) {
            return Err(format!("devices[{index}].image: another device has it: {}", device.image.display()));
        }
        devices.push(device);
    }
    if devices.is_empty() {
        return Err("devices: at least one is needed".into());
    }
    Ok(Spec { mount: fields.path("mount")?, seed: fields.integer_or("seed", 0.0)?, devices })
}

fn device(at: String, item: &Json) -> Result<DeviceSpec, String> {
    let fields = Fields::new(at, item, &["name", "image", "size", "model"])?;
    let name = fields.text("name")?;
    if name.is_empty() || name.len() > 255 || name.contains('/') || name.starts_with('.') {
        return Err(format!("{}name: {} can't be a file's name here", fields.at, json::quoted(&name)));
    }
    let size_bytes = fields.integer("size")?;
    if size_bytes == 0 || size_bytes % SECTOR_BYTES != 0 {
        return Err(format!("{}size: {size_bytes} is not a positive multiple of {SECTOR_BYTES}", fields.at));
    }
    let model = fields.required("model")?;
    let at = format!("{}model.", fields.at);
    let params = match model.member("kind") {
        Some(Json::Text(kind)) if kind == "hdd" => Params::Hdd(hdd(at, model, size_bytes)?),
        Some(Json::Text(kind)) if kind == "ssd" => Params::Ssd(ssd(at, model)?),
        _ => return Err(format!("{at}kind: must be \"hdd\" or \"ssd\"")),
    };
    Ok(DeviceSpec { name, image: fields.path("image")?, size_bytes, params })
}

fn hdd(at: String, item: &Json, size_bytes: u64) -> Result<HddParams, String> {
    let known = [
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
    let fields = Fields::new(at, item, &known)?;
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
        interface_bytes_per_s: fields.positive_or("interface_bytes_per_s", INTERFACE_SHARE * read_bytes_per_s)?,
    };
    if params.inner_share > 1.0 {
        return Err(format!("{}inner_share: {} is more than 1", fields.at, params.inner_share));
    }
    if params.seek_full_s < params.seek_track_s {
        return Err(format!("{}seek_full_s: less than seek_track_s", fields.at));
    }
    fields.depth(params.queue_depth)?;
    Ok(params)
}

fn ssd(at: String, item: &Json) -> Result<SsdParams, String> {
    let known = [
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
    let fields = Fields::new(at, item, &known)?;
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
    fields.depth(params.queue_depth)?;
    Ok(params)
}

impl Json {
    fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// An object's members, and the path to them for messages.
struct Fields<'a> {
    at: String,
    object: &'a Json,
}

impl<'a> Fields<'a> {
    fn new(at: String, object: &'a Json, known: &[&str]) -> Result<Fields<'a>, String> {
        let members = match object {
            Json::Object(members) => members,
            _ => return Err(format!("{}: must be an object", at.trim_end_matches('.'))),
        };
        if let Some((key, _)) = members.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            return Err(format!("{at}{key}: unknown; known are {}", known.join(", ")));
        }
        Ok(Fields { at, object })
    }

    /// A member that is there and not null.
    fn optional(&self, key: &str) -> Option<&'a Json> {
        self.object.member(key).filter(|value| **value != Json::Null)
    }

    fn required(&self, key: &str) -> Result<&'a Json, String> {
        self.optional(key).ok_or_else(|| format!("{}{key}: is missing", self.at))
    }

    fn text(&self, key: &str) -> Result<String, String> {
        match self.required(key)? {
            Json::Text(text) => Ok(text.clone()),
            _ => Err(format!("{}{key}: must be a string", self.at)),
        }
    }

    fn path(&self, key: &str) -> Result<PathBuf, String> {
        let path = PathBuf::from(self.text(key)?);
        if !path.is_absolute() {
            return Err(format!("{}{key}: must be an absolute path", self.at));
        }
        Ok(path)
    }

    fn list(&self, key: &str) -> Result<&'a [Json], String> {
        match self.required(key)? {
            Json::List(items) => Ok(items),
            _ => Err(format!("{}{key}: must be a list", self.at)),
        }
    }

    fn as_number(&self, key: &str, value: &Json) -> Result<f64, String> {
        match value {
            Json::Number(number) if *number >= 0.0 => Ok(*number),
            _ => Err(format!("{}{key}: must be a number that is not negative", self.at)),
        }
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        self.as_number(key, self.required(key)?)
    }

    fn number_or(&self, key: &str, default: f64) -> Result<f64, String> {
        self.optional(key).map_or(Ok(default), |value| self.as_number(key, value))
    }

    fn above_zero(&self, key: &str, number: f64) -> Result<f64, String> {
        if number <= 0.0 {
            return Err(format!("{}{key}: must be more than 0", self.at));
        }
        Ok(number)
    }

    fn positive(&self, key: &str) -> Result<f64, String> {
        self.above_zero(key, self.number(key)?)
    }

    fn positive_or(&self, key: &str, default: f64) -> Result<f64, String> {
        self.above_zero(key, self.number_or(key, default)?)
    }

    fn optional_positive(&self, key: &str) -> Result<Option<f64>, String> {
        self.optional(key).map(|_| self.positive(key)).transpose()
    }

    fn whole(&self, key: &str, number: f64) -> Result<u64, String> {
        if number.fract() != 0.0 || number >= 9_007_199_254_740_992.0 {
            return Err(format!("{}{key}: must be a whole number", self.at));
        }
        Ok(number as u64)
    }

    fn integer(&self, key: &str) -> Result<u64, String> {
        self.whole(key, self.number(key)?)
    }

    fn integer_or(&self, key: &str, default: f64) -> Result<u64, String> {
        self.whole(key, self.number_or(key, default)?)
    }

    fn depth(&self, depth: usize) -> Result<(), String> {
        if depth == 0 || depth > 65536 {
            return Err(format!("{}queue_depth: must be 1 to 65536", self.at));
        }
        Ok(())
    }
}
