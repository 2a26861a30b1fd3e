//! What does one try of a task go through? Its start, its steps by turns and side by side, its end.

use crate::activity::{ByLimit, Limit, Owner, Use};
use crate::fair::PartId;
use crate::reduceside::Reduce;
use crate::scenario::{Detail, Input, Output};
use crate::schedule::{next_beat, Locality};
use crate::sim::{Sim, Timer};

/// What an attempt does side by side.
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

/// A file of intermediate data: where it is, and where it went in page cache and write-back.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub disk: u32,
    pub bytes: f64,
    pub cache_position: f64,
    pub disk_position: f64,
}

/// Seconds by step, in the order in which a task goes through them.
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

#[derive(Debug)]
pub struct Attempt {
    pub lives: bool,
    pub is_master: bool,
    pub again: bool,
    pub job: u32,
    pub stage: u32,
    pub task: u32,
    pub node: u32,
    pub step: Step,
    pub segment: u32,
    pub segments: u32,
    pub input_bytes: f64,
    pub factor: f64,
    pub locality: Locality,
    pub start_s: f64,
    pub step_s: f64,
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
    pub fn task(job: u32, stage: u32, task: u32, node: u32, factor: f64, locality: Locality, again: bool) -> Attempt {
        Attempt {
            lives: true,
            is_master: false,
            again,
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
            step_s: 0.0,
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

/// A finished attempt, for results.
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

    /// Start what `self.parts` holds for an attempt.
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

    /// What moving bytes to and from disks costs the nodes that have them in CPU.
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
        self.attempts[index as usize].lanes.iter().any(|&(known, _)| known == lane)
    }

    /// The container is there: the JVM starts.
    pub fn launch(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        if !attempt.lives {
            return;
        }
        attempt.step = Step::Starting;
        let costs = &self.scenario.engine;
        let seconds = if attempt.is_master { costs.am_start_cpu_s } else { costs.task_start_cpu_s };
        let part = Use::Cpu { node: attempt.node, seconds: seconds * attempt.factor };
        let from = attempt.start_s;
        if !attempt.is_master {
            self.engine.waited(from, Limit::Fixed);
            let limits = &mut self.attempts[index as usize].limits;
            limits[Limit::Fixed as usize] += self.engine.now - from;
        }
        self.parts.push(part);
        self.run_lane(index, MAIN, 1);
    }

    pub fn lane_ended(&mut self, owner: Owner) {
        let index = owner.attempt;
        self.attempts[index as usize].lanes.retain(|&(lane, _)| lane != owner.lane);
        match owner.lane {
            MAIN => self.step_ended(index),
            SPILL => {
                let attempt = &self.attempts[index as usize];
                if attempt.step == Step::Work && attempt.segment >= attempt.segments {
                    self.work_ended(index);
                }
            }
            MEMORY_MERGE => self.memory_merged(index),
            DISK_MERGE => self.disk_merged(index),
            lane => self.fetched(index, lane),
        }
    }

    /// Seconds since the last step ended, and from now on those of the next.
    pub fn step_seconds(&mut self, index: u32) -> f64 {
        let now = self.engine.now;
        let attempt = &mut self.attempts[index as usize];
        let seconds = now - attempt.step_s;
        attempt.step_s = now;
        seconds
    }

    fn step_ended(&mut self, index: u32) {
        let step = self.attempts[index as usize].step;
        match step {
            Step::Waiting | Step::Shuffle => {}
            Step::Starting => {
                if self.attempts[index as usize].is_master {
                    let job = self.attempts[index as usize].job as usize;
                    self.attempts[index as usize].lives = false;
                    self.free_attempts.push(index);
                    let heard =
                        next_beat(self.engine.now, self.jobs[job].am_phase, self.scenario.engine.am_heartbeat_s);
                    self.engine.timer(heard, Timer::JobRuns(job as u32));
                    return;
                }
                self.started(index);
            }
            Step::LastMerge => self.last_merge_ended(index),
            Step::Sort => self.begin_work(index),
            Step::Work => {
                self.attempts[index as usize].segment += 1;
                let attempt = &self.attempts[index as usize];
                if attempt.segment < attempt.segments {
                    self.next_segment(index);
                } else if !self.is_running(index, SPILL) {
                    self.work_ended(index);
                }
            }
            Step::Spill => self.spill_ended(index),
            Step::Merge => {
                let seconds = self.step_seconds(index);
                self.attempts[index as usize].phases.merge_s += seconds;
                self.hand_over(index);
            }
            Step::Ending => self.task_ended(index),
        }
    }

    fn started(&mut self, index: u32) {
        let now = self.engine.now;
        let attempt = &mut self.attempts[index as usize];
        attempt.phases.start_s = now - attempt.start_s;
        attempt.step_s = now;
        let (job, stage) = (attempt.job as usize, attempt.stage as usize);
        let state = &mut self.jobs[job].stages[stage];
        if state.start_s == 0.0 || attempt.start_s < state.start_s {
            state.start_s = attempt.start_s;
        }
        if matches!(self.scenario.jobs[job].stages[stage].input, Input::Stages(_)) {
            self.begin_shuffle(index);
        } else {
            self.begin_work(index);
        }
    }

    /// All work is done: commit, report, end of the JVM.
    pub fn begin_end(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        attempt.step = Step::Ending;
        let costs = &self.scenario.engine;
        let (node, seconds) = (attempt.node, costs.task_end_cpu_s * attempt.factor);
        let wait = self.fixed(costs.task_end_s);
        self.parts.push(Use::Cpu { node, seconds });
        self.parts.push(Use::Wait { seconds: wait, limit: Limit::Fixed });
        self.run_lane(index, MAIN, 1);
    }

    fn task_ended(&mut self, index: u32) {
        let seconds = self.step_seconds(index);
        self.attempts[index as usize].phases.end_s += seconds;
        let attempt = &self.attempts[index as usize];
        let (job, stage, task, node) = (attempt.job as usize, attempt.stage as usize, attempt.task, attempt.node);
        let spec = &self.scenario.jobs[job].stages[stage];
        if self.scenario.engine.speculation || !self.scenario.failures.is_empty() {
            self.kill_others(index);
        }
        let now = self.engine.now;
        let attempt = &self.attempts[index as usize];
        let output = match spec.output {
            Output::Shuffle { .. } => {
                let bytes: f64 = attempt.files.iter().map(|file| file.bytes).sum();
                Some((bytes, attempt.files.last().map_or(crate::world::NEVER_CACHED, |file| file.cache_position)))
            }
            _ => Some((0.0, crate::world::NEVER_CACHED)),
        };
        let run_s = now - attempt.start_s;
        let state = &mut self.jobs[job].stages[stage];
        if let (Some((bytes, position)), Some(outputs)) = (output, state.outputs) {
            self.outputs[outputs].add(node, bytes, position);
            if !self.scenario.failures.is_empty() {
                self.made_on.push((outputs, node, task));
            }
        }
        state.finished[task as usize] = true;
        state.done += 1;
        state.running -= 1;
        state.run_s += run_s;
        if state.done == 1 {
            state.first_end_s = now;
        }
        self.retire(index, "succeeded");
        self.release(node, spec.memory_bytes, spec.cores);
        let state = &self.jobs[job].stages[stage];
        if state.done == state.tasks {
            self.stage_ended(job, stage);
        } else {
            for later in stage + 1..self.jobs[job].stages.len() {
                let waits = self.jobs[job].stages[later].requested < self.jobs[job].stages[later].tasks;
                if waits {
                    self.check_ready(job, later);
                }
            }
        }
    }

    /// Take an attempt out of the running ones, and keep its record if that is wanted.
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
                attempt: u32::from(attempt.again),
                status,
                speculative: attempt.again,
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
