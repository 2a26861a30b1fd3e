//! Read specifications in JSON: the parser, typed access to the members of an object, and devices.
//!
//! Every error names the field and what is wrong with it. Shared by the daemon and the simulator, so that one text
//! describes the same disk to both.

mod devices;
mod fields;
pub mod json;

pub use devices::{device_model, hdd, ssd, Params};
pub use fields::Fields;
pub use json::Json;
