//! Tests of whole scenarios, as the program answers them.

mod agreement;
mod bad_input;
mod properties;
mod support;
