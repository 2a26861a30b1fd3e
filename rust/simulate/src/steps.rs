//! The order of the steps of a task: the start of its JVM, consecutive and concurrent steps, and its end.
//!
//! This module calls the steps of maps and reduces (`mapside.rs`, `reduceside.rs`). They do not call this module.

use crate::activity::{Limit, Owner, Use};
use crate::attempt::{Step, DISK_MERGE, MAIN, MEMORY_MERGE, SPILL};
use crate::scenario::{Input, Output};
use crate::schedule::next_beat;
use crate::sim::{Sim, Timer};
use crate::world::NEVER_CACHED;

impl Sim<'_> {
    /// Start the JVM in the allocated container.
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
            self.engine.count_waiting(from, Limit::Fixed);
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
            MEMORY_MERGE => self.memory_merge_ended(index),
            DISK_MERGE => self.disk_merge_ended(index),
            lane => self.fetch_ended(index, lane),
        }
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
                    let next_heartbeat =
                        next_beat(self.engine.now, self.jobs[job].am_phase, self.scenario.engine.am_heartbeat_s);
                    self.engine.timer(next_heartbeat, Timer::JobRuns(job as u32));
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
        attempt.step_start_s = now;
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
        let (bytes, position) = match spec.output {
            Output::Shuffle { .. } => {
                let bytes: f64 = attempt.files.iter().map(|file| file.bytes).sum();
                (bytes, attempt.files.last().map_or(NEVER_CACHED, |file| file.cache_position))
            }
            _ => (0.0, NEVER_CACHED),
        };
        let run_s = now - attempt.start_s;
        let state = &mut self.jobs[job].stages[stage];
        if let Some(outputs) = state.outputs {
            self.outputs[outputs].add(node, bytes, position);
            if !self.scenario.failures.is_empty() {
                self.output_nodes.push((outputs, node, task));
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
            for later_stage in stage + 1..self.jobs[job].stages.len() {
                let is_waiting =
                    self.jobs[job].stages[later_stage].requested < self.jobs[job].stages[later_stage].tasks;
                if is_waiting {
                    self.check_ready(job, later_stage);
                }
            }
        }
    }
}
