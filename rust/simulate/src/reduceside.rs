//! The input of a reduce: parallel copies from the nodes of the maps into memory or to disk, with concurrent merges.
//!
//! As in Hadoop's MergeManagerImpl, a segment goes into memory unless it is larger than a share of the buffer. A buffer
//! that is filled to `merge_share` is merged to disk. If too many files are on disk, `factor` of them are merged into
//! one. At the end, the data in memory is written to disk, unless the number of files on disk has reached `factor`.

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
/// Maximum number of fetches that are simulated separately. If there are more, several fetches are simulated as one.
const FETCHES_MAX: f64 = 100_000.0;
/// Maximum size of a fetch, as a share of the buffer.
const FETCH_SHARE: f64 = 0.25;
/// Number of disks that serve one fetch if each fetch is from a single node. Otherwise one disk serves it; the disks
/// take turns.
const DISKS_PER_FETCH: usize = 4;
/// Maximum number of files that one fetch to disk leaves.
const FILES_PER_FETCH_MAX: u32 = 50;

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
            next_source_index: (task * 7) % count.max(1),
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
        self.check_shuffle_end(index);
    }

    /// Return the next source with enough data, and the number of bytes to fetch.
    fn next_source(&self, index: u32) -> Option<(usize, f64)> {
        let attempt = &self.attempts[index as usize];
        let reduce = attempt.reduce.as_ref()?;
        let tasks = f64::from(self.jobs[attempt.job as usize].stages[attempt.stage as usize].tasks);
        let count = reduce.sources.len();
        for step in 0..count {
            let source_index = (reduce.next_source_index + step) % count;
            let source = &reduce.sources[source_index];
            let outputs = &self.outputs[source.outputs as usize];
            let group = &outputs.groups[source.group as usize];
            let available_bytes = group.bytes * reduce.share - source.fetched_bytes;
            if available_bytes <= 1e-7 * reduce.expected_bytes {
                continue;
            }
            if !outputs.is_complete() {
                let groups = outputs.groups.len() as f64;
                let maps = f64::from(outputs.maps) / groups;
                let rounds = (FETCHES_MAX / (tasks * count as f64)).clamp(1.0, maps.max(1.0));
                if available_bytes < 0.99 * outputs.expected_bytes / groups * reduce.share / rounds {
                    continue;
                }
            }
            let segment_bytes = group.bytes * reduce.share / f64::from(group.maps.max(1));
            let fetch_bytes_max = (FETCH_SHARE * reduce.limit_bytes / reduce.expansion).max(segment_bytes);
            return Some((source_index, available_bytes.min(fetch_bytes_max)));
        }
        None
    }

    fn fetch(&mut self, index: u32, lane: usize, source_index: usize, bytes: f64) {
        let attempt = &mut self.attempts[index as usize];
        let (node, job, stage, factor) = (attempt.node, attempt.job as usize, attempt.stage as usize, attempt.factor);
        let task = attempt.task as usize;
        let reduce = match &mut attempt.reduce {
            Some(reduce) => reduce,
            None => return,
        };
        let turn = reduce.next_source_index;
        reduce.next_source_index = (source_index + 1) % reduce.sources.len();
        let source = &mut reduce.sources[source_index];
        let outputs = &self.outputs[source.outputs as usize];
        let group = &outputs.groups[source.group as usize];
        let source_bytes = (group.bytes * reduce.share).max(bytes);
        let from = source.fetched_bytes / source_bytes;
        source.fetched_bytes += bytes;
        let to = (source.fetched_bytes / source_bytes).min(1.0);
        let segment_bytes = source_bytes / f64::from(group.maps.max(1));
        let segments = (bytes / segment_bytes).round().max(1.0);
        let is_exact = outputs.is_exact();
        let server = outputs.server(source.group as usize, turn + task);
        let position = server.map(|server| outputs.position(server, from, to));
        let to_memory = segment_bytes * reduce.expansion <= reduce.segment_bytes_max;
        let uncompressed = bytes * reduce.expansion;
        reduce.active |= 1 << lane;
        reduce.fetched_bytes += bytes;
        if to_memory {
            reduce.reserved_bytes += uncompressed;
        }
        let fetch = Fetch { bytes, to_memory, segments: segments as u32, file: None };
        reduce.fetches[lane] = fetch;
        if let (Some(server), Some(position)) = (server, position) {
            let disks_max = if is_exact { DISKS_PER_FETCH } else { 1 };
            self.serve(server, bytes, segments, position, (turn + task, disks_max));
            self.send(server, node, bytes);
        }
        let costs = &self.scenario.jobs[job].stages[stage].cpu;
        self.parts.push(Use::Cpu { node, seconds: bytes * costs.read_s_per_byte * factor });
        if !to_memory {
            let file = self.write_files(index, bytes, 1).pop();
            if let Some(reduce) = &mut self.attempts[index as usize].reduce {
                reduce.fetches[lane].file = file;
            }
        }
        self.counters.shuffle_bytes += bytes;
        self.attempts[index as usize].counters.shuffle_bytes += bytes;
        self.run_lane(index, FETCH + lane as u8, 1);
    }

    /// Add the cost of serving a fetch to the node that has the data: its page cache or its disks.
    fn serve(&mut self, server: u32, bytes: f64, segments: f64, position: f64, (turn, disks_max): (usize, usize)) {
        let node = &self.world.nodes[server as usize];
        let cached_bytes = bytes * node.cache.share(1.0, position);
        let missed_bytes = bytes - cached_bytes;
        let count = node.intermediate.len().min(disks_max);
        if missed_bytes > 0.0 && count > 0 {
            let disk_bytes = missed_bytes / count as f64;
            let runs = (segments * missed_bytes / bytes / count as f64).max(1.0);
            for i in 0..count {
                let disk = node.intermediate[(turn + i) % node.intermediate.len()];
                self.parts.push(Use::Read { disk, bytes: disk_bytes, runs, limit: Limit::IntermediateDisk });
            }
        }
        if cached_bytes > 0.0 {
            let seconds = cached_bytes / node.memory_bytes_per_s;
            self.parts.push(Use::Wait { seconds, limit: Limit::Memory });
        }
        self.counters.cache_read_bytes += cached_bytes;
        self.counters.intermediate_read_bytes += bytes;
    }

    /// Take over the data of a finished fetch, and start the next fetches and merges.
    pub fn fetch_ended(&mut self, index: u32, lane: u8) {
        let lane = usize::from(lane - FETCH);
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            reduce.active &= !(1 << lane);
            let fetch = reduce.fetches[lane];
            if fetch.to_memory {
                let uncompressed = fetch.bytes * reduce.expansion;
                reduce.reserved_bytes = (reduce.reserved_bytes - uncompressed).max(0.0);
                reduce.memory_bytes += uncompressed;
            } else if let Some(file_of_fetch) = fetch.file {
                let files = fetch.segments.clamp(1, FILES_PER_FETCH_MAX);
                let file = File { bytes: file_of_fetch.bytes / f64::from(files), ..file_of_fetch };
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
            let uncompressed = std::mem::take(&mut reduce.memory_bytes);
            reduce.merging_bytes = uncompressed;
            let stored = uncompressed / reduce.expansion;
            self.parts.push(Use::Cpu { node, seconds: uncompressed * merge_s_per_byte * factor });
            let new_files = self.write_files(index, stored, 1);
            self.add_spill(index, stored, new_files);
            self.run_lane(index, MEMORY_MERGE, self.pieces.min(4));
        }
        let reduce = match &mut self.attempts[index as usize].reduce {
            Some(reduce) => reduce,
            None => return,
        };
        if reduce.files.len() >= 2 * reduce.factor as usize - 1 && reduce.merging_files == 0 {
            reduce.files.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
            let merged_files: Vec<File> = reduce.files.drain(..reduce.factor as usize).collect();
            reduce.merging_files = merged_files.len();
            let bytes: f64 = merged_files.iter().map(|file| file.bytes).sum();
            let uncompressed = bytes * reduce.expansion;
            self.parts.push(Use::Cpu { node, seconds: uncompressed * merge_s_per_byte * factor });
            self.read_files(index, &merged_files, 1.0);
            let new_files = self.write_files(index, bytes, 1);
            self.add_spill(index, bytes, new_files);
            self.delete_files(&merged_files);
            self.counters.merge_passes += 1.0;
            self.run_lane(index, DISK_MERGE, self.pieces.min(4));
        }
    }

    /// Add the files of a spill to a reduce, and count their bytes.
    fn add_spill(&mut self, index: u32, bytes: f64, new_files: Vec<File>) {
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.spilled_bytes += bytes;
        self.counters.spilled_bytes += bytes;
        if let Some(reduce) = &mut attempt.reduce {
            reduce.files.extend(new_files);
        }
    }

    pub fn memory_merge_ended(&mut self, index: u32) {
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            reduce.merging_bytes = 0.0;
        }
        self.start_merge(index);
        self.fetch_more(index);
    }

    pub fn disk_merge_ended(&mut self, index: u32) {
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            reduce.merging_files = 0;
        }
        self.start_merge(index);
        self.fetch_more(index);
    }

    /// Without a running copy or merge, wait for more data, or end the shuffle if all data was copied.
    fn check_shuffle_end(&mut self, index: u32) {
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
        let is_complete = all_maps && self.next_source(index).is_none();
        if is_complete {
            self.end_shuffle(index);
            return;
        }
        let elapsed_s = now - attempt.step_start_s;
        let is_large = self.jobs[attempt.job as usize].stages[attempt.stage as usize].tasks > LARGE_TASKS;
        let wait_s = (elapsed_s * if is_large { LARGE_POLL_SHARE } else { POLL_SHARE }).max(POLL_S);
        if let Some(reduce) = &mut self.attempts[index as usize].reduce {
            if !reduce.polling {
                reduce.polling = true;
                self.engine.timer(now + wait_s, Timer::Poll(index));
            }
        }
    }

    /// End the shuffle: write the data in memory to disk, if required.
    fn end_shuffle(&mut self, index: u32) {
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
        let excess_bytes = (reduce.memory_bytes - reduce.kept_bytes).max(0.0);
        if excess_bytes > 0.0 && reduce.files.len() < reduce.factor as usize {
            reduce.memory_bytes -= excess_bytes;
            let stored = excess_bytes / reduce.expansion;
            let merge_s = self.scenario.jobs[job].stages[stage].cpu.merge_s_per_byte;
            self.parts.push(Use::Cpu { node, seconds: excess_bytes * merge_s * factor });
            let new_files = self.write_files(index, stored, 1);
            self.add_spill(index, stored, new_files);
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
        let uncompressed = bytes * reduce.expansion;
        self.counters.merge_passes += f64::from(passes);
        self.read_files(index, &files, share);
        let new_files = self.write_files(index, bytes * share, 1);
        let merge_s = self.scenario.jobs[job].stages[stage].cpu.merge_s_per_byte;
        self.parts.push(Use::Cpu { node, seconds: uncompressed * share * merge_s * factor });
        self.delete_files(&files);
        // Afterwards, the merged share of the data is in new files; the rest stays in the old ones.
        let mut remaining_files: Vec<File> =
            files.iter().map(|file| File { bytes: file.bytes * (1.0 - share.min(1.0)), ..*file }).collect();
        remaining_files.extend(new_files.iter().map(|file| File { bytes: bytes * share.min(1.0), ..*file }));
        self.counters.spilled_bytes += bytes * share;
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.spilled_bytes += bytes * share;
        if let Some(reduce) = &mut attempt.reduce {
            reduce.files = remaining_files;
        }
        self.run_lane(index, MAIN, self.pieces.min(4));
    }
}
