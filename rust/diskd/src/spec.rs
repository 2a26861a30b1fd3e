//! Parse the specification file of the disks; every error names the field and what is wrong with it.

use std::fs;
use std::path::{Path, PathBuf};

use assay_devices::Model;
use assay_spec::{device_model, json, Fields, Json, Params};

const SECTOR_BYTES: u64 = 512;

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

impl DeviceSpec {
    pub fn model(&self, seed: u64) -> Model {
        self.params.model(seed)
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
            return Err(format!("devices[{index}].name: {} occurs twice", device.name));
        }
        if devices.iter().any(|other| other.image == device.image) {
            return Err(format!("devices[{index}].image: another device has it: {}", device.image.display()));
        }
        devices.push(device);
    }
    if devices.is_empty() {
        return Err("devices: at least one is needed".into());
    }
    Ok(Spec { mount: absolute_path(&fields, "mount")?, seed: fields.integer_or("seed", 0.0)?, devices })
}

fn device(at: String, item: &Json) -> Result<DeviceSpec, String> {
    let fields = Fields::new(at, item, &["name", "image", "size", "model"])?;
    let name = fields.text("name")?;
    if name.is_empty() || name.len() > 255 || name.contains('/') || name.starts_with('.') {
        return Err(format!("{}name: {} can't be a file name", fields.at, json::quoted(&name)));
    }
    let size_bytes = fields.integer("size")?;
    if size_bytes == 0 || size_bytes % SECTOR_BYTES != 0 {
        return Err(format!("{}size: {size_bytes} is not a positive multiple of {SECTOR_BYTES}", fields.at));
    }
    let params = device_model(format!("{}model.", fields.at), fields.required("model")?, size_bytes)?;
    Ok(DeviceSpec { name, image: absolute_path(&fields, "image")?, size_bytes, params })
}

fn absolute_path(fields: &Fields, key: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(fields.text(key)?);
    if !path.is_absolute() {
        return Err(format!("{}{key}: must be an absolute path", fields.at));
    }
    Ok(path)
}
