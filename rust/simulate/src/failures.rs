//! Failed nodes and slow tasks: additional attempts, during or after the first one.

use crate::attempt::Step;
use crate::scenario::Output;
use crate::schedule::Locality;
use crate::sim::{Sim, Timer};

/// Interval between checks of the running tasks in seconds, usually and after a speculation (as in DefaultSpeculator).
const SPECULATE_S: f64 = 1.0;
const SPECULATE_AFTER_S: f64 = 15.0;
/// Maximum share of the running tasks that are speculated, at least 10 tasks.
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
            let other = &self.attempts[index as usize];
            let same = other.job == job && other.stage == stage && other.task == task && !other.is_master;
            if index != winner && other.lives && same {
                self.kill(index);
            }
        }
    }

    /// End an attempt without a result.
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

    /// Handle the loss of a node that the ResourceManager has detected: its attempts, and the outputs of its maps, run
    /// again elsewhere.
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
            self.run_again(job, stage, task);
        }
        for job in 0..self.jobs.len() {
            if !self.jobs[job].running {
                continue;
            }
            for stage in 0..self.jobs[job].stages.len() {
                self.redo_outputs(job, stage, node);
            }
        }
        self.make_room();
        self.wake_idle(usize::MAX / 8);
    }

    /// Preempt the last reduces if maps must run again and reduces that wait for them occupy all containers, as
    /// RMContainerAllocator does.
    fn make_room(&mut self) {
        for job in 0..self.jobs.len() {
            for stage in 0..self.jobs[job].stages.len() {
                let spec = &self.scenario.jobs[job].stages[stage];
                let fits = |sim: &Self| {
                    let has_room = |node: &crate::world::Node| node.alive && node.free_memory >= spec.memory_bytes;
                    sim.world.nodes.iter().any(has_room)
                };
                while self.jobs[job].stages[stage].pending > 0 && !fits(self) {
                    let reduces = |attempt: &&crate::attempt::Attempt| {
                        attempt.lives && attempt.job as usize == job && attempt.stage as usize > stage
                    };
                    let last = self.attempts.iter().enumerate().filter(|(_, attempt)| reduces(attempt));
                    let last = last.max_by(|a, b| a.1.start_s.total_cmp(&b.1.start_s)).map(|(index, _)| index as u32);
                    match last {
                        Some(index) => {
                            let (stage, task) = {
                                let attempt = &self.attempts[index as usize];
                                (attempt.stage as usize, attempt.task)
                            };
                            self.kill(index);
                            self.run_again(job, stage, task);
                        }
                        None => break,
                    }
                }
            }
        }
    }

    fn run_again(&mut self, job: usize, stage: usize, task: u32) {
        let state = &mut self.jobs[job].stages[stage];
        if !state.finished[task as usize] {
            state.taken[task as usize] = false;
            state.pending += 1;
            state.again.push_back(task);
        }
    }

    /// Run maps again whose output was on a lost node, if a reduce still needs it.
    fn redo_outputs(&mut self, job: usize, stage: usize, node: u32) {
        let is_shuffle = matches!(self.scenario.jobs[job].stages[stage].output, Output::Shuffle { .. });
        let needed = self.jobs[job].stages.iter().skip(stage + 1).any(|later| later.done < later.tasks);
        let outputs = match self.jobs[job].stages[stage].outputs {
            Some(outputs) if is_shuffle && needed => outputs,
            _ => return,
        };
        let lost: Vec<u32> =
            self.output_nodes.iter().filter(|made| made.0 == outputs && made.1 == node).map(|made| made.2).collect();
        self.outputs[outputs].lose(node, lost.len() as u32);
        for &task in &lost {
            let state = &mut self.jobs[job].stages[stage];
            state.finished[task as usize] = false;
            if state.done == state.tasks {
                self.jobs[job].stages_left += 1;
            }
            self.jobs[job].stages[stage].done -= 1;
            self.run_again(job, stage, task);
        }
        self.output_nodes.retain(|made| !(made.0 == outputs && made.1 == node));
    }

    /// Start a speculative attempt of a task that would end later than a new attempt.
    pub fn speculate(&mut self) {
        let mut next = SPECULATE_S;
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
                    next = SPECULATE_AFTER_S;
                }
            }
        }
        if self.jobs.iter().any(|job| job.running) {
            self.engine.timer(now + next, Timer::Speculate);
        }
    }

    fn speculate_stage(&mut self, job: usize, stage: usize, mean_s: f64, now: f64) -> bool {
        let of_stage = |attempt: &&crate::attempt::Attempt| {
            attempt.lives && !attempt.is_master && attempt.job as usize == job && attempt.stage as usize == stage
        };
        let running: Vec<(u32, bool, f64)> =
            self.attempts.iter().filter(of_stage).map(|a| (a.task, a.again, now - a.start_s)).collect();
        let speculated = running.iter().filter(|(_, again, _)| *again).count();
        let speculated_max = SPECULATE_MIN.max((SPECULATE_SHARE * running.len() as f64) as usize);
        if speculated >= speculated_max {
            return false;
        }
        let has_two_attempts = |task: u32| running.iter().filter(|(other, _, _)| *other == task).count() > 1;
        let slow = running
            .iter()
            .filter(|(task, again, age)| !again && *age > 2.0 * mean_s && !has_two_attempts(*task))
            .max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)));
        let task = match slow {
            Some(&(task, _, _)) => task,
            None => return false,
        };
        let spec = &self.scenario.jobs[job].stages[stage];
        let first = self.attempts.iter().filter(of_stage).find(|attempt| attempt.task == task).map(|a| a.node);
        let fits = |node: &u32| {
            let host = &self.world.nodes[*node as usize];
            let room = host.free_memory >= spec.memory_bytes && host.free_cores >= spec.cores;
            host.alive && room && Some(*node) != first
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
