//! The input of a reduce: parallel copies from the nodes of the maps into memory or to disk, with concurrent merges.
//!
//! As in Hadoop's MergeManagerImpl: a segment goes into memory unless it is larger than a share of the buffer. A buffer
//! that is filled to `merge_share` is merged to disk. If too many files are on disk, some are merged into one. At the
//! end, the data in memory is written to disk, unless the number of files on disk has reached the maximum of one merge.

use crate::activity::{Limit, Use};
use crate::attempt::{Fetch, File, Reduce, Source, Step, DISK_MERGE, FETCH, MAIN, MEMORY_MERGE};
use crate::mapside::merge_plan;
use crate::sim::{Sim, Timer};

/// Minimum wait of an event fetcher without new events (EventFetcher.SLEEP_TIME), in seconds.
const POLL_S: f64 = 1.0;
/// Minimum wait as a share of the time since the start of the shuffle; `LARGE_POLL_SHARE` in stages with more than
/// `LARGE_TASKS` tasks.
const POLL_SHARE: f64 = 0.01;
const LARGE_POLL_SHARE: f64 = 0.05;
const LARGE_TASKS: u32 = 500;
/// Maximum number of fetches that are simulated separately; beyond it, fetches are grouped.
const FETCHES: f64 = 100_000.0;
/// Maximum size of a fetch, as a share of the buffer.
const FETCH_SHARE: f64 = 0.25;
/// Number of disks that serve one fetch if each node is fetched from separately. Otherwise one disk serves it, in turn.
const SPREAD: usize = 4;
const FILES_PER_FETCH: u32 = 50;

impl Sim<'_> {
    pub fn begin_shuffle(&mut self, index: u32) {
        let attempt = &self.attempts[index as usize];
        let (job, stage, task) = (attempt.job as usize, attempt.stage as usize, attempt.task as usize);
        let spec = &self.scenario.jobs[job].stages[stage].shuffle;
        let state = &self.jobs[job].stages[stage];
        let share = state.weights.get(task).copied().unwrap_or(1.0 / f64::from(state.tasks));
        let mut sources = Vec::new();
        for &outputs in &state.sources {
            let groups = self.outputs[outputs].groups.len() as u32;
            sources.extend((0..groups).map(|group| Source { outputs: outputs as u32, group, fetched_bytes: 0.0 }));
        }
        let limit_bytes = spec.heap_bytes * spec.buffer_share;
        let count = sources.len();
        let reduce = Reduce {
            share,
            fetched_bytes: 0.0,
            files: Vec::new(),
            expected_bytes: share * state.input_bytes,
            expansion: self.expansion_of(job, stage) / self.scenario.jobs[job].stages[stage].expand,
            sources,
            turn: (task * 7) % count.max(1),
            fetches: vec![Fetch::default(); spec.copies as usize],
            active: 0,
            memory_bytes: 0.0,
            reserved_bytes: 0.0,
            limit_bytes,
            merge_bytes: limit_bytes * spec.merge_share,
            segment_bytes_max: limit_bytes * spec.memory_limit_share,
            merging_bytes: 0.0,
            merging_files: 0,
            factor: spec.factor,
            kept_bytes: spec.heap_bytes * spec.kept_share,
            polling: false,
            complete: false,
        };
        let now = self.engine.now;
        let state = &mut self.jobs[job].stages[stage];
        if state.shuffle_first_s == 0.0 {
            state.shuffle_first_s = now;
        }
        let attempt = &mut self.attempts[index as usize];
        attempt.step = Step::Shuffle;
        attempt.reduce = Some(Box::new(reduce));
        self.fetch_more(index);
    }

    pub fn poll(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        if let (true, Some(reduce)) = (attempt.lives, &mut attempt.reduce) {
            if reduce.polling && attempt.step == Step::Shuffle {
                reduce.polling = false;
                self.fetch_more(index);
            }
        }
    }

    /// Start as many copies as are allowed, and check whether the shuffle is complete.
    fn fetch_more(&mut self, index: u32) {
        loop {
            let attempt = &self.attempts[index as usize];
            let reduce = match &attempt.reduce {
                Some(reduce) if attempt.step == Step::Shuffle => reduce,
                _ => return,
            };
            let lane = (0..reduce.fetches.len()).find(|lane| reduce.active & (1u128 << lane) == 0);
            let in_memory = reduce.memory_bytes + reduce.reserved_bytes + reduce.merging_bytes;
            let lane = match lane {
                Some(lane) if in_memory <= reduce.limit_bytes || reduce.active == 0 && reduce.merging_bytes == 0.0 => {
                    lane
                }
                _ => break,
            };
            match self.next_source(index) {
                Some((source, bytes)) => self.fetch(index, lane, source, bytes),
                None => break,
            }
        }
        self.check_shuffled(index);
    }

    /// Return the next source with enough data, and the number of bytes to fetch.
    fn next_source(&self, index: u32) -> Option<(usize, f64)> {
        let attempt = &self.attempts[index as usize];
        let reduce = attempt.reduce.as_ref()?;
        let tasks = f64::from(self.jobs[attempt.job as usize].stages[attempt.stage as usize].tasks);
        let count = reduce.sources.len();
        for step in 0..count {
            let number = (reduce.turn + step) % count;
            let source = &reduce.sources[number];
            let outputs = &self.outputs[source.outputs as usize];
            let group = &outputs.groups[source.group as usize];
            let there = group.bytes * reduce.share - source.fetched_bytes;
            if there <= 1e-7 * reduce.expected_bytes {
                continue;
            }
            if !outputs.is_complete() {
                let groups = outputs.groups.len() as f64;
                let maps = f64::from(outputs.maps) / groups;
                let rounds = (FETCHES / (tasks * count as f64)).clamp(1.0, maps.max(1.0));
                if there < 0.99 * outputs.expected_bytes / groups * reduce.share / rounds {
                    continue;
                }
            }
            let segment = group.bytes * reduce.share / f64::from(group.maps.max(1));
            let most = (FETCH_SHARE * reduce.limit_bytes / reduce.expansion).max(segment);
            return Some((number, there.min(most)));
        }
        None
    }

    fn fetch(&mut self, index: u32, lane: usize, number: usize, bytes: f64) {
        let attempt = &mut self.attempts[index as usize];
        let (node, job, stage, factor) = (attempt.node, attempt.job as usize, attempt.stage as usize, attempt.factor);
        let task = attempt.task as usize;
        let reduce = match &mut attempt.reduce {
            Some(reduce) => reduce,
            None => return,
        };
        let turn = reduce.turn;
        reduce.turn = (number + 1) % reduce.sources.len();
        let source = &mut reduce.sources[number];
        let outputs = &self.outputs[source.outputs as usize];
        let group = &outputs.groups[source.group as usize];
        let whole = (group.bytes * reduce.share).max(bytes);
        let from = source.fetched_bytes / whole;
        source.fetched_bytes += bytes;
        let to = (source.fetched_bytes / whole).min(1.0);
        let segment = whole / f64::from(group.maps.max(1));
        let segments = (bytes / segment).round().max(1.0);
        let exact = outputs.is_exact();
        let server = outputs.server(source.group as usize, turn + task);
        let position = server.map(|server| outputs.position(server, from, to));
        let to_memory = segment * reduce.expansion <= reduce.segment_bytes_max;
        let plain = bytes * reduce.expansion;
        reduce.active |= 1 << lane;
        reduce.fetched_bytes += bytes;
        if to_memory {
            reduce.reserved_bytes += plain;
        }
        let fetch = Fetch { bytes, to_memory, segments: segments as u32, written: None };
        reduce.fetches[lane] = fetch;
        if let (Some(server), Some(position)) = (server, position) {
            let spread = if exact { SPREAD } else { 1 };
            self.serve(server, bytes, segments, position, (turn + task, spread));
            self.send(server, node, bytes);
        }
        let costs = &self.scenario.jobs[job].stages[stage].cpu;
        self.parts.push(Use::Cpu { node, seconds: bytes * costs.read_s_per_byte * factor });
        if !to_memory {
            let written = self.write_files(index, bytes, 1).pop();
            if let Some(reduce) = &mut self.attempts[index as usize].reduce {
                reduce.fetches[lane].written = written;
            }
        }
        self.counters.shuffle_bytes += bytes;
        self.attempts[index as usize].counters.shuffle_bytes += bytes;
        self.run_lane(index, FETCH + lane as u8, 1);
    }

    /// Add the cost of serving a fetch to the node that has the data: its page cache or its disks.
    fn serve(&mut self, server: u32, bytes: f64, segments: f64, position: f64, (turn, spread): (usize, usize)) {
        let node = &self.world.nodes[server as usize];
        let cached = bytes * node.cache.share(1.0, position);
        let missed = bytes - cached;
        let count = node.intermediate.len().min(spread);
        if missed > 0.0 && count > 0 {
            let disk_bytes = missed / count as f64;
            let runs = (segments * missed / bytes / count as f64).max(1.0);
            for i in 0..count {
                let disk = node.intermediate[(turn + i) % node.intermediate.len()];
                self.parts.push(Use::Read { disk, bytes: disk_bytes, runs, limit: Limit::IntermediateDisk });
            }
        }
        if cached > 0.0 {
            let seconds = cached / node.memory_bytes_per_s;
            self.parts.push(Use::Wait { seconds, limit: Limit::Memory });
        }
        self.counters.cache_read_bytes += cached;
        self.counters.intermediate_read_bytes += bytes;
    }

    pub fn fetched(&mut self, index: u32, lane: u8) {
        let lane = usize::from(lane - FETCH);
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            reduce.active &= !(1 << lane);
            let fetch = reduce.fetches[lane];
            if fetch.to_memory {
                let plain = fetch.bytes * reduce.expansion;
                reduce.reserved_bytes = (reduce.reserved_bytes - plain).max(0.0);
                reduce.memory_bytes += plain;
            } else if let Some(written) = fetch.written {
                let files = fetch.segments.clamp(1, FILES_PER_FETCH);
                let file = File { bytes: written.bytes / f64::from(files), ..written };
                reduce.files.extend((0..files).map(|_| file));
            }
        }
        self.start_merge(index);
        self.fetch_more(index);
    }

    /// Start a merge during the copies, if one is due.
    fn start_merge(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        let (node, factor) = (attempt.node, attempt.factor);
        let merge_s_per_byte =
            self.scenario.jobs[attempt.job as usize].stages[attempt.stage as usize].cpu.merge_s_per_byte;
        let reduce = match &mut attempt.reduce {
            Some(reduce) => reduce,
            None => return,
        };
        if reduce.memory_bytes >= reduce.merge_bytes && reduce.merging_bytes == 0.0 {
            let plain = std::mem::take(&mut reduce.memory_bytes);
            reduce.merging_bytes = plain;
            let stored = plain / reduce.expansion;
            self.parts.push(Use::Cpu { node, seconds: plain * merge_s_per_byte * factor });
            let made = self.write_files(index, stored, 1);
            self.spilled(index, stored, made);
            self.run_lane(index, MEMORY_MERGE, self.pieces.min(4));
        }
        let reduce = match &mut self.attempts[index as usize].reduce {
            Some(reduce) => reduce,
            None => return,
        };
        if reduce.files.len() >= 2 * reduce.factor as usize - 1 && reduce.merging_files == 0 {
            reduce.files.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
            let merged: Vec<File> = reduce.files.drain(..reduce.factor as usize).collect();
            reduce.merging_files = merged.len();
            let bytes: f64 = merged.iter().map(|file| file.bytes).sum();
            let plain = bytes * reduce.expansion;
            self.parts.push(Use::Cpu { node, seconds: plain * merge_s_per_byte * factor });
            self.read_files(index, &merged, 1.0);
            let made = self.write_files(index, bytes, 1);
            self.spilled(index, bytes, made);
            self.delete_files(&merged);
            self.counters.merge_passes += 1.0;
            self.run_lane(index, DISK_MERGE, self.pieces.min(4));
        }
    }

    fn spilled(&mut self, index: u32, bytes: f64, made: Vec<File>) {
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.spilled_bytes += bytes;
        self.counters.spilled_bytes += bytes;
        if let Some(reduce) = &mut attempt.reduce {
            reduce.files.extend(made);
        }
    }

    pub fn memory_merged(&mut self, index: u32) {
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            reduce.merging_bytes = 0.0;
        }
        self.start_merge(index);
        self.fetch_more(index);
    }

    pub fn disk_merged(&mut self, index: u32) {
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            reduce.merging_files = 0;
        }
        self.start_merge(index);
        self.fetch_more(index);
    }

    /// Without a running copy or merge, wait for more data, or end the shuffle if all data was copied.
    fn check_shuffled(&mut self, index: u32) {
        let now = self.engine.now;
        let attempt = &self.attempts[index as usize];
        let reduce = match &attempt.reduce {
            Some(reduce) if attempt.step == Step::Shuffle && reduce.active == 0 => reduce,
            _ => return,
        };
        if reduce.merging_bytes > 0.0 || reduce.merging_files > 0 {
            return;
        }
        let all_maps = reduce.sources.iter().all(|source| self.outputs[source.outputs as usize].is_complete());
        let complete = all_maps && self.next_source(index).is_none();
        if complete {
            self.shuffled(index);
            return;
        }
        let elapsed = now - attempt.step_s;
        let large = self.jobs[attempt.job as usize].stages[attempt.stage as usize].tasks > LARGE_TASKS;
        let wait = (elapsed * if large { LARGE_POLL_SHARE } else { POLL_SHARE }).max(POLL_S);
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            if !reduce.polling {
                reduce.polling = true;
                self.engine.timer(now + wait, Timer::Poll(index));
            }
        }
    }

    /// End the shuffle: write the data in memory to disk, if required.
    fn shuffled(&mut self, index: u32) {
        let now = self.engine.now;
        let seconds = self.step_seconds(index);
        let attempt = &mut self.attempts[index as usize];
        attempt.phases.shuffle_s += seconds;
        attempt.shuffle_end_s = now;
        attempt.step = Step::LastMerge;
        let (job, stage, node, factor) = (attempt.job as usize, attempt.stage as usize, attempt.node, attempt.factor);
        let state = &mut self.jobs[job].stages[stage];
        state.shuffle_end_s = state.shuffle_end_s.max(now);
        let reduce = match &mut attempt.reduce {
            Some(reduce) => reduce,
            None => return,
        };
        reduce.complete = true;
        let out = (reduce.memory_bytes - reduce.kept_bytes).max(0.0);
        if out > 0.0 && reduce.files.len() < reduce.factor as usize {
            reduce.memory_bytes -= out;
            let stored = out / reduce.expansion;
            let merge_s = self.scenario.jobs[job].stages[stage].cpu.merge_s_per_byte;
            self.parts.push(Use::Cpu { node, seconds: out * merge_s * factor });
            let made = self.write_files(index, stored, 1);
            self.spilled(index, stored, made);
            self.run_lane(index, MAIN, self.pieces.min(4));
        } else {
            self.last_merge_ended(index);
        }
    }

    /// Merge until the remaining files can be merged while reducing.
    pub fn last_merge_ended(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        attempt.step = Step::Sort;
        let (job, stage, node, factor) = (attempt.job as usize, attempt.stage as usize, attempt.node, attempt.factor);
        let reduce = match &mut attempt.reduce {
            Some(reduce) => reduce,
            None => return,
        };
        let (share, passes) = merge_plan(reduce.files.len() as u32, reduce.factor);
        if passes == 0 {
            self.begin_work(index);
            return;
        }
        let files = std::mem::take(&mut reduce.files);
        let bytes: f64 = files.iter().map(|file| file.bytes).sum();
        let plain = bytes * reduce.expansion;
        self.counters.merge_passes += f64::from(passes);
        self.read_files(index, &files, share);
        let made = self.write_files(index, bytes * share, 1);
        let merge_s = self.scenario.jobs[job].stages[stage].cpu.merge_s_per_byte;
        self.parts.push(Use::Cpu { node, seconds: plain * share * merge_s * factor });
        self.delete_files(&files);
        // Afterwards, the merged share of the data is in new files; the rest stays in the old ones.
        let mut left: Vec<File> =
            files.iter().map(|file| File { bytes: file.bytes * (1.0 - share.min(1.0)), ..*file }).collect();
        left.extend(made.iter().map(|file| File { bytes: bytes * share.min(1.0), ..*file }));
        self.counters.spilled_bytes += bytes * share;
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.spilled_bytes += bytes * share;
        if let Some(reduce) = &mut attempt.reduce {
            reduce.files = left;
        }
        self.run_lane(index, MAIN, self.pieces.min(4));
    }
}
