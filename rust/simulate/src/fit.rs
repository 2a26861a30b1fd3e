//! Check before the simulation that a scenario can run: data fits onto devices, and tasks into containers.

use crate::scenario::{Failure, Input, Job, NodeType, Output, Scenario};

/// Refuse a scenario that can't be executed.
pub fn check(scenario: &Scenario) -> Result<(), Failure> {
    check_containers(scenario)?;
    check_purposes(scenario)?;
    check_room(scenario)
}

fn check_containers(scenario: &Scenario) -> Result<(), Failure> {
    for (job_index, job) in scenario.jobs.iter().enumerate() {
        let is_offered = |memory: f64, cores: f64| {
            let fits = |kind: &NodeType| kind.container_memory_bytes >= memory && kind.container_cores >= cores;
            scenario.cluster.types.iter().any(fits)
        };
        if !is_offered(job.am_memory_bytes, 0.0) {
            return Err(Failure::Input(format!(
                "jobs[{job_index}].am_memory_bytes: no node offers containers of this size"
            )));
        }
        for (index, stage) in job.stages.iter().enumerate() {
            if !is_offered(stage.memory_bytes, stage.cores) {
                return Err(Failure::Input(format!(
                    "jobs[{job_index}].stages[{index}]: no node has containers with its memory_bytes and cores"
                )));
            }
        }
    }
    Ok(())
}

fn check_purposes(scenario: &Scenario) -> Result<(), Failure> {
    let stages = || scenario.jobs.iter().flat_map(|job| &job.stages);
    let devices = || scenario.cluster.types.iter().flat_map(|kind| &kind.devices);
    if !devices().any(|device| device.dfs_directories > 0) {
        let writes_dfs = stages().any(|stage| matches!(stage.output, Output::Dfs { .. }));
        if writes_dfs || !scenario.datasets.is_empty() {
            return Err(Failure::Input("cluster.nodes: no device has the purpose dfs".into()));
        }
    }
    let shuffles = stages().any(|stage| matches!(stage.output, Output::Shuffle { .. }));
    for kind in scenario.cluster.types.iter().filter(|kind| !kind.names.is_empty()) {
        let has_intermediate = kind.devices.iter().any(|device| device.intermediate_directories > 0);
        if shuffles && !has_intermediate {
            return Err(Failure::Input(format!(
                "cluster.nodes: {}: no device has the purpose intermediate",
                kind.name
            )));
        }
    }
    Ok(())
}

/// Return the bytes that a job stores: output to dfs with its copies, and intermediate data. Add the datasets that the
/// job writes to `written`.
fn stored_bytes(job: &Job, written: &mut Vec<(String, f64)>, scenario: &Scenario) -> (f64, f64) {
    let (mut dfs, mut intermediate) = (0.0, 0.0);
    let mut outputs: Vec<(f64, f64)> = Vec::new();
    for stage in &job.stages {
        let (stored, expansion) = match &stage.input {
            Input::None => (0.0, 1.0),
            Input::Generated { bytes } => (*bytes, 1.0),
            Input::Dfs { dataset, bytes, .. } => {
                let dataset_bytes = scenario.datasets.iter().find(|spec| spec.name == *dataset).map(|spec| spec.bytes);
                let written_bytes = written.iter().find(|(name, _)| name == dataset).map(|(_, bytes)| *bytes);
                (bytes.or(dataset_bytes).or(written_bytes).unwrap_or(0.0), 1.0)
            }
            Input::Stages(sources) => {
                let stored = sources.iter().map(|&source| outputs[source].0).sum();
                (stored, sources.first().map_or(1.0, |&source| outputs[source].1))
            }
        };
        let uncompressed = stored * expansion * stage.expand;
        match &stage.output {
            Output::Dfs { dataset, ratio, compression, replication, .. } => {
                let bytes = uncompressed * ratio * compression;
                dfs += bytes * f64::from(*replication);
                written.extend(dataset.iter().map(|name| (name.clone(), bytes)));
                outputs.push((0.0, 1.0));
            }
            Output::Shuffle { ratio, combiner, compression } => {
                let bytes = uncompressed * ratio * combiner * compression;
                intermediate += bytes;
                outputs.push((bytes, 1.0 / compression));
            }
            Output::None => outputs.push((0.0, 1.0)),
        }
    }
    (dfs, intermediate)
}

fn check_room(scenario: &Scenario) -> Result<(), Failure> {
    let size = |is_dfs: bool| -> f64 {
        let of_type = |kind: &NodeType| -> f64 {
            let devices = kind
                .devices
                .iter()
                .filter(|device| (if is_dfs { device.dfs_directories } else { device.intermediate_directories }) > 0);
            devices.map(|device| device.size_bytes as f64).sum::<f64>() * kind.names.len() as f64
        };
        scenario.cluster.types.iter().map(of_type).sum()
    };
    let nodes = scenario.nodes() as f64;
    let copies = |replication: u32| f64::from(replication).min(nodes);
    let mut dfs: f64 = scenario.datasets.iter().map(|spec| spec.bytes * copies(spec.replication)).sum();
    let mut intermediate: f64 = 0.0;
    let mut written = Vec::new();
    for job in &scenario.jobs {
        let (job_dfs, job_intermediate) = stored_bytes(job, &mut written, scenario);
        dfs += job_dfs;
        intermediate = intermediate.max(job_intermediate);
    }
    for (purpose, needed, capacity) in [("dfs", dfs, size(true)), ("intermediate", intermediate, size(false))] {
        if needed > capacity {
            return Err(Failure::DoesNotFit(format!(
                "{purpose}: {:.1} GB are needed with all copies, and its devices have {:.1} GB",
                needed / 1e9,
                capacity / 1e9
            )));
        }
    }
    Ok(())
}
