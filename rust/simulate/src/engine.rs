//! The loop over virtual time. Activities use several resources at the same time, and resources are shared fairly.
//!
//! An activity is a list of concurrent parts, each on one resource. A map, for example, reads its block from a disk and
//! through two network interfaces, and computes. The activity is divided into pieces. A piece ends when its last part
//! ends, because in reality no part runs far ahead of the parts that it depends on. With many pieces the result is the
//! max-min fair share of all resources; with one piece the work of each resource is still exact. Each resource has at
//! most one valid event in the heap.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::activity::{is_alive, Activity, ByLimit, Limit, Owner, Use, Wake, LIMITS};
use crate::disk::Disk;
use crate::fair::{Fair, PartId, INSTANT_S};
use crate::series::{Series, Shared};

#[derive(Clone, Copy, Debug)]
enum EventKind<T> {
    Cpu(u32),
    Link(u32),
    Disk(u32),
    Part(PartId),
    Timer(T),
}

#[derive(Clone, Copy, Debug)]
struct Event<T> {
    at: f64,
    order: u64,
    kind: EventKind<T>,
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, second: &Event<T>) -> bool {
        self.cmp(second) == Ordering::Equal
    }
}
impl<T> Eq for Event<T> {}
impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Event<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Event<T> {
    fn cmp(&self, other: &Event<T>) -> Ordering {
        other.at.total_cmp(&self.at).then(other.order.cmp(&self.order))
    }
}

/// The entry of a resource in the heap: the number of its only valid event, and the time of that event.
#[derive(Clone, Copy, Debug)]
struct Due {
    order: u64,
    at: f64,
}

/// End of virtual time: later, a double cannot represent nanoseconds.
pub const HORIZON_S: f64 = 4e6;

const NEVER: Due = Due { order: 0, at: f64::INFINITY };

struct Link {
    fair: Fair,
    bytes_per_s: f64,
    due: Due,
}

struct Cpu {
    fair: Fair,
    cores: f64,
    speed: f64,
    weight: f64,
    due: Due,
}

pub struct Engine<T> {
    pub now: f64,
    pub events: u64,
    /// The next event is after the end of virtual time.
    pub is_late: bool,
    order: u64,
    heap: BinaryHeap<Event<T>>,
    activities: Vec<Activity>,
    free_activities: Vec<u32>,
    cpus: Vec<Cpu>,
    links: Vec<Link>,
    disks: Vec<(Disk, Due)>,
    pool_cores: Option<f64>,
    pending_wakes: VecDeque<Wake<T>>,
    done: Vec<PartId>,
    pub limits: ByLimit,
    limit_traces: Option<Vec<Series>>,
}

impl<T: Copy> Engine<T> {
    pub fn new(pool_cores: Option<f64>) -> Engine<T> {
        Engine {
            now: 0.0,
            events: 0,
            is_late: false,
            order: 0,
            heap: BinaryHeap::new(),
            activities: Vec::new(),
            free_activities: Vec::new(),
            cpus: Vec::new(),
            links: Vec::new(),
            disks: Vec::new(),
            pool_cores,
            pending_wakes: VecDeque::new(),
            done: Vec::new(),
            limits: ByLimit::default(),
            limit_traces: None,
        }
    }

    pub fn trace_limits(&mut self, interval_s: f64, steps: usize) {
        self.limit_traces = Some(vec![Series::new(interval_s, steps); LIMITS.len()]);
    }

    pub fn limit_traces(&self) -> &[Series] {
        self.limit_traces.as_deref().unwrap_or(&[])
    }

    pub fn add_cpu(&mut self, cores: f64, speed: f64, weight: f64, trace: Option<Shared>) -> u32 {
        let fair = Fair::traced(trace);
        self.cpus.push(Cpu { fair, cores, speed, weight, due: NEVER });
        (self.cpus.len() - 1) as u32
    }

    pub fn add_link(&mut self, bytes_per_s: f64, trace: Option<Shared>) -> u32 {
        let fair = Fair::traced(trace);
        self.links.push(Link { fair, bytes_per_s, due: NEVER });
        (self.links.len() - 1) as u32
    }

    pub fn add_disk(&mut self, disk: Disk) -> u32 {
        self.disks.push((disk, NEVER));
        (self.disks.len() - 1) as u32
    }

    pub fn disk(&self, disk: u32) -> &Disk {
        &self.disks[disk as usize].0
    }

    pub fn cpu(&self, node: u32) -> &Fair {
        &self.cpus[node as usize].fair
    }

    pub fn link(&self, link: u32) -> &Fair {
        &self.links[link as usize].fair
    }

    /// Wake the driver at `at`.
    pub fn timer(&mut self, at: f64, timer: T) {
        self.push(at.max(self.now), EventKind::Timer(timer));
    }

    /// Count the waiting time since `from` that belongs to no activity.
    pub fn count_waiting(&mut self, from: f64, limit: Limit) {
        self.count(from, self.now, limit);
    }

    fn count(&mut self, from: f64, to: f64, limit: Limit) {
        if to <= from {
            return;
        }
        let index = limit as usize;
        self.limits[index] += to - from;
        if let Some(traces) = &mut self.limit_traces {
            traces[index].add(from, to, to - from);
        }
    }

    /// Start an activity. Its owner is woken at its end.
    pub fn start(&mut self, owner: Owner, parts: &[Use], pieces: u32) -> PartId {
        let index = self.free_activities.pop().unwrap_or_else(|| {
            self.activities.push(Activity::default());
            (self.activities.len() - 1) as u32
        });
        let activity = &mut self.activities[index as usize];
        activity.lives = true;
        activity.owner = Some(owner);
        activity.parts.clear();
        activity.parts.extend_from_slice(parts);
        activity.pieces = pieces.max(1);
        activity.remaining_pieces = activity.pieces;
        activity.limits = ByLimit::default();
        let id = PartId { activity: index, generation: activity.generation, slot: 0 };
        self.next_piece(index);
        self.handle_done_parts();
        id
    }

    /// Cancel an activity. Without effect if it has ended.
    pub fn cancel(&mut self, id: PartId) {
        let activity = &mut self.activities[id.activity as usize];
        if !activity.lives || activity.generation != id.generation {
            return;
        }
        let (parts, ended_parts) = (std::mem::take(&mut activity.parts), activity.ended_parts);
        activity.lives = false;
        activity.generation += 1;
        self.free_activities.push(id.activity);
        for (slot, part) in parts.iter().enumerate().filter(|(slot, _)| ended_parts & (1 << slot) == 0) {
            let part_id = PartId { slot: slot as u8, ..id };
            match *part {
                Use::Cpu { node, .. } => {
                    self.cpus[node as usize].fair.advance(self.now);
                    self.cpus[node as usize].fair.cancel();
                    self.cpu_changed(node);
                }
                Use::Link { link, .. } => {
                    self.links[link as usize].fair.advance(self.now);
                    self.links[link as usize].fair.cancel();
                    self.link_changed(link);
                }
                Use::Read { disk, .. } => {
                    self.with_disk(disk, |disk, now| disk.cancel_read(now, part_id));
                }
                // Data written to the page cache stays there, and no activity waits for it.
                Use::Write { .. } | Use::Wait { .. } => {}
            }
        }
        self.activities[id.activity as usize].parts = parts;
        self.handle_done_parts();
    }

    /// Delete a file: its dirty bytes need no disk.
    pub fn forget(&mut self, disk: u32, bytes: f64, position: f64) {
        self.with_disk(disk, |disk, now| disk.forget(now, bytes, position));
        self.handle_done_parts();
    }

    /// Advance to the next event that has an owner. Return None if no event is left.
    pub fn next(&mut self) -> Option<Wake<T>> {
        loop {
            if let Some(wake) = self.pending_wakes.pop_front() {
                return Some(wake);
            }
            let event = self.heap.pop()?;
            if !self.is_valid(&event) {
                continue;
            }
            if event.at > HORIZON_S {
                self.is_late = true;
                return None;
            }
            self.events += 1;
            self.now = self.now.max(event.at);
            match event.kind {
                EventKind::Timer(timer) => return Some(Wake::Timer(timer)),
                EventKind::Part(part) => self.done.push(part),
                EventKind::Cpu(node) => {
                    let (activities, cpu) = (&self.activities, &mut self.cpus[node as usize]);
                    cpu.due = NEVER;
                    cpu.fair.advance(self.now);
                    cpu.fair.finish(|part| is_alive(activities, part), &mut self.done);
                    self.cpu_changed(node);
                }
                EventKind::Link(link) => {
                    let (activities, shared) = (&self.activities, &mut self.links[link as usize]);
                    shared.due = NEVER;
                    shared.fair.advance(self.now);
                    shared.fair.finish(|part| is_alive(activities, part), &mut self.done);
                    self.link_changed(link);
                }
                EventKind::Disk(disk) => {
                    self.disks[disk as usize].1 = NEVER;
                    self.with_disk(disk, |_, _| ());
                }
            }
            self.handle_done_parts();
        }
    }

    fn is_valid(&self, event: &Event<T>) -> bool {
        match event.kind {
            EventKind::Cpu(node) => self.cpus[node as usize].due.order == event.order,
            EventKind::Link(link) => self.links[link as usize].due.order == event.order,
            EventKind::Disk(disk) => self.disks[disk as usize].1.order == event.order,
            EventKind::Part(part) => is_alive(&self.activities, part),
            EventKind::Timer(_) => true,
        }
    }

    fn push(&mut self, at: f64, kind: EventKind<T>) -> u64 {
        self.order += 1;
        self.heap.push(Event { at, order: self.order, kind });
        self.order
    }

    /// Schedule the next event of a resource. Add an event only if it is earlier than the scheduled one: an event that
    /// fires too early only schedules the next one.
    fn schedule(&mut self, at: f64, due: Due, kind: EventKind<T>) -> Due {
        if at >= due.at || at == f64::INFINITY {
            return due;
        }
        Due { order: self.push(at, kind), at }
    }

    fn link_changed(&mut self, link: u32) {
        let shared = &mut self.links[link as usize];
        shared.fair.set_rate(shared.bytes_per_s / f64::from(shared.fair.streams().max(1)));
        let (at, due) = (self.now + shared.fair.next_s(), shared.due);
        self.links[link as usize].due = self.schedule(at, due, EventKind::Link(link));
    }

    fn cpu_changed(&mut self, node: u32) {
        match self.pool_cores {
            Some(cores) => self.share_pool(cores),
            None => {
                let cpu = &self.cpus[node as usize];
                let share = (cpu.cores / f64::from(cpu.fair.streams().max(1))).min(1.0);
                self.set_cpu_rate(node, cpu.speed * share);
            }
        }
    }

    fn set_cpu_rate(&mut self, node: u32, rate: f64) {
        let cpu = &mut self.cpus[node as usize];
        cpu.fair.set_rate(rate);
        let (at, due) = (self.now + cpu.fair.next_s(), cpu.due);
        self.cpus[node as usize].due = self.schedule(at, due, EventKind::Cpu(node));
    }

    /// Divide the cores of the machine among the nodes in max-min fair shares by weight. No node gets more cores than
    /// it has running threads.
    fn share_pool(&mut self, cores: f64) {
        let mut remaining_cores = cores;
        let mut open_nodes: Vec<u32> = (0..self.cpus.len() as u32).filter(|&n| self.cpu(n).streams() > 0).collect();
        while !open_nodes.is_empty() {
            let weights: f64 = open_nodes.iter().map(|&node| self.cpus[node as usize].weight).sum();
            let per_weight = remaining_cores / weights;
            let threads = |node: u32| f64::from(self.cpus[node as usize].fair.streams());
            let is_full = |node: u32| threads(node) <= self.cpus[node as usize].weight * per_weight;
            let (full_nodes, other_nodes): (Vec<u32>, Vec<u32>) =
                open_nodes.iter().copied().partition(|&node| is_full(node));
            let settled_nodes = if full_nodes.is_empty() { open_nodes.clone() } else { full_nodes };
            for &node in &settled_nodes {
                let cpu = &self.cpus[node as usize];
                let streams = f64::from(cpu.fair.streams());
                let granted_cores = streams.min(cpu.weight * per_weight);
                remaining_cores -= granted_cores;
                let (rate, speed) = (granted_cores / streams, cpu.speed);
                self.cpus[node as usize].fair.advance(self.now);
                self.set_cpu_rate(node, rate * speed);
            }
            open_nodes = if settled_nodes.len() == open_nodes.len() { Vec::new() } else { other_nodes };
        }
    }

    /// Advance a disk to now, change it, and schedule its next event.
    fn with_disk<R>(&mut self, index: u32, change: impl FnOnce(&mut Disk, f64) -> R) -> R {
        let (activities, now) = (&self.activities, self.now);
        let (disk, due) = &mut self.disks[index as usize];
        disk.advance(now, |part| is_alive(activities, part), &mut self.done);
        let result = change(disk, now);
        let (at, due) = (disk.next_at(now), *due);
        self.disks[index as usize].1 = self.schedule(at, due, EventKind::Disk(index));
        result
    }

    fn handle_done_parts(&mut self) {
        while let Some(part) = self.done.pop() {
            self.part_ended(part);
        }
    }

    fn part_ended(&mut self, id: PartId) {
        if !is_alive(&self.activities, id) {
            return;
        }
        let activity = &mut self.activities[id.activity as usize];
        activity.ended_parts |= 1 << id.slot;
        activity.running -= 1;
        if activity.running > 0 {
            return;
        }
        let (from, limit) = (activity.piece_start_s, activity.parts[id.slot as usize].limit());
        activity.limits[limit as usize] += self.now - from;
        self.count(from, self.now, limit);
        self.next_piece(id.activity);
    }

    /// Start the next piece that takes time, or end the activity.
    fn next_piece(&mut self, index: u32) {
        loop {
            let activity = &mut self.activities[index as usize];
            if activity.remaining_pieces == 0 {
                activity.lives = false;
                activity.generation += 1;
                let (owner, limits) = (activity.owner, activity.limits);
                self.free_activities.push(index);
                if let Some(owner) = owner {
                    self.pending_wakes.push_back(Wake::Ended { owner, limits });
                }
                return;
            }
            activity.remaining_pieces -= 1;
            activity.piece_start_s = self.now;
            activity.ended_parts = 0;
            let parts = std::mem::take(&mut activity.parts);
            // One more, so that the piece does not end before all parts have started.
            activity.running = parts.len() as u32 + 1;
            let generation = activity.generation;
            let share = 1.0 / f64::from(activity.pieces);
            for (slot, part) in parts.iter().enumerate() {
                let id = PartId { activity: index, generation, slot: slot as u8 };
                if !self.start_part(id, part, share) {
                    let activity = &mut self.activities[index as usize];
                    activity.ended_parts |= 1 << slot;
                    activity.running -= 1;
                }
            }
            let activity = &mut self.activities[index as usize];
            activity.parts = parts;
            activity.running -= 1;
            if activity.running > 0 {
                return;
            }
        }
    }

    /// Start a share of a part on its resource. Return false if the share takes no time.
    fn start_part(&mut self, id: PartId, part: &Use, share: f64) -> bool {
        match *part {
            Use::Cpu { seconds, .. } | Use::Wait { seconds, .. } if seconds * share <= INSTANT_S => false,
            Use::Link { bytes, .. } | Use::Read { bytes, .. } | Use::Write { bytes, .. } if bytes * share < 1e-3 => {
                false
            }
            Use::Cpu { node, seconds } => {
                let cpu = &mut self.cpus[node as usize];
                cpu.fair.advance(self.now);
                cpu.fair.add(seconds * share, id);
                self.cpu_changed(node);
                true
            }
            Use::Link { link, bytes } => {
                let shared = &mut self.links[link as usize];
                shared.fair.advance(self.now);
                shared.fair.add(bytes * share, id);
                self.link_changed(link);
                true
            }
            Use::Read { disk, bytes, runs, .. } => {
                self.with_disk(disk, |disk, now| disk.read(now, id, bytes * share, (runs * share).max(1.0)));
                true
            }
            Use::Write { disk, bytes, .. } => !self.with_disk(disk, |disk, now| disk.write(now, id, bytes * share)),
            Use::Wait { seconds, .. } => {
                self.push(self.now + seconds * share, EventKind::Part(id));
                true
            }
        }
    }
}
