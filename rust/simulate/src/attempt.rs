//! A task attempt: its state, its running activities, and the functions that all its steps use. `steps.rs` has the
//! order of the steps.

use crate::activity::{ByLimit, Limit, Owner, Use};
use crate::fair::PartId;
use crate::scenario::{Detail, Input};
use crate::schedule::Locality;
use crate::sim::Sim;

/// Concurrent activities of an attempt, by lane. Each fetch has a lane, from `FETCH` on.
pub const MAIN: u8 = 0;
pub const SPILL: u8 = 1;
pub const MEMORY_MERGE: u8 = 2;
pub const DISK_MERGE: u8 = 3;
pub const FETCH: u8 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Waiting,
    Starting,
    Shuffle,
    LastMerge,
    Sort,
    Work,
    Spill,
    Merge,
    Ending,
}

/// A file of intermediate data: its disk, and its positions in page cache and write-back.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub disk: u32,
    pub bytes: f64,
    pub cache_position: f64,
    pub disk_position: f64,
}

/// Seconds by step, in the order of the steps of a task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    pub start_s: f64,
    pub shuffle_s: f64,
    pub sort_s: f64,
    pub work_s: f64,
    pub spill_s: f64,
    pub merge_s: f64,
    pub end_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TaskCounters {
    pub input_bytes: f64,
    pub output_bytes: f64,
    pub dfs_read_bytes: f64,
    pub dfs_write_bytes: f64,
    pub shuffle_bytes: f64,
    pub spilled_bytes: f64,
    pub intermediate_read_bytes: f64,
    pub intermediate_write_bytes: f64,
    pub cpu_s: f64,
}

/// The data that a reduce fetches from one group of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub outputs: u32,
    pub group: u32,
    pub fetched_bytes: f64,
}

/// A running copy of map outputs to a reduce.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fetch {
    pub bytes: f64,
    pub to_memory: bool,
    pub segments: u32,
    pub file: Option<File>,
}

/// The shuffle of one reduce: its copies, and its data in memory and on disk.
#[derive(Debug)]
pub struct Reduce {
    pub share: f64,
    pub fetched_bytes: f64,
    pub files: Vec<File>,
    pub expected_bytes: f64,
    /// Uncompressed bytes for each stored byte.
    pub expansion: f64,
    pub sources: Vec<Source>,
    /// Index of the source that is tried next.
    pub next_source_index: usize,
    pub fetches: Vec<Fetch>,
    /// One bit for each running copy.
    pub active: u128,
    /// Uncompressed bytes that were received and not yet merged.
    pub memory_bytes: f64,
    /// Uncompressed bytes of the running copies to memory.
    pub reserved_bytes: f64,
    /// Size of the buffer in memory.
    pub limit_bytes: f64,
    /// Bytes in memory from which they are merged to disk.
    pub merge_bytes: f64,
    /// Maximum size of a segment that goes into memory.
    pub segment_bytes_max: f64,
    pub merging_bytes: f64,
    pub merging_files: usize,
    /// Maximum number of files that one merge reads.
    pub factor: u32,
    /// Bytes in memory that need not be written to disk before the reduce function runs.
    pub kept_bytes: f64,
    /// Whether a timer for new map outputs is set.
    pub polling: bool,
}

#[derive(Debug)]
pub struct Attempt {
    pub lives: bool,
    pub is_master: bool,
    pub is_speculative: bool,
    pub job: u32,
    pub stage: u32,
    pub task: u32,
    pub node: u32,
    pub step: Step,
    /// Number of finished segments of the work, of `segments` in total.
    pub segment: u32,
    pub segments: u32,
    pub input_bytes: f64,
    /// Factor of the CPU time of this attempt: random, and larger for a straggler.
    pub factor: f64,
    pub locality: Locality,
    pub start_s: f64,
    /// Start of the current step.
    pub step_start_s: f64,
    pub shuffle_end_s: f64,
    pub sort_end_s: f64,
    pub limits: ByLimit,
    pub phases: Phases,
    pub counters: TaskCounters,
    pub lanes: Vec<(u8, PartId)>,
    pub files: Vec<File>,
    pub reduce: Option<Box<Reduce>>,
}

impl Attempt {
    pub fn task(
        job: u32,
        stage: u32,
        task: u32,
        node: u32,
        factor: f64,
        locality: Locality,
        is_speculative: bool,
    ) -> Attempt {
        Attempt {
            lives: true,
            is_master: false,
            is_speculative,
            job,
            stage,
            task,
            node,
            step: Step::Waiting,
            segment: 0,
            segments: 1,
            input_bytes: 0.0,
            factor,
            locality,
            start_s: 0.0,
            step_start_s: 0.0,
            shuffle_end_s: 0.0,
            sort_end_s: 0.0,
            limits: ByLimit::default(),
            phases: Phases::default(),
            counters: TaskCounters::default(),
            lanes: Vec::new(),
            files: Vec::new(),
            reduce: None,
        }
    }

    pub fn master(job: u32, node: u32) -> Attempt {
        Attempt { is_master: true, ..Attempt::task(job, 0, 0, node, 1.0, Locality::Any, false) }
    }
}

/// The record of a finished attempt, for the result.
#[derive(Clone, Debug)]
pub struct Record {
    pub job: u32,
    pub stage: u32,
    pub task: u32,
    pub node: u32,
    pub attempt: u32,
    pub status: &'static str,
    pub speculative: bool,
    pub locality: Option<Locality>,
    pub start_s: f64,
    pub end_s: f64,
    pub shuffle_end_s: f64,
    pub sort_end_s: f64,
    pub limits: ByLimit,
    pub phases: Phases,
    pub counters: TaskCounters,
}

impl Sim<'_> {
    pub fn new_attempt(&mut self, attempt: Attempt) -> u32 {
        match self.free_attempts.pop() {
            Some(index) => {
                self.attempts[index as usize] = attempt;
                index
            }
            None => {
                self.attempts.push(attempt);
                (self.attempts.len() - 1) as u32
            }
        }
    }

    /// Start the parts in `self.parts` for an attempt.
    pub fn run_lane(&mut self, index: u32, lane: u8, pieces: u32) {
        self.add_io_cpu();
        let parts = std::mem::take(&mut self.parts);
        for part in &parts {
            if let Use::Cpu { node, seconds } = *part {
                self.counters.cpu_s += seconds;
                self.world.nodes[node as usize].cpu_s += seconds;
                self.attempts[index as usize].counters.cpu_s += seconds;
            }
        }
        let id = self.engine.start(Owner { attempt: index, lane }, &parts, pieces);
        self.attempts[index as usize].lanes.push((lane, id));
        self.parts = parts;
        self.parts.clear();
    }

    /// Add the CPU time of disk input and output to the nodes that own the disks.
    fn add_io_cpu(&mut self) {
        for index in 0..self.parts.len() {
            if let Use::Read { disk, bytes, .. } | Use::Write { disk, bytes, .. } = self.parts[index] {
                let node = self.world.disk_node[disk as usize];
                let seconds = bytes * self.world.nodes[node as usize].io_cpu_s_per_byte;
                if seconds > 0.0 {
                    self.parts.push(Use::Cpu { node, seconds });
                }
            }
        }
    }

    pub fn is_running(&self, index: u32, lane: u8) -> bool {
        self.attempts[index as usize].lanes.iter().any(|&(running_lane, _)| running_lane == lane)
    }

    /// Return the seconds since the last step ended, and start the clock of the next step.
    pub fn step_seconds(&mut self, index: u32) -> f64 {
        let now = self.engine.now;
        let attempt = &mut self.attempts[index as usize];
        let seconds = now - attempt.step_start_s;
        attempt.step_start_s = now;
        seconds
    }

    /// Start the last step of an attempt: it commits, reports, and its JVM ends.
    pub fn start_end(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        attempt.step = Step::Ending;
        let costs = &self.scenario.engine;
        let (node, seconds) = (attempt.node, costs.task_end_cpu_s * attempt.factor);
        let wait = self.fixed(costs.task_end_s);
        self.parts.push(Use::Cpu { node, seconds });
        self.parts.push(Use::Wait { seconds: wait, limit: Limit::Fixed });
        self.run_lane(index, MAIN, 1);
    }

    /// Remove an attempt, and add its record to the result if the result has task records.
    pub fn retire(&mut self, index: u32, status: &'static str) {
        let now = self.engine.now;
        let attempt = &mut self.attempts[index as usize];
        attempt.lives = false;
        let lanes = std::mem::take(&mut attempt.lanes);
        for (_, id) in lanes {
            self.engine.cancel(id);
        }
        let attempt = &mut self.attempts[index as usize];
        attempt.reduce = None;
        if self.scenario.detail >= Detail::Tasks {
            let is_dfs = matches!(
                self.scenario.jobs[attempt.job as usize].stages[attempt.stage as usize].input,
                Input::Dfs { .. }
            );
            self.records.push(Record {
                job: attempt.job,
                stage: attempt.stage,
                task: attempt.task,
                node: attempt.node,
                attempt: u32::from(attempt.is_speculative),
                status,
                speculative: attempt.is_speculative,
                locality: is_dfs.then_some(attempt.locality),
                start_s: attempt.start_s,
                end_s: now,
                shuffle_end_s: attempt.shuffle_end_s,
                sort_end_s: attempt.sort_end_s,
                limits: attempt.limits,
                phases: attempt.phases,
                counters: attempt.counters,
            });
        }
        self.free_attempts.push(index);
    }
}
