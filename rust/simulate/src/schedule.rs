//! Assign tasks to nodes: containers on heartbeats, as in the capacity scheduler of YARN.
//!
//! At its heartbeat, a node with free resources gets any number of maps whose block it has, and one container that may
//! run anywhere (`maximum-off-switch-assignments-per-heartbeat`). The ApplicationMaster learns of these containers at
//! its next heartbeat.

use crate::activity::Limit;
use crate::attempt::Attempt;
use crate::rng::Rng;
use crate::scenario::Input;
use crate::sim::{Sim, StageState, Timer};
use crate::world::{CONTROL_SALT, TASK_SALT};

/// Minimum number of idle nodes that ask for work after a new request.
const WOKEN_MIN: usize = 64;

/// Return the time of the next heartbeat, `now` or later. Heartbeats are one interval apart; `phase` is the time of the
/// first one, as a share of the interval.
pub fn next_beat(now: f64, phase: f64, interval_s: f64) -> f64 {
    if interval_s <= 0.0 {
        return now;
    }
    let beat_s = ((now / interval_s - phase).ceil() + phase) * interval_s;
    if beat_s < now {
        beat_s + interval_s
    } else {
        beat_s
    }
}

/// Where a task runs, relative to its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    Node,
    Rack,
    Any,
}

impl Sim<'_> {
    /// List for each node the tasks whose first block it has.
    pub fn list_local(&mut self, job: usize, index: usize) {
        let dataset = match self.jobs[job].stages[index].dataset {
            Some(dataset) => dataset,
            None => return,
        };
        let mut tasks_of_node: Vec<Vec<u32>> = vec![Vec::new(); self.world.nodes.len()];
        let is_located = matches!(self.scenario.jobs[job].stages[index].input, Input::Dfs { located: true, .. });
        let mut rng = Rng::keyed(self.scenario.seed, CONTROL_SALT, (job * 1000 + index) as u64);
        for task in (0..self.jobs[job].stages[index].tasks).rev() {
            let block = self.first_block(job, index, task);
            if !is_located {
                // The scheduler does not know where the block is. It takes as many random nodes as there are copies.
                let copies = self.world.datasets[dataset].replicas(block).len();
                let first_node = rng.below(tasks_of_node.len());
                (0..copies).for_each(|copy| tasks_of_node[(first_node + copy) % self.world.nodes.len()].push(task));
                continue;
            }
            for replica in self.world.datasets[dataset].replicas(block) {
                tasks_of_node[replica.node as usize].push(task);
            }
        }
        self.jobs[job].stages[index].local = tasks_of_node;
    }

    /// Wake idle nodes for new requests.
    pub fn wake_idle(&mut self, requests: usize) {
        let count = self.idle.len().min(WOKEN_MIN.max(4 * requests));
        let woken_nodes: Vec<u32> = self.idle.drain(..count).collect();
        for node in woken_nodes {
            self.world.nodes[node as usize].idle = false;
            self.schedule_beat(node);
        }
    }

    fn schedule_beat(&mut self, node: u32) {
        let host = &mut self.world.nodes[node as usize];
        if host.beat_pending || !host.alive {
            return;
        }
        host.beat_pending = true;
        let at = next_beat(self.engine.now, host.beat_phase, self.scenario.engine.node_heartbeat_s);
        self.engine.timer(at, Timer::Beat(node));
    }

    /// Free the resources of a container on a node.
    pub fn release(&mut self, node: u32, memory: f64, cores: f64) {
        let host = &mut self.world.nodes[node as usize];
        host.free_memory += memory;
        host.free_cores += cores;
        host.freed_at = self.engine.now;
        let has_requests = self.has_requests();
        let host = &mut self.world.nodes[node as usize];
        if has_requests {
            self.schedule_beat(node);
        } else if host.alive && !host.idle && !host.beat_pending {
            host.idle = true;
            self.idle.push(node);
        }
    }

    fn has_requests(&self) -> bool {
        self.jobs.iter().any(|job| {
            (job.am_requested && job.am_node.is_none())
                || job.running && job.stages.iter().any(StageState::has_requests)
        })
    }

    /// Handle the heartbeat of a node: start the containers that fit.
    pub fn beat(&mut self, node: u32) {
        self.world.nodes[node as usize].beat_pending = false;
        if !self.world.nodes[node as usize].alive {
            return;
        }
        let mut non_local_containers = 1;
        let mut remaining_containers = self.scenario.engine.tasks_per_heartbeat.unwrap_or(u32::MAX);
        let has_no_heartbeats = self.scenario.engine.node_heartbeat_s <= 0.0;
        while remaining_containers > 0 && self.allocate_one(node, &mut non_local_containers) {
            remaining_containers -= 1;
            if has_no_heartbeats {
                non_local_containers = 1;
            }
        }
        let host = &self.world.nodes[node as usize];
        let has_work = self.has_requests() && self.fits_any(node);
        if has_work && !host.beat_pending {
            let interval_s = self.scenario.engine.node_heartbeat_s;
            self.world.nodes[node as usize].beat_pending = true;
            // Without heartbeats, a node that waits for tasks with local blocks asks again after an interval.
            let at = self.engine.now + if has_no_heartbeats { 0.1 } else { interval_s };
            self.engine.timer(at, Timer::Beat(node));
        } else if !has_work && !host.idle {
            self.world.nodes[node as usize].idle = true;
            self.idle.push(node);
        }
    }

    fn fits_any(&self, node: u32) -> bool {
        let host = &self.world.nodes[node as usize];
        self.jobs.iter().zip(&self.scenario.jobs).any(|(state, spec)| {
            let master_fits = state.am_requested && state.am_node.is_none() && spec.am_memory_bytes <= host.free_memory;
            let stage_fits = state.stages.iter().zip(&spec.stages).any(|(state, spec)| {
                state.has_requests() && spec.memory_bytes <= host.free_memory && spec.cores <= host.free_cores
            });
            master_fits || (state.running && stage_fits)
        })
    }

    /// Allocate one container. Return false if this node can or may run no other container now.
    fn allocate_one(&mut self, node: u32, non_local_containers: &mut u32) -> bool {
        for job in 0..self.jobs.len() {
            let spec = &self.scenario.jobs[job];
            let free_memory = self.world.nodes[node as usize].free_memory;
            let state = &self.jobs[job];
            if state.am_requested
                && state.am_node.is_none()
                && *non_local_containers > 0
                && spec.am_memory_bytes <= free_memory
            {
                *non_local_containers -= 1;
                self.start_master(job, node);
                return true;
            }
            if !self.jobs[job].running {
                continue;
            }
            for index in (0..spec.stages.len()).rev() {
                if self.allocate_task(job, index, node, non_local_containers) {
                    return true;
                }
            }
        }
        false
    }

    fn start_master(&mut self, job: usize, node: u32) {
        let memory = self.scenario.jobs[job].am_memory_bytes;
        self.world.nodes[node as usize].free_memory -= memory;
        self.jobs[job].am_node = Some(node);
        let attempt = self.new_attempt(Attempt::master(job as u32, node));
        let at = self.engine.now + self.fixed(self.scenario.engine.am_start_s);
        self.engine.timer(at, Timer::Launch(attempt));
    }

    fn allocate_task(&mut self, job: usize, index: usize, node: u32, non_local_containers: &mut u32) -> bool {
        let spec = &self.scenario.jobs[job].stages[index];
        let state = &self.jobs[job].stages[index];
        let host = &self.world.nodes[node as usize];
        if !state.has_requests() || spec.memory_bytes > host.free_memory || spec.cores > host.free_cores {
            return false;
        }
        // Reduces must not occupy the resources of the maps for which they wait.
        if let Input::Stages(sources) = &spec.input {
            let stages = &self.jobs[job].stages;
            if sources.iter().any(|&source| stages[source].pending > 0 && stages[source].running == 0) {
                return false;
            }
        }
        let (task, locality) = match self.choose_task(job, index, node, *non_local_containers > 0) {
            Some(choice) => choice,
            None => return false,
        };
        if locality == Locality::Node {
            self.jobs[job].stages[index].last_local_at = self.engine.now;
        } else {
            *non_local_containers -= 1;
        }
        self.allocate(job, index, task, node, locality, false);
        true
    }

    /// Choose a task for this node: a task whose block it has, else any task if that is allowed and no local task was
    /// found for a while.
    fn choose_task(&mut self, job: usize, index: usize, node: u32, may_run_anywhere: bool) -> Option<(u32, Locality)> {
        let wait_s = self.scenario.engine.locality_wait_s;
        let now = self.engine.now;
        let state = &mut self.jobs[job].stages[index];
        if let Some(local) = state.local.get_mut(node as usize) {
            while let Some(task) = local.pop() {
                if !state.taken[task as usize] {
                    return Some((task, Locality::Node));
                }
            }
        }
        let has_local_tasks = !state.local.is_empty();
        if !may_run_anywhere || (has_local_tasks && now - state.last_local_at < wait_s) {
            return None;
        }
        while let Some(task) = state.retries.pop_front() {
            if !state.taken[task as usize] {
                return Some((task, Locality::Any));
            }
        }
        while (state.cursor as usize) < state.taken.len() {
            let task = state.cursor;
            if !state.taken[task as usize] {
                return Some((task, Locality::Any));
            }
            state.cursor += 1;
        }
        None
    }

    /// Return the locality of a task: `Rack` instead of `Any` if a replica of its block is in the rack of the node.
    fn locality_of(&self, job: usize, index: usize, task: u32, node: u32, locality: Locality) -> Locality {
        let dataset = match self.jobs[job].stages[index].dataset {
            Some(dataset) if locality == Locality::Any => dataset,
            _ => return locality,
        };
        let rack = self.world.nodes[node as usize].rack;
        let replicas = self.world.datasets[dataset].replicas(self.first_block(job, index, task));
        let is_in_rack = replicas.iter().any(|replica| self.world.nodes[replica.node as usize].rack == rack);
        if is_in_rack {
            Locality::Rack
        } else {
            Locality::Any
        }
    }

    /// Reserve a container, and launch the task when the ApplicationMaster learns of it.
    pub fn allocate(
        &mut self,
        job: usize,
        index: usize,
        task: u32,
        node: u32,
        locality: Locality,
        is_speculative: bool,
    ) {
        let locality = self.locality_of(job, index, task, node, locality);
        let spec = &self.scenario.jobs[job].stages[index];
        let host = &mut self.world.nodes[node as usize];
        host.free_memory -= spec.memory_bytes;
        host.free_cores -= spec.cores;
        let state = &mut self.jobs[job].stages[index];
        if !is_speculative {
            state.taken[task as usize] = true;
            state.pending -= 1;
        }
        state.running += 1;
        let since = host.freed_at.max(state.ready_at);
        let number = u64::from(task) << 20 | (index as u64) << 10 | job as u64;
        let attempts_before = if is_speculative { 1 } else { 0 };
        let mut rng = Rng::keyed(self.scenario.seed.wrapping_add(attempts_before), TASK_SALT, number);
        let noise = &self.scenario.noise;
        let mut factor = rng.lognormal(noise.task_sigma) * self.fixed_factor;
        if rng.uniform() < noise.straggler_share {
            factor *= noise.straggler_factor;
        }
        let attempt = Attempt::task(job as u32, index as u32, task, node, factor, locality, is_speculative);
        let attempt = self.new_attempt(attempt);
        self.engine.count_waiting(since, Limit::Containers);
        let next_heartbeat = next_beat(self.engine.now, self.jobs[job].am_phase, self.scenario.engine.am_heartbeat_s);
        let at = next_heartbeat + self.fixed(self.scenario.engine.task_start_s);
        self.attempts[attempt as usize].start_s = next_heartbeat;
        self.engine.timer(at, Timer::Launch(attempt));
        if matches!(self.scenario.jobs[job].stages[index].input, Input::Dfs { .. }) {
            match locality {
                Locality::Node => self.counters.local_maps += 1.0,
                Locality::Rack => self.counters.rack_maps += 1.0,
                Locality::Any => self.counters.remote_maps += 1.0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::next_beat;

    #[test]
    fn beats_come_at_their_phase() {
        assert_eq!(next_beat(2.1, 0.25, 1.0), 2.25);
        assert_eq!(next_beat(2.25, 0.25, 1.0), 2.25);
        assert_eq!(next_beat(2.3, 0.25, 1.0), 3.25);
        assert_eq!(next_beat(2.3, 0.25, 0.0), 2.3);
    }
}
