//! Read the jobs of a scenario: their stages, and the input, computation and output of each stage.

use assay_spec::{json, Fields, Json};

use crate::read::{block_bytes, choice, range, replication, share, truth};
use crate::scenario::{CpuCosts, DatasetSpec, Input, Job, Output, ShuffleSpec, SortSpec, Stage, Storage};

const TASKS_MAX: u64 = 4_000_000;
const JOBS_MAX: usize = 1000;
const STAGES_MAX: usize = 1000;
/// Default share of the memory of a container that is its heap.
const HEAP_SHARE: f64 = 0.8;
const SORT_BUFFER_BYTES: f64 = 104_857_600.0;

pub fn jobs(items: &[Json], datasets: &[DatasetSpec], storage: &Storage) -> Result<Vec<Job>, String> {
    if items.is_empty() || items.len() > JOBS_MAX {
        return Err(format!("jobs: 1 to {JOBS_MAX} are needed"));
    }
    let mut dataset_names: Vec<String> = datasets.iter().map(|dataset| dataset.name.clone()).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let job = job(format!("jobs[{index}]."), item, &jobs, &dataset_names, storage)?;
        for stage in &job.stages {
            if let Output::Dfs { dataset: Some(name), .. } = &stage.output {
                if dataset_names.contains(name) {
                    return Err(format!("jobs[{index}]: {} is written but exists already", json::quoted(name)));
                }
                dataset_names.push(name.clone());
            }
        }
        jobs.push(job);
    }
    Ok(jobs)
}

fn job(at: String, item: &Json, earlier_jobs: &[Job], datasets: &[String], storage: &Storage) -> Result<Job, String> {
    let fields = Fields::new(at, item, &["name", "am_memory_bytes", "after", "fixed_s", "stages"])?;
    let mut after: Vec<usize> = earlier_jobs.len().checked_sub(1).into_iter().collect();
    if fields.optional("after").is_some() {
        after = indices_of(&fields, "after", &|name| earlier_jobs.iter().position(|job| job.name == *name))?;
    }
    let items = fields.list("stages")?;
    if items.is_empty() || items.len() > STAGES_MAX {
        return Err(format!("{}stages: 1 to {STAGES_MAX} are needed", fields.at));
    }
    let mut stages: Vec<Stage> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = format!("{}stages[{index}].", fields.at);
        let stage = stage(at, item, &stages, datasets, storage)?;
        stages.push(stage);
    }
    Ok(Job {
        name: fields.text("name")?,
        am_memory_bytes: fields.number_or("am_memory_bytes", 0.0)?,
        after,
        fixed_s: fields.number_or("fixed_s", 0.0)?,
        stages,
    })
}

/// Return the indices of the names in a list.
fn indices_of(fields: &Fields, key: &str, find: &dyn Fn(&String) -> Option<usize>) -> Result<Vec<usize>, String> {
    let mut indices = Vec::new();
    for item in fields.list(key)? {
        let index = match item {
            Json::Text(name) => find(name),
            _ => None,
        };
        indices.push(index.ok_or_else(|| format!("{}{key}: must be names of earlier entries", fields.at))?);
    }
    Ok(indices)
}

const STAGE_KEYS: [&str; 14] = [
    "name",
    "kind",
    "tasks",
    "memory_bytes",
    "cores",
    "input",
    "expand",
    "skew",
    "shares",
    "cpu",
    "output",
    "sort",
    "shuffle",
    "after",
];

fn stage(
    at: String,
    item: &Json,
    earlier_stages: &[Stage],
    datasets: &[String],
    storage: &Storage,
) -> Result<Stage, String> {
    let fields = Fields::new(at, item, &STAGE_KEYS)?;
    let input = input(&fields, earlier_stages, datasets)?;
    let tasks = match fields.optional("tasks") {
        Some(_) => Some(range(&fields, "tasks", 1, TASKS_MAX)? as u32),
        None if matches!(input, Input::Dfs { .. }) => None,
        None => return Err(format!("{}tasks: is missing; only an input from dfs has a usual number", fields.at)),
    };
    let memory_bytes = fields.positive_or("memory_bytes", 1.0)?;
    let mut after = Vec::new();
    if fields.optional("after").is_some() {
        after = indices_of(&fields, "after", &|name| earlier_stages.iter().position(|stage| stage.name == *name))?;
    }
    let skew = fields.number_or("skew", 0.0)?;
    if skew > 2.0 {
        return Err(format!("{}skew: {skew} is more than 2", fields.at));
    }
    Ok(Stage {
        name: fields.text("name")?,
        is_reduce: choice(&fields, "kind", &["map", "reduce"])? == 1,
        tasks,
        memory_bytes,
        cores: fields.positive_or("cores", 1.0)?,
        input,
        expand: fields.positive_or("expand", 1.0)?,
        skew,
        shares: shares(&fields, tasks)?,
        cpu: cpu(&fields)?,
        output: output(&fields, storage)?,
        sort: sort(&fields)?,
        shuffle: shuffle(&fields, memory_bytes)?,
        after,
    })
}

fn shares(fields: &Fields, tasks: Option<u32>) -> Result<Option<Vec<f64>>, String> {
    if fields.optional("shares").is_none() {
        return Ok(None);
    }
    let mut shares = Vec::new();
    for item in fields.list("shares")? {
        match item {
            Json::Number(number) if *number >= 0.0 => shares.push(*number),
            _ => return Err(format!("{}shares: must be numbers that are not negative", fields.at)),
        }
    }
    let sum: f64 = shares.iter().sum();
    if sum <= 0.0 || tasks.map_or(true, |tasks| tasks as usize != shares.len()) {
        return Err(format!("{}shares: must be one for each of `tasks`, and not all 0", fields.at));
    }
    Ok(Some(shares.iter().map(|share| share / sum).collect()))
}

fn input(stage: &Fields, earlier_stages: &[Stage], datasets: &[String]) -> Result<Input, String> {
    let item = stage.required("input")?;
    let at = format!("{}input.", stage.at);
    let fields = Fields::new(at, item, &["from", "dataset", "bytes", "located", "stage", "stages"])?;
    fields.required("from")?;
    let from = choice(&fields, "from", &["dfs", "generated", "stage", "none"])?;
    let find = |name: &String| earlier_stages.iter().position(|stage| stage.name == *name);
    match from {
        0 => {
            let dataset = fields.text("dataset")?;
            if !datasets.contains(&dataset) {
                let name = json::quoted(&dataset);
                return Err(format!("{}dataset: no dataset or earlier output is called {name}", fields.at));
            }
            let bytes = match fields.optional("bytes") {
                None => None,
                Some(_) => Some(fields.positive("bytes")?),
            };
            Ok(Input::Dfs { dataset, bytes, located: truth(&fields, "located", true)? })
        }
        1 => Ok(Input::Generated { bytes: fields.positive("bytes")? }),
        2 => {
            let indices = match fields.optional("stages") {
                Some(_) => indices_of(&fields, "stages", &find)?,
                None => {
                    let name = fields.text("stage")?;
                    let index = find(&name);
                    vec![index.ok_or_else(|| format!("{}stage: no earlier stage is called {name}", fields.at))?]
                }
            };
            if indices.is_empty() {
                return Err(format!("{}stages: at least one is needed", fields.at));
            }
            Ok(Input::Stages(indices))
        }
        _ => Ok(Input::None),
    }
}

fn cpu(stage: &Fields) -> Result<CpuCosts, String> {
    let empty = Json::Object(Vec::new());
    let keys =
        ["task_s", "read_s_per_byte", "process_s_per_byte", "sort_s_per_byte", "merge_s_per_byte", "write_s_per_byte"];
    let fields = Fields::new(format!("{}cpu.", stage.at), stage.optional("cpu").unwrap_or(&empty), &keys)?;
    Ok(CpuCosts {
        task_s: fields.number_or("task_s", 0.0)?,
        read_s_per_byte: fields.number_or("read_s_per_byte", 0.0)?,
        process_s_per_byte: fields.number_or("process_s_per_byte", 0.0)?,
        sort_s_per_byte: fields.number_or("sort_s_per_byte", 0.0)?,
        merge_s_per_byte: fields.number_or("merge_s_per_byte", 0.0)?,
        write_s_per_byte: fields.number_or("write_s_per_byte", 0.0)?,
    })
}

fn output(stage: &Fields, storage: &Storage) -> Result<Output, String> {
    let keys =
        ["to", "dataset", "ratio", "combiner", "compression", "replication", "block_bytes", "remote_cpu_s_per_byte"];
    let fields = Fields::new(format!("{}output.", stage.at), stage.required("output")?, &keys)?;
    fields.required("to")?;
    let ratio = fields.number_or("ratio", 1.0)?;
    let compression = fields.positive_or("compression", 1.0)?;
    Ok(match choice(&fields, "to", &["dfs", "shuffle", "none"])? {
        0 => Output::Dfs {
            dataset: match fields.optional("dataset") {
                None => None,
                Some(_) => Some(fields.text("dataset")?),
            },
            ratio,
            compression,
            replication: replication(&fields, storage.replication)?,
            block_bytes: block_bytes(&fields, storage.block_bytes)?,
            remote_cpu_s_per_byte: fields.number_or("remote_cpu_s_per_byte", 0.0)?,
        },
        1 => Output::Shuffle { ratio, combiner: share(&fields, "combiner", 1.0)?, compression },
        _ => Output::None,
    })
}

fn factor(fields: &Fields) -> Result<u32, String> {
    match fields.optional("factor") {
        None => Ok(10),
        Some(_) => Ok(range(fields, "factor", 2, 1_000_000)? as u32),
    }
}

fn sort(stage: &Fields) -> Result<SortSpec, String> {
    let empty = Json::Object(Vec::new());
    let keys = ["buffer_bytes", "spill_share", "factor", "metadata_share"];
    let fields = Fields::new(format!("{}sort.", stage.at), stage.optional("sort").unwrap_or(&empty), &keys)?;
    let spill_share = share(&fields, "spill_share", 0.8)?;
    if spill_share <= 0.0 {
        return Err(format!("{}spill_share: must be more than 0", fields.at));
    }
    Ok(SortSpec {
        buffer_bytes: fields.positive_or("buffer_bytes", SORT_BUFFER_BYTES)?,
        spill_share,
        factor: factor(&fields)?,
        metadata_share: fields.number_or("metadata_share", 0.16)?,
    })
}

fn shuffle(stage: &Fields, memory_bytes: f64) -> Result<ShuffleSpec, String> {
    let empty = Json::Object(Vec::new());
    let keys = [
        "slow_start",
        "copies",
        "heap_bytes",
        "buffer_share",
        "merge_share",
        "memory_limit_share",
        "kept_share",
        "factor",
    ];
    let fields = Fields::new(format!("{}shuffle.", stage.at), stage.optional("shuffle").unwrap_or(&empty), &keys)?;
    // A container without a stated memory gets a default heap of 1 GB.
    let default_heap_bytes = if memory_bytes > 1.0 { HEAP_SHARE * memory_bytes } else { 1e9 };
    Ok(ShuffleSpec {
        slow_start: share(&fields, "slow_start", 0.05)?,
        copies: match fields.optional("copies") {
            None => 5,
            Some(_) => range(&fields, "copies", 1, 100)? as u32,
        },
        heap_bytes: fields.positive_or("heap_bytes", default_heap_bytes)?,
        buffer_share: share(&fields, "buffer_share", 0.7)?.max(0.01),
        merge_share: share(&fields, "merge_share", 0.66)?.max(0.01),
        memory_limit_share: share(&fields, "memory_limit_share", 0.25)?,
        kept_share: share(&fields, "kept_share", 0.0)?,
        factor: factor(&fields)?,
    })
}
