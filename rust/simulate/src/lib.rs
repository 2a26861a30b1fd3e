//! Simulate MapReduce jobs on a cluster in virtual time: no clock, no I/O, and no randomness except by the seed.
//!
//! ```
//! let mut tables = assay_simulate::Tables::default();
//! let answer = assay_simulate::answer("{\"id\": \"a\"}", &mut tables, || 0.0);
//! assert_eq!(answer, "{\"id\":\"a\",\"error\":\"cluster: is missing\",\"kind\":\"input\"}");
//! ```
//!
//! docs/explanation/simulator.md describes the model, docs/reference/simulator-scenarios.md the scenario and the
//! result.

mod activity;
mod attempt;
mod disk;
mod engine;
mod failures;
mod fair;
mod fit;
mod groups;
mod load;
mod mapside;
mod outcome;
mod outputs;
mod read;
mod read_cluster;
mod read_jobs;
mod reduceside;
mod rng;
mod scenario;
mod schedule;
mod series;
#[cfg(test)]
mod shares_test;
mod sim;
mod steps;
mod table;
mod text;
mod traces;
mod world;
mod writeback;

use assay_spec::json;

pub use table::Tables;

/// Simulate the scenario in a line of JSON; return a line of JSON, also for an invalid scenario. `clock` returns the
/// seconds since a start, for the only figure that is not deterministic.
pub fn answer(line: &str, tables: &mut Tables, clock: impl Fn() -> f64) -> String {
    let (id, scenario) = read::read(line);
    let start_s = clock();
    let result = scenario.and_then(|scenario| {
        fit::check(&scenario)?;
        let mut sim = sim::Sim::new(&scenario, tables)?;
        sim.run()?;
        Ok(outcome::outcome(&sim, &id, clock() - start_s))
    });
    result.unwrap_or_else(|failure| {
        let (id, text) = (outcome::id_text(&id), json::quoted(failure.text()));
        format!("{{\"id\":{id},\"error\":{text},\"kind\":\"{}\"}}", failure.kind())
    })
}
