//! Tests of whole scenarios with the answers of the program.

mod agreement;
mod bad_input;
mod properties;
mod support;
