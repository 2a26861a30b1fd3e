//! Failed nodes and slow tasks: attempts that repeat a lost attempt, and speculative attempts of slow tasks.

use crate::attempt::Step;
use crate::scenario::Output;
use crate::schedule::Locality;
use crate::sim::{Sim, Timer};

/// Interval between checks of the running tasks, in seconds: `SPECULATE_S`, or `SPECULATE_AFTER_S` after a check that
/// started a speculative attempt, as in DefaultSpeculator.
pub const SPECULATE_S: f64 = 1.0;
const SPECULATE_AFTER_S: f64 = 15.0;
/// Maximum share of the running attempts that are speculative. At least `SPECULATE_MIN` are permitted.
const SPECULATE_SHARE: f64 = 0.1;
const SPECULATE_MIN: usize = 10;

impl Sim<'_> {
    /// Kill the other attempts of a task after one succeeded.
    pub fn kill_others(&mut self, winner: u32) {
        let (job, stage, task) = {
            let attempt = &self.attempts[winner as usize];
            (attempt.job, attempt.stage, attempt.task)
        };
        for index in 0..self.attempts.len() as u32 {
            let attempt = &self.attempts[index as usize];
            let is_same_task =
                attempt.job == job && attempt.stage == stage && attempt.task == task && !attempt.is_master;
            if index != winner && attempt.lives && is_same_task {
                self.kill(index);
            }
        }
    }

    /// End an attempt that has no result.
    fn kill(&mut self, index: u32) {
        let attempt = &self.attempts[index as usize];
        let (job, stage, node) = (attempt.job as usize, attempt.stage as usize, attempt.node);
        let spec = &self.scenario.jobs[job].stages[stage];
        self.counters.killed_attempts += 1.0;
        self.jobs[job].stages[stage].running -= 1;
        self.retire(index, "killed");
        self.release(node, spec.memory_bytes, spec.cores);
    }

    /// Fail a node. Its work ends at once; the cluster detects the failure later.
    pub fn node_fails(&mut self, index: usize) {
        let node = self.scenario.failures[index].node;
        if !self.world.nodes[node as usize].alive {
            return;
        }
        self.world.nodes[node as usize].alive = false;
        self.world.nodes[node as usize].idle = false;
        self.idle.retain(|&idle| idle != node);
        for attempt in 0..self.attempts.len() as u32 {
            let lanes = {
                let attempt = &mut self.attempts[attempt as usize];
                if !attempt.lives || attempt.node != node {
                    continue;
                }
                std::mem::take(&mut attempt.lanes)
            };
            for (_, id) in lanes {
                self.engine.cancel(id);
            }
            self.attempts[attempt as usize].step = Step::Waiting;
        }
        let at = self.engine.now + self.scenario.engine.failure_detect_s;
        self.engine.timer(at, Timer::NodeLost(node));
    }

    /// Handle the loss of a node that the ResourceManager has detected: its attempts, and the maps whose output it had,
    /// run again elsewhere.
    pub fn node_lost(&mut self, node: u32) {
        self.total_memory -=
            self.scenario.cluster.types[self.world.nodes[node as usize].kind as usize].container_memory_bytes;
        for index in 0..self.attempts.len() as u32 {
            let attempt = &self.attempts[index as usize];
            if !attempt.lives || attempt.node != node {
                continue;
            }
            let (job, stage, task, is_master) =
                (attempt.job as usize, attempt.stage as usize, attempt.task, attempt.is_master);
            if is_master {
                self.attempts[index as usize].lives = false;
                self.free_attempts.push(index);
                self.jobs[job].am_node = None;
                continue;
            }
            self.counters.killed_attempts += 1.0;
            self.jobs[job].stages[stage].running -= 1;
            self.retire(index, "failed");
            self.add_retry(job, stage, task);
        }
        for job in 0..self.jobs.len() {
            if !self.jobs[job].running {
                continue;
            }
            for stage in 0..self.jobs[job].stages.len() {
                self.add_lost_maps(job, stage, node);
            }
        }
        self.preempt_reduces();
        self.wake_idle(self.world.nodes.len());
    }

    /// Preempt the last reduces if maps must run again and reduces that wait for them occupy all containers, as
    /// RMContainerAllocator does.
    fn preempt_reduces(&mut self) {
        for job in 0..self.jobs.len() {
            for stage in 0..self.jobs[job].stages.len() {
                let spec = &self.scenario.jobs[job].stages[stage];
                let fits = |sim: &Self| {
                    let has_room = |node: &crate::world::Node| node.alive && node.free_memory >= spec.memory_bytes;
                    sim.world.nodes.iter().any(has_room)
                };
                while self.jobs[job].stages[stage].pending > 0 && !fits(self) {
                    let waits_for_maps = |attempt: &&crate::attempt::Attempt| {
                        attempt.lives && attempt.job as usize == job && attempt.stage as usize > stage
                    };
                    let candidates = self.attempts.iter().enumerate().filter(|(_, attempt)| waits_for_maps(attempt));
                    let last =
                        candidates.max_by(|a, b| a.1.start_s.total_cmp(&b.1.start_s)).map(|(index, _)| index as u32);
                    match last {
                        Some(index) => {
                            let (stage, task) = {
                                let attempt = &self.attempts[index as usize];
                                (attempt.stage as usize, attempt.task)
                            };
                            self.kill(index);
                            self.add_retry(job, stage, task);
                        }
                        None => break,
                    }
                }
            }
        }
    }

    fn add_retry(&mut self, job: usize, stage: usize, task: u32) {
        let state = &mut self.jobs[job].stages[stage];
        if !state.finished[task as usize] {
            state.taken[task as usize] = false;
            state.pending += 1;
            state.retries.push_back(task);
        }
    }

    /// Queue the maps whose output was on a lost node, if a reduce still needs their output.
    fn add_lost_maps(&mut self, job: usize, stage: usize, node: u32) {
        let is_shuffle = matches!(self.scenario.jobs[job].stages[stage].output, Output::Shuffle { .. });
        let is_needed = self.jobs[job].stages.iter().skip(stage + 1).any(|later| later.done < later.tasks);
        let outputs = match self.jobs[job].stages[stage].outputs {
            Some(outputs) if is_shuffle && is_needed => outputs,
            _ => return,
        };
        let lost_tasks: Vec<u32> = self
            .output_nodes
            .iter()
            .filter(|map_output| map_output.0 == outputs && map_output.1 == node)
            .map(|map_output| map_output.2)
            .collect();
        self.outputs[outputs].remove(node, lost_tasks.len() as u32);
        for &task in &lost_tasks {
            let state = &mut self.jobs[job].stages[stage];
            state.finished[task as usize] = false;
            if state.done == state.tasks {
                self.jobs[job].remaining_stages += 1;
            }
            self.jobs[job].stages[stage].done -= 1;
            self.add_retry(job, stage, task);
        }
        self.output_nodes.retain(|map_output| !(map_output.0 == outputs && map_output.1 == node));
    }

    /// Start a speculative attempt of the slowest task of each stage, if it has run for more than twice the mean.
    pub fn speculate(&mut self) {
        let mut pause_s = SPECULATE_S;
        let now = self.engine.now;
        for job in 0..self.jobs.len() {
            if !self.jobs[job].running {
                continue;
            }
            for stage in 0..self.jobs[job].stages.len() {
                let state = &self.jobs[job].stages[stage];
                if state.pending > 0 || state.done == 0 || state.done == state.tasks {
                    continue;
                }
                let mean = state.run_s / f64::from(state.done);
                if self.speculate_stage(job, stage, mean, now) {
                    pause_s = SPECULATE_AFTER_S;
                }
            }
        }
        if self.jobs.iter().any(|job| job.running) {
            self.engine.timer(now + pause_s, Timer::Speculate);
        }
    }

    /// Start a speculative attempt of the slowest task of a stage. Return whether one was started.
    fn speculate_stage(&mut self, job: usize, stage: usize, mean_s: f64, now: f64) -> bool {
        let is_of_stage = |attempt: &&crate::attempt::Attempt| {
            attempt.lives && !attempt.is_master && attempt.job as usize == job && attempt.stage as usize == stage
        };
        let running: Vec<(u32, bool, f64)> =
            self.attempts.iter().filter(is_of_stage).map(|a| (a.task, a.is_speculative, now - a.start_s)).collect();
        let speculative_count = running.iter().filter(|(_, is_speculative, _)| *is_speculative).count();
        let speculated_max = SPECULATE_MIN.max((SPECULATE_SHARE * running.len() as f64) as usize);
        if speculative_count >= speculated_max {
            return false;
        }
        let has_two_attempts =
            |task: u32| running.iter().filter(|(running_task, _, _)| *running_task == task).count() > 1;
        let slowest = running
            .iter()
            .filter(|(task, is_speculative, age)| !is_speculative && *age > 2.0 * mean_s && !has_two_attempts(*task))
            .max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)));
        let task = match slowest {
            Some(&(task, _, _)) => task,
            None => return false,
        };
        let spec = &self.scenario.jobs[job].stages[stage];
        let first_node = self.attempts.iter().filter(is_of_stage).find(|attempt| attempt.task == task).map(|a| a.node);
        let fits = |node: &u32| {
            let host = &self.world.nodes[*node as usize];
            let has_room = host.free_memory >= spec.memory_bytes && host.free_cores >= spec.cores;
            host.alive && has_room && Some(*node) != first_node
        };
        let node = match (0..self.world.nodes.len() as u32).find(fits) {
            Some(node) => node,
            None => return false,
        };
        self.counters.speculative_attempts += 1.0;
        self.allocate(job, stage, task, node, Locality::Any, true);
        true
    }
}
