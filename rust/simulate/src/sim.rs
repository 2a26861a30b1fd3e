//! The state of a simulation of jobs on a cluster, and its main loop.

use std::collections::VecDeque;

use crate::activity::{ByLimit, Limit, Owner, Use, Wake, LIMITS};
use crate::attempt::{Attempt, Record};
use crate::engine::{Engine, HORIZON_S};
use crate::failures::SPECULATE_S;
use crate::mapside::{merge_plan, spills_of};
use crate::outputs::Outputs;
use crate::rng::Rng;
use crate::scenario::{Detail, Failure, Input, Output, Scenario, Stage};
use crate::table::Tables;
use crate::world::{World, RUN_SALT, SKEW_SALT};

/// Number of pieces of a task's work, by the number of tasks.
const PIECES: [(usize, u32); 4] = [(500, 8), (20_000, 4), (60_000, 2), (usize::MAX, 1)];

/// The events that the simulation schedules itself.
#[derive(Clone, Copy, Debug)]
pub enum Timer {
    Submit(u32),
    RequestMaster(u32),
    JobRuns(u32),
    JobEnd(u32),
    Beat(u32),
    Launch(u32),
    Poll(u32),
    NodeFails(u32),
    NodeLost(u32),
    Speculate,
}

#[derive(Debug, Default)]
pub struct StageState {
    pub tasks: u32,
    /// Stored bytes that each task reads; for a shuffle, its share of the data. Empty: all tasks are equal.
    pub weights: Vec<f64>,
    /// Stored input of the whole stage.
    pub input_bytes: f64,
    pub ready: bool,
    pub ready_at: f64,
    /// Whether each task has an attempt that runs or has succeeded.
    pub taken: Vec<bool>,
    /// The first task that may be without an attempt.
    pub cursor: u32,
    /// Number of tasks without an attempt.
    pub pending: u32,
    /// Number of running attempts.
    pub running: u32,
    /// Number of tasks that have succeeded.
    pub done: u32,
    /// Number of containers that the ApplicationMaster has requested so far.
    pub requested: u32,
    /// Tasks by the node that has their first block.
    pub local: Vec<Vec<u32>>,
    /// Tasks that must run again after a node failed.
    pub retries: VecDeque<u32>,
    /// Time of the last allocation on a node with the task's block.
    pub last_local_at: f64,
    /// Dataset that the stage reads.
    pub dataset: Option<usize>,
    /// Dataset that the stage writes.
    pub written_dataset: Option<usize>,
    /// Index of its shuffle output.
    pub outputs: Option<usize>,
    /// Indices of the shuffle outputs that it reads.
    pub sources: Vec<usize>,
    /// Whether each task has succeeded.
    pub finished: Vec<bool>,
    pub spills: u32,
    pub extra_merge_share: f64,
    pub merge_passes: u32,
    pub start_s: f64,
    pub first_end_s: f64,
    pub end_s: f64,
    pub shuffle_first_s: f64,
    pub shuffle_end_s: f64,
    pub sort_end_s: f64,
    /// Sum of the run times of the attempts that have succeeded.
    pub run_s: f64,
}

impl StageState {
    /// Whether it has requested a container that it has not got.
    pub fn has_requests(&self) -> bool {
        self.ready && self.pending > 0 && self.tasks - self.pending < self.requested
    }
}

#[derive(Debug, Default)]
pub struct JobState {
    /// Number of jobs that must end first.
    pub waits_for: usize,
    pub submit_s: f64,
    pub start_s: f64,
    pub end_s: f64,
    pub am_node: Option<u32>,
    pub am_requested: bool,
    /// Start of the heartbeats of the ApplicationMaster, as a share of their interval.
    pub am_phase: f64,
    pub stages: Vec<StageState>,
    pub remaining_stages: usize,
    pub running: bool,
}

/// Counters: bytes moved, and numbers of events.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub dfs_read_bytes: f64,
    pub dfs_write_bytes: f64,
    pub dfs_replica_write_bytes: f64,
    pub intermediate_read_bytes: f64,
    pub intermediate_write_bytes: f64,
    pub shuffle_bytes: f64,
    pub cache_read_bytes: f64,
    pub network_bytes: f64,
    pub spilled_bytes: f64,
    pub spills: f64,
    pub merge_passes: f64,
    pub local_maps: f64,
    pub rack_maps: f64,
    pub remote_maps: f64,
    pub cpu_s: f64,
    pub killed_attempts: f64,
    pub speculative_attempts: f64,
}

pub struct Sim<'a> {
    pub scenario: &'a Scenario,
    pub engine: Engine<Timer>,
    pub world: World,
    pub jobs: Vec<JobState>,
    pub remaining_jobs: usize,
    pub attempts: Vec<Attempt>,
    pub free_attempts: Vec<u32>,
    pub outputs: Vec<Outputs>,
    pub records: Vec<Record>,
    pub counters: Counters,
    /// Number of pieces of the work of a task.
    pub pieces: u32,
    /// Factor of all fixed costs of this run.
    pub fixed_factor: f64,
    /// The parts of the next activity.
    pub parts: Vec<Use>,
    pub total_memory: f64,
    /// Nodes without a pending heartbeat, because nothing is requested.
    pub idle: Vec<u32>,
    /// The node that has the output of each task, recorded if nodes can fail: index of the outputs, node, task.
    pub output_nodes: Vec<(usize, u32, u32)>,
    pub failed: Option<Failure>,
    pub end_s: f64,
}

impl<'a> Sim<'a> {
    pub fn new(scenario: &'a Scenario, tables: &mut Tables) -> Result<Sim<'a>, Failure> {
        let mut engine = Engine::new(scenario.cluster.pool_cores);
        let world = World::build(scenario, &mut engine, tables)?;
        if scenario.detail == Detail::Traces {
            engine.trace_limits(scenario.trace_interval_s, world.groups.steps);
        }
        let mut random = Rng::keyed(scenario.seed, RUN_SALT, 0);
        let total_memory = world.nodes.iter().map(|node| node.free_memory).sum();
        let idle = (0..world.nodes.len() as u32).collect();
        let mut sim = Sim {
            scenario,
            engine,
            world,
            jobs: Vec::new(),
            remaining_jobs: scenario.jobs.len(),
            attempts: Vec::new(),
            free_attempts: Vec::new(),
            outputs: Vec::new(),
            records: Vec::new(),
            counters: Counters::default(),
            pieces: 1,
            fixed_factor: random.lognormal(scenario.noise.run_sigma),
            parts: Vec::with_capacity(64),
            total_memory,
            idle,
            output_nodes: Vec::new(),
            failed: None,
            end_s: 0.0,
        };
        for job in &scenario.jobs {
            let state = JobState {
                waits_for: job.after.len(),
                am_phase: random.uniform(),
                remaining_stages: job.stages.len(),
                ..JobState::default()
            };
            sim.jobs.push(state);
        }
        Ok(sim)
    }

    /// Run all jobs.
    pub fn run(&mut self) -> Result<(), Failure> {
        let first_s = self.fixed(self.scenario.engine.client_start_s);
        self.engine.count_waiting(0.0, Limit::Fixed);
        for job in 0..self.jobs.len() {
            if self.jobs[job].waits_for == 0 {
                self.engine.timer(first_s, Timer::Submit(job as u32));
            }
        }
        for (index, failure) in self.scenario.failures.iter().enumerate() {
            self.engine.timer(failure.at_s, Timer::NodeFails(index as u32));
        }
        while self.remaining_jobs > 0 {
            let wake = match self.engine.next() {
                Some(wake) => wake,
                None => return Err(self.stuck()),
            };
            match wake {
                Wake::Ended { owner, limits } => self.ended(owner, &limits),
                Wake::Timer(timer) => self.timer(timer)?,
            }
            if let Some(failure) = self.failed.take() {
                return Err(failure);
            }
        }
        self.end_s = self.engine.now + self.fixed(self.scenario.engine.client_end_s);
        Ok(())
    }

    /// Return the failure of a simulation that has no more events and unfinished jobs.
    fn stuck(&self) -> Failure {
        if self.engine.is_late {
            return Failure::Impossible(format!("the jobs would take longer than {HORIZON_S} s"));
        }
        let waiting = self.jobs.iter().zip(&self.scenario.jobs).find(|(state, _)| state.end_s == 0.0);
        let name = waiting.map_or("", |(_, job)| job.name.as_str());
        Failure::Impossible(format!(
            "job {name} can't continue: no live node has room for the containers that it still requests"
        ))
    }

    fn timer(&mut self, timer: Timer) -> Result<(), Failure> {
        match timer {
            Timer::Submit(job) => self.submit(job as usize)?,
            Timer::RequestMaster(job) => {
                self.jobs[job as usize].am_requested = true;
                self.wake_idle(1);
            }
            Timer::JobRuns(job) => self.job_runs(job as usize),
            Timer::JobEnd(job) => self.job_ended(job as usize),
            Timer::Beat(node) => self.beat(node),
            Timer::Launch(attempt) => self.launch(attempt),
            Timer::Poll(attempt) => self.poll(attempt),
            Timer::NodeFails(index) => self.node_fails(index as usize),
            Timer::NodeLost(node) => self.node_lost(node),
            Timer::Speculate => self.speculate(),
        }
        Ok(())
    }

    fn ended(&mut self, owner: Owner, limits: &ByLimit) {
        let attempt = &mut self.attempts[owner.attempt as usize];
        for (index, _) in LIMITS.iter().enumerate() {
            attempt.limits[index] += limits[index];
        }
        self.lane_ended(owner);
    }

    /// Return a fixed cost times the random factor of this run.
    pub fn fixed(&self, seconds: f64) -> f64 {
        seconds * self.fixed_factor
    }

    fn submit(&mut self, job: usize) -> Result<(), Failure> {
        let spec = &self.scenario.jobs[job];
        self.jobs[job].submit_s = self.engine.now;
        for (index, stage) in spec.stages.iter().enumerate() {
            let state = self.stage_state(job, stage)?;
            // A stage without shuffle output gets an empty entry, because the stages that depend on it wait for its
            // tasks.
            let bytes = match stage.output {
                Output::Shuffle { ratio, combiner, compression } => {
                    state.input_bytes * self.expansion_of(job, index) * ratio * combiner * compression
                }
                _ => 0.0,
            };
            self.outputs.push(Outputs::new(bytes, state.tasks, self.world.nodes.len()));
            let outputs = Some(self.outputs.len() - 1);
            self.jobs[job].stages.push(StageState { outputs, ..state });
            self.set_spills(job, index, stage);
        }
        let tasks: usize = self.jobs.iter().flat_map(|job| &job.stages).map(|stage| stage.tasks as usize).sum();
        let default_pieces = PIECES.iter().find(|(tasks_max, _)| tasks <= *tasks_max).map_or(1, |&(_, pieces)| pieces);
        self.pieces = self.scenario.pieces.unwrap_or(default_pieces);
        let wait = self.fixed(self.scenario.engine.job_submit_s + spec.fixed_s);
        self.engine.timer(self.engine.now + wait, Timer::RequestMaster(job as u32));
        Ok(())
    }

    /// Return the initial state of a stage, with its number of tasks and the bytes that each task reads.
    fn stage_state(&mut self, job: usize, stage: &Stage) -> Result<StageState, Failure> {
        let mut state = StageState::default();
        let mut default_tasks = 1;
        match &stage.input {
            Input::None => {}
            Input::Generated { bytes } => state.input_bytes = *bytes,
            Input::Dfs { dataset, bytes, .. } => {
                let index = self.world.datasets.iter().position(|existing| existing.name == *dataset);
                let index = index.ok_or_else(|| {
                    Failure::Input(format!(
                        "job {}: dataset {dataset} does not exist yet",
                        self.scenario.jobs[job].name
                    ))
                })?;
                let blocks = &self.world.datasets[index].block_bytes;
                let stored_bytes: f64 = blocks.iter().sum();
                state.dataset = Some(index);
                state.input_bytes = bytes.unwrap_or(stored_bytes).min(stored_bytes);
                default_tasks = blocks.len() as u32;
            }
            Input::Stages(sources) => {
                for &source in sources {
                    let outputs = self.jobs[job].stages[source].outputs;
                    state.sources.extend(outputs);
                    state.input_bytes += outputs.map_or(0.0, |index| self.outputs[index].expected_bytes);
                }
            }
        }
        state.tasks = stage.tasks.unwrap_or(default_tasks);
        if state.tasks == 0 {
            return Err(Failure::Input(format!("stage {}: its input has no blocks", stage.name)));
        }
        state.weights = match &stage.shares {
            Some(shares) => shares.clone(),
            None if stage.skew > 0.0 => {
                let draw = |task| Rng::keyed(self.scenario.seed, SKEW_SALT, task).lognormal(stage.skew);
                let factors: Vec<f64> = (0..u64::from(state.tasks)).map(draw).collect();
                let sum: f64 = factors.iter().sum();
                factors.iter().map(|share| share / sum).collect()
            }
            None => Vec::new(),
        };
        state.pending = state.tasks;
        state.taken = vec![false; state.tasks as usize];
        state.finished = vec![false; state.tasks as usize];
        if let Output::Dfs { dataset: Some(name), .. } = &stage.output {
            self.world.datasets.push(crate::world::Dataset::named(name));
            state.written_dataset = Some(self.world.datasets.len() - 1);
        }
        Ok(state)
    }

    /// Set the numbers of spills and merges of a map-side sort, for a task of the mean size.
    fn set_spills(&mut self, job: usize, index: usize, stage: &Stage) {
        if let Output::Shuffle { ratio, .. } = stage.output {
            let state = &self.jobs[job].stages[index];
            let mean = state.input_bytes * self.expansion_of(job, index) * ratio / f64::from(state.tasks);
            let state = &mut self.jobs[job].stages[index];
            state.spills = spills_of(&stage.sort, mean);
            let (share, passes) = merge_plan(state.spills, stage.sort.factor);
            state.extra_merge_share = share;
            state.merge_passes = passes;
        }
    }

    /// Uncompressed bytes for each stored byte that a stage reads.
    pub fn expansion_of(&self, job: usize, index: usize) -> f64 {
        let stages = &self.scenario.jobs[job].stages;
        let shuffle_expansion = match &stages[index].input {
            Input::Stages(sources) => sources.first().map_or(1.0, |&source| match stages[source].output {
                Output::Shuffle { compression, .. } => 1.0 / compression,
                _ => 1.0,
            }),
            _ => 1.0,
        };
        shuffle_expansion * stages[index].expand
    }

    /// Start the first stages, once the container of the ApplicationMaster runs.
    pub fn job_runs(&mut self, job: usize) {
        self.jobs[job].running = true;
        self.jobs[job].start_s = self.engine.now;
        for stage in 0..self.jobs[job].stages.len() {
            self.check_ready(job, stage);
        }
        if self.scenario.engine.speculation {
            self.engine.timer(self.engine.now + SPECULATE_S, Timer::Speculate);
        }
    }

    /// Start a stage without unfinished dependencies, and request the allowed number of containers for a stage of
    /// reduces.
    pub fn check_ready(&mut self, job: usize, index: usize) {
        let spec = &self.scenario.jobs[job].stages[index];
        let state = &self.jobs[job].stages[index];
        if !self.jobs[job].running || state.done == state.tasks {
            return;
        }
        let stages = &self.jobs[job].stages;
        if spec.after.iter().any(|&dependency| stages[dependency].done < stages[dependency].tasks) {
            return;
        }
        let mut requested = state.tasks;
        if let Input::Stages(sources) = &spec.input {
            let (done, tasks) = sources
                .iter()
                .fold((0, 0), |(done, tasks), &source| (done + stages[source].done, tasks + stages[source].tasks));
            let share = f64::from(done) / f64::from(tasks);
            if share < spec.shuffle.slow_start && done < tasks {
                return;
            }
            requested = self.requested_reduces(job, index, sources, share);
        }
        let state = &mut self.jobs[job].stages[index];
        let new_requests = requested.saturating_sub(state.requested);
        state.requested = state.requested.max(requested);
        if !state.ready {
            state.ready = true;
            state.ready_at = self.engine.now;
            state.last_local_at = self.engine.now;
            self.list_local(job, index);
        }
        if new_requests > 0 {
            self.wake_idle(new_requests as usize);
        }
    }

    /// Number of reduces that the ApplicationMaster requests while maps remain: the ramp-up of RMContainerAllocator.
    fn requested_reduces(&self, job: usize, index: usize, sources: &[usize], done_share: f64) -> u32 {
        const RAMP_UP_LIMIT: f64 = 0.5;
        let (specs, stages) = (&self.scenario.jobs[job].stages, &self.jobs[job].stages);
        if sources.iter().all(|&source| stages[source].pending == 0) {
            return stages[index].tasks;
        }
        let masters = self
            .scenario
            .jobs
            .iter()
            .zip(&self.jobs)
            .filter(|(_, state)| state.am_node.is_some() && state.end_s == 0.0);
        let total_memory = self.total_memory - masters.map(|(spec, _)| spec.am_memory_bytes).sum::<f64>();
        let reduce_memory = total_memory * done_share.min(RAMP_UP_LIMIT);
        let map_memory: f64 = sources
            .iter()
            .map(|&source| f64::from(stages[source].pending + stages[source].running) * specs[source].memory_bytes)
            .sum();
        let unused_memory = (total_memory - reduce_memory - map_memory).max(0.0);
        let reduce_count = ((reduce_memory + unused_memory) / specs[index].memory_bytes).floor();
        reduce_count.min(f64::from(stages[index].tasks)) as u32
    }

    /// Handle the end of the last task of a stage.
    pub fn stage_ended(&mut self, job: usize, index: usize) {
        self.jobs[job].stages[index].end_s = self.engine.now;
        self.jobs[job].remaining_stages -= 1;
        for stage in 0..self.jobs[job].stages.len() {
            self.check_ready(job, stage);
        }
        if self.jobs[job].remaining_stages == 0 {
            let at = self.engine.now + self.fixed(self.scenario.engine.job_end_s);
            self.engine.timer(at, Timer::JobEnd(job as u32));
        }
    }

    fn job_ended(&mut self, job: usize) {
        self.jobs[job].end_s = self.engine.now;
        self.jobs[job].running = false;
        self.remaining_jobs -= 1;
        if let Some(node) = self.jobs[job].am_node {
            self.release(node, self.scenario.jobs[job].am_memory_bytes, 0.0);
        }
        for later_job in job + 1..self.jobs.len() {
            if self.scenario.jobs[later_job].after.contains(&job) {
                self.jobs[later_job].waits_for -= 1;
                if self.jobs[later_job].waits_for == 0 {
                    self.engine.timer(self.engine.now, Timer::Submit(later_job as u32));
                }
            }
        }
    }
}
