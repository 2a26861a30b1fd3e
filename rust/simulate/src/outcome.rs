//! Write the result of a simulation as JSON.

use std::collections::BTreeSet;

use assay_spec::{json, Json};

use crate::activity::{ByLimit, LIMITS};
use crate::attempt::Record;
use crate::groups::NODES_SHOWN;
use crate::scenario::{Detail, Fidelity, Scenario};
use crate::schedule::Locality;
use crate::sim::{JobState, Sim};
use crate::text::Text;
use crate::traces;

/// Return the id of a scenario unchanged.
pub fn id_text(id: &Option<Json>) -> String {
    match id {
        Some(Json::Text(text)) => json::quoted(text),
        Some(Json::Number(number)) => format!("{number}"),
        _ => "null".into(),
    }
}

pub fn outcome(sim: &Sim, id: &Option<Json>, wall_s: f64) -> String {
    let scenario = sim.scenario;
    let mut text = Text(String::new());
    text.open(None, '{');
    text.0.push_str(&format!("\"id\":{}", id_text(id)));
    text.truth("simulated", true);
    text.text("fidelity", if scenario.fidelity == Fidelity::Flows { "flows" } else { "requests" });
    text.number("seed", scenario.seed as f64);
    text.number("duration_s", sim.end_s);
    text.number("events", sim.engine.events as f64);
    text.number("wall_s", wall_s);
    jobs(&mut text, sim);
    phases(&mut text, sim);
    counters(&mut text, sim);
    limits(&mut text, &sim.engine.limits);
    devices(&mut text, sim);
    nodes(&mut text, sim);
    if scenario.detail >= Detail::Tasks {
        if scenario.task_columns {
            columns(&mut text, sim);
        } else {
            text.open(Some("tasks"), '[');
            for record in &sim.records {
                task(&mut text, sim, record);
            }
            text.close(']');
        }
    }
    if scenario.detail == Detail::Traces {
        traces::write_traces(&mut text, sim);
    }
    text.open(Some("assumptions"), '[');
    for assumption in &scenario.assumptions {
        text.comma();
        text.0.push_str(&json::quoted(assumption));
    }
    text.close(']');
    text.close('}');
    text.0
}

fn kind_name(is_reduce: bool) -> &'static str {
    if is_reduce {
        "reduce"
    } else {
        "map"
    }
}

fn each_job<'a>(sim: &'a Sim) -> impl Iterator<Item = (&'a crate::scenario::Job, &'a JobState)> {
    let scenario: &'a Scenario = sim.scenario;
    scenario.jobs.iter().zip(&sim.jobs)
}

fn jobs(text: &mut Text, sim: &Sim) {
    text.open(Some("jobs"), '[');
    for (spec, state) in each_job(sim) {
        text.open(None, '{');
        text.text("name", &spec.name);
        text.number("submit_s", state.submit_s);
        text.number("start_s", state.start_s);
        text.number("end_s", state.end_s);
        text.open(Some("stages"), '[');
        for (stage, state) in spec.stages.iter().zip(&state.stages) {
            text.open(None, '{');
            text.text("name", &stage.name);
            text.text("kind", kind_name(stage.is_reduce));
            text.number("tasks", f64::from(state.tasks));
            text.number("start_s", state.start_s);
            text.number("first_end_s", state.first_end_s);
            text.number("end_s", state.end_s);
            text.close('}');
        }
        text.close(']');
        text.close('}');
    }
    text.close(']');
}

/// Write the phases of each job: maps; shuffle, sort and reduce; overhead before and after them.
fn phases(text: &mut Text, sim: &Sim) {
    text.open(Some("phases"), '[');
    for (spec, state) in each_job(sim) {
        let mut phase = |name: &str, start_s: f64, end_s: f64| {
            if end_s > start_s {
                text.open(None, '{');
                text.text("name", name);
                text.text("job", &spec.name);
                text.number("start_s", start_s);
                text.number("end_s", end_s);
                text.close('}');
            }
        };
        let first_start_s = state.stages.iter().map(|stage| stage.start_s).fold(f64::INFINITY, f64::min);
        let last_end_s = state.stages.iter().map(|stage| stage.end_s).fold(0.0, f64::max);
        phase("overhead", state.submit_s, first_start_s);
        for stage in &state.stages {
            if stage.shuffle_end_s > 0.0 {
                phase("shuffle", stage.shuffle_first_s, stage.shuffle_end_s);
                phase("sort", stage.shuffle_end_s, stage.sort_end_s);
                phase("reduce", stage.sort_end_s, stage.end_s);
            } else {
                phase("map", stage.start_s, stage.end_s);
            }
        }
        phase("overhead", last_end_s, state.end_s);
    }
    text.close(']');
}

fn counters(text: &mut Text, sim: &Sim) {
    let counters = &sim.counters;
    let (mut disk_read_bytes, mut disk_written_bytes) = (0.0, 0.0);
    for disk in sim.world.nodes.iter().flat_map(|node| &node.disks) {
        disk_read_bytes += sim.engine.disk(*disk).totals.read_bytes;
        disk_written_bytes += sim.engine.disk(*disk).totals.written_bytes;
    }
    text.open(Some("counters"), '{');
    for (name, value) in [
        ("dfs_read_bytes", counters.dfs_read_bytes),
        ("dfs_write_bytes", counters.dfs_write_bytes),
        ("dfs_replica_write_bytes", counters.dfs_replica_write_bytes),
        ("intermediate_read_bytes", counters.intermediate_read_bytes),
        ("intermediate_write_bytes", counters.intermediate_write_bytes),
        ("shuffle_bytes", counters.shuffle_bytes),
        ("cache_read_bytes", counters.cache_read_bytes),
        ("disk_read_bytes", disk_read_bytes),
        ("disk_write_bytes", disk_written_bytes),
        ("network_bytes", counters.network_bytes),
        ("spilled_bytes", counters.spilled_bytes),
        ("spills", counters.spills),
        ("merge_passes", counters.merge_passes),
        ("local_maps", counters.local_maps),
        ("rack_maps", counters.rack_maps),
        ("remote_maps", counters.remote_maps),
        ("cpu_s", counters.cpu_s),
        ("killed_attempts", counters.killed_attempts),
        ("speculative_attempts", counters.speculative_attempts),
    ] {
        text.number(name, value);
    }
    text.close('}');
}

/// Write the seconds of all tasks by limit, and their shares of the sum.
fn limits(text: &mut Text, limits: &ByLimit) {
    text.open(Some("limits"), '{');
    let sum: f64 = limits.iter().sum();
    for (limit, name) in LIMITS {
        text.number(name, limits[limit as usize]);
    }
    text.open(Some("shares"), '{');
    for (limit, name) in LIMITS {
        text.number(name, if sum > 0.0 { limits[limit as usize] / sum } else { 0.0 });
    }
    text.close('}');
    text.close('}');
}

/// Return the rows of nodes: each node alone, or in a large cluster the nodes of each type together. A row has its
/// name, type and nodes.
fn node_rows(sim: &Sim) -> Vec<(String, usize, Vec<u32>)> {
    let all = || (0..sim.world.nodes.len() as u32).map(|index| (index, &sim.world.nodes[index as usize]));
    if sim.world.nodes.len() <= NODES_SHOWN {
        return all().map(|(index, node)| (node.name.clone(), node.kind as usize, vec![index])).collect();
    }
    let types = sim.scenario.cluster.types.iter().enumerate();
    let nodes_of_type =
        |kind: usize| all().filter(|(_, node)| node.kind as usize == kind).map(|(index, _)| index).collect();
    types.map(|(kind, spec)| (spec.name.clone(), kind, nodes_of_type(kind))).collect()
}

fn devices(text: &mut Text, sim: &Sim) {
    text.open(Some("devices"), '[');
    for (name, kind, members) in node_rows(sim) {
        for (position, device) in sim.scenario.cluster.types[kind].devices.iter().enumerate() {
            let mut sums = [0.0; 5];
            for &node in &members {
                let totals = &sim.engine.disk(sim.world.nodes[node as usize].disks[position]).totals;
                let values = [totals.read_bytes, totals.written_bytes, totals.reads, totals.writes, totals.busy_s];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            text.open(None, '{');
            text.text("node", &name);
            if members.len() > 1 {
                text.number("nodes", members.len() as f64);
            }
            text.text("device", &device.name);
            let is_hdd = matches!(device.params, assay_spec::Params::Hdd(_));
            text.text("kind", if is_hdd { "hdd" } else { "ssd" });
            for (key, sum) in ["read_bytes", "write_bytes", "reads", "writes", "busy_s"].iter().zip(sums) {
                text.number(key, sum);
            }
            let requests = sums[2] + sums[3];
            text.number("request_bytes", if requests > 0.0 { (sums[0] + sums[1]) / requests } else { 0.0 });
            text.close('}');
        }
    }
    text.close(']');
}

fn nodes(text: &mut Text, sim: &Sim) {
    text.open(Some("nodes"), '[');
    for (name, kind, members) in node_rows(sim) {
        let sum = |value: &dyn Fn(&crate::world::Node) -> f64| -> f64 {
            members.iter().map(|&node| value(&sim.world.nodes[node as usize])).sum()
        };
        let served_bytes = |link: u32| sim.engine.link(link).served_at(sim.engine.now);
        text.open(None, '{');
        text.text("node", &name);
        if members.len() > 1 {
            text.number("nodes", members.len() as f64);
        }
        text.number("nic_in_bytes", sum(&|node| served_bytes(node.link_in)));
        text.number("nic_out_bytes", sum(&|node| served_bytes(node.link_out)));
        text.number("cpu_s", sum(&|node| node.cpu_s));
        text.number("cores", sim.scenario.cluster.types[kind].cores);
        text.close('}');
    }
    text.close(']');
}

fn limit_name(limits: &ByLimit) -> &'static str {
    let longest = LIMITS.iter().max_by(|a, b| limits[a.0 as usize].total_cmp(&limits[b.0 as usize]));
    longest.map_or("fixed", |&(_, name)| name)
}

fn task(text: &mut Text, sim: &Sim, record: &Record) {
    let spec = &sim.scenario.jobs[record.job as usize];
    let stage = &spec.stages[record.stage as usize];
    text.open(None, '{');
    text.text("job", &spec.name);
    text.text("stage", &stage.name);
    text.text("kind", kind_name(stage.is_reduce));
    text.number("index", f64::from(record.task));
    text.number("attempt", f64::from(record.attempt));
    text.text("node", &sim.world.nodes[record.node as usize].name);
    text.number("start_s", record.start_s);
    text.number("end_s", record.end_s);
    text.text("status", record.status);
    text.truth("speculative", record.speculative);
    let phases = &record.phases;
    text.open(Some("phases"), '{');
    let work = if record.shuffle_end_s > 0.0 { "reduce" } else { "process" };
    for (name, seconds) in [
        ("start", phases.start_s),
        ("shuffle", phases.shuffle_s),
        ("sort", phases.sort_s),
        (work, phases.work_s),
        ("spill", phases.spill_s),
        ("merge", phases.merge_s),
        ("end", phases.end_s),
    ] {
        if seconds > 0.0 {
            text.number(name, seconds);
        }
    }
    text.close('}');
    if record.shuffle_end_s > 0.0 {
        text.number("shuffle_end_s", record.shuffle_end_s);
        text.number("sort_end_s", record.sort_end_s);
    }
    text.text("limit", limit_name(&record.limits));
    if let Some(locality) = record.locality {
        let name = match locality {
            Locality::Node => "node",
            Locality::Rack => "rack",
            Locality::Any => "any",
        };
        text.text("locality", name);
    }
    let counters = &record.counters;
    text.open(Some("counters"), '{');
    for (name, value) in [
        ("input_bytes", counters.input_bytes),
        ("output_bytes", counters.output_bytes),
        ("dfs_read_bytes", counters.dfs_read_bytes),
        ("dfs_write_bytes", counters.dfs_write_bytes),
        ("shuffle_bytes", counters.shuffle_bytes),
        ("spilled_bytes", counters.spilled_bytes),
        ("intermediate_read_bytes", counters.intermediate_read_bytes),
        ("intermediate_write_bytes", counters.intermediate_write_bytes),
        ("cpu_s", counters.cpu_s),
    ] {
        text.number(name, value);
    }
    text.close('}');
    text.close('}');
}

/// Write the tasks as columns, for jobs with many tasks: names of stages and nodes are written once.
fn columns(text: &mut Text, sim: &Sim) {
    let specs = &sim.scenario.jobs;
    text.open(Some("task_columns"), '{');
    let mut first_stage = Vec::new();
    let mut stages = 0;
    text.open(Some("stages"), '[');
    for job in specs {
        first_stage.push(stages);
        stages += job.stages.len() as u32;
        for stage in &job.stages {
            text.open(None, '{');
            text.text("job", &job.name);
            text.text("stage", &stage.name);
            text.text("kind", kind_name(stage.is_reduce));
            text.close('}');
        }
    }
    text.close(']');
    let statuses: BTreeSet<&str> = sim.records.iter().map(|record| record.status).collect();
    let statuses: Vec<&str> = statuses.into_iter().collect();
    text.texts("statuses", statuses.iter().copied());
    text.texts("nodes", sim.world.nodes.iter().map(|node| node.name.as_str()));
    let mut column = |name: &str, value: &dyn Fn(&Record) -> f64| text.values(name, sim.records.iter().map(value));
    column("stage", &|record| f64::from(first_stage[record.job as usize] + record.stage));
    column("status", &|record| statuses.iter().position(|status| *status == record.status).unwrap_or(0) as f64);
    column("index", &|record| f64::from(record.task));
    column("attempt", &|record| f64::from(record.attempt));
    column("node", &|record| f64::from(record.node));
    column("start_s", &|record| record.start_s);
    column("end_s", &|record| record.end_s);
    column("shuffle_end_s", &|record| record.shuffle_end_s);
    column("sort_end_s", &|record| record.sort_end_s);
    column("dfs_read_bytes", &|record| record.counters.dfs_read_bytes);
    column("dfs_write_bytes", &|record| record.counters.dfs_write_bytes);
    column("shuffle_bytes", &|record| record.counters.shuffle_bytes);
    column("spilled_bytes", &|record| record.counters.spilled_bytes);
    column("output_bytes", &|record| record.counters.output_bytes);
    column("intermediate_read_bytes", &|record| record.counters.intermediate_read_bytes);
    column("intermediate_write_bytes", &|record| record.counters.intermediate_write_bytes);
    column("cpu_s", &|record| record.counters.cpu_s);
    text.close('}');
}
