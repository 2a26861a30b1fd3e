//! Read specifications in JSON: the parser, typed access to the members of an object, and devices.
//!
//! Every error names the field and what is wrong with it. The daemon and the simulator both use this crate, so they
//! read the same description of a disk.

mod devices;
mod fields;
pub mod json;

pub use devices::{device_model, hdd, ssd, Params};
pub use fields::Fields;
pub use json::Json;
