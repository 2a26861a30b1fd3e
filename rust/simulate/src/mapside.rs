//! The work of a task on its input: segments of reading, computing and writing, with the spills and merges of a sort.

use std::collections::VecDeque;

use crate::activity::{Limit, Use};
use crate::attempt::{File, Step, MAIN, SPILL};
use crate::scenario::{Input, Output, SortSpec};
use crate::sim::Sim;

/// Number of spills of the sort buffer for an amount of output.
pub fn spills_of(sort: &SortSpec, output_bytes: f64) -> u32 {
    let spill_bytes = sort.buffer_bytes * sort.spill_share;
    ((output_bytes * (1.0 + sort.metadata_share) / spill_bytes - 1e-9).ceil()).clamp(1.0, 1e6) as u32
}

/// Cost of the merge passes before the last for `segments` equal segments: the share of the data that they read and
/// write, and the number of passes. As in Hadoop's Merger, the first pass merges the number of segments with
/// which all other passes are full.
pub fn merge_plan(segments: u32, factor: u32) -> (f64, u32) {
    let mut unmerged = segments;
    // Merged segments, in ascending order of size.
    let mut merged: VecDeque<f64> = VecDeque::new();
    let (mut extra, mut passes) = (0.0, 0);
    while unmerged as usize + merged.len() > factor as usize {
        let count = match unmerged.saturating_sub(1) % (factor - 1) {
            remainder if passes == 0 && remainder > 0 => remainder + 1,
            _ => factor,
        };
        let mut sum = 0.0;
        for _ in 0..count {
            if unmerged > 0 && merged.front().map_or(true, |&size| size >= 1.0) {
                unmerged -= 1;
                sum += 1.0;
            } else {
                sum += merged.pop_front().unwrap_or(0.0);
            }
        }
        merged.push_back(sum);
        extra += sum;
        passes += 1;
    }
    (extra / f64::from(segments.max(1)), passes)
}

impl Sim<'_> {
    /// The first block that a task reads.
    pub fn first_block(&self, job: usize, index: usize, task: u32) -> usize {
        let state = &self.jobs[job].stages[index];
        let blocks = state.dataset.map_or(1, |dataset| self.world.datasets[dataset].block_bytes.len());
        (task as usize * blocks / state.tasks as usize).min(blocks - 1)
    }

    /// Stored bytes that a task reads.
    fn input_bytes_of(&self, job: usize, index: usize, task: u32) -> f64 {
        let state = &self.jobs[job].stages[index];
        if let Some(weight) = state.weights.get(task as usize) {
            return weight * state.input_bytes;
        }
        if let Some(dataset) = state.dataset {
            let blocks = &self.world.datasets[dataset].block_bytes;
            if blocks.len() == state.tasks as usize && self.stage_reads_all(job, index) {
                return blocks[task as usize];
            }
        }
        state.input_bytes / f64::from(state.tasks)
    }

    fn stage_reads_all(&self, job: usize, index: usize) -> bool {
        matches!(&self.scenario.jobs[job].stages[index].input, Input::Dfs { bytes: None, .. })
    }

    /// Start to read, compute and write.
    pub fn begin_work(&mut self, index: u32) {
        let attempt = &self.attempts[index as usize];
        let (job, stage, task) = (attempt.job as usize, attempt.stage as usize, attempt.task);
        let input_bytes = match &attempt.reduce {
            Some(reduce) => reduce.fetched_bytes,
            None => self.input_bytes_of(job, stage, task),
        };
        let spec = &self.scenario.jobs[job].stages[stage];
        let mut blocks = 1;
        if self.jobs[job].stages[stage].dataset.is_some() {
            let end = if task + 1 < self.jobs[job].stages[stage].tasks {
                self.first_block(job, stage, task + 1)
            } else {
                self.world.datasets[self.jobs[job].stages[stage].dataset.unwrap_or(0)].block_bytes.len()
            };
            blocks = end.saturating_sub(self.first_block(job, stage, task)).max(1);
        }
        let mut segments = blocks;
        if let Output::Dfs { ratio, compression, block_bytes, .. } = spec.output {
            let output_bytes = input_bytes * self.expansion_of(job, stage) * ratio * compression;
            let output_blocks = (output_bytes / block_bytes - 1e-9).ceil().max(1.0) as usize;
            segments = blocks * ((output_blocks + blocks - 1) / blocks);
        }
        if attempt.reduce.is_some() {
            let seconds = self.step_seconds(index);
            let now = self.engine.now;
            let attempt = &mut self.attempts[index as usize];
            attempt.phases.sort_s += seconds;
            attempt.sort_end_s = now;
            let state = &mut self.jobs[job].stages[stage];
            state.sort_end_s = state.sort_end_s.max(now);
        }
        let attempt = &mut self.attempts[index as usize];
        attempt.step = Step::Work;
        attempt.step_start_s = self.engine.now;
        attempt.segment = 0;
        attempt.segments = segments as u32;
        attempt.input_bytes = input_bytes;
        attempt.counters.input_bytes = input_bytes;
        if let Output::Shuffle { .. } = spec.output {
            self.begin_early_spills(index);
        }
        self.next_segment(index);
    }

    /// Start one segment, with all of its resources at the same time.
    pub fn next_segment(&mut self, index: u32) {
        let attempt = &self.attempts[index as usize];
        let (job, stage, task, node) = (attempt.job as usize, attempt.stage as usize, attempt.task, attempt.node);
        let (segment, segments, factor) = (attempt.segment, attempt.segments, attempt.factor);
        let bytes = attempt.input_bytes / f64::from(segments);
        let is_reduce = attempt.reduce.is_some();
        let spec = &self.scenario.jobs[job].stages[stage];
        let uncompressed_bytes = bytes * self.expansion_of(job, stage);
        let mut seconds = uncompressed_bytes * spec.cpu.process_s_per_byte;
        if segment == 0 {
            seconds += spec.cpu.task_s;
        }
        if is_reduce {
            seconds += uncompressed_bytes * spec.cpu.merge_s_per_byte;
            let files = self.attempts[index as usize].reduce.as_ref().map_or(Vec::new(), |reduce| reduce.files.clone());
            self.read_files(index, &files, 1.0 / f64::from(segments));
        } else {
            seconds += bytes * spec.cpu.read_s_per_byte;
        }
        if let Some(dataset) = self.jobs[job].stages[stage].dataset {
            let first_block = self.first_block(job, stage, task);
            let blocks = self.world.datasets[dataset].block_bytes.len();
            let block_count = if task + 1 < self.jobs[job].stages[stage].tasks {
                self.first_block(job, stage, task + 1).saturating_sub(first_block).max(1)
            } else {
                blocks - first_block
            };
            let block = first_block + (segment as usize * block_count / segments as usize).min(block_count - 1);
            self.read_block(index, dataset, block, bytes);
        }
        if let Output::Dfs { ratio, compression, replication, block_bytes: _, remote_cpu_s_per_byte, .. } = spec.output
        {
            let output_bytes = uncompressed_bytes * ratio * compression;
            seconds += output_bytes * spec.cpu.write_s_per_byte;
            self.write_block(index, output_bytes, replication, remote_cpu_s_per_byte);
        }
        self.parts.push(Use::Cpu { node, seconds: seconds * factor });
        self.run_lane(index, MAIN, (self.pieces / segments).max(1));
    }

    /// Read a part of a block from its nearest replica.
    fn read_block(&mut self, index: u32, dataset: usize, block: usize, bytes: f64) {
        let attempt = &self.attempts[index as usize];
        let (node, task) = (attempt.node, attempt.task as usize);
        let replicas = self.world.datasets[dataset].replicas(block);
        let rack = self.world.nodes[node as usize].rack;
        let alive_replicas: Vec<_> =
            replicas.iter().filter(|replica| self.world.nodes[replica.node as usize].alive).collect();
        let is_in_rack = |replica: &&&crate::world::Replica| self.world.nodes[replica.node as usize].rack == rack;
        let nearest = alive_replicas
            .iter()
            .find(|replica| replica.node == node)
            .or_else(|| alive_replicas.iter().cycle().skip(task).take(alive_replicas.len()).find(is_in_rack))
            .or_else(|| alive_replicas.get(task % alive_replicas.len().max(1)));
        let replica = match nearest {
            Some(replica) => **replica,
            None => {
                let name = &self.world.datasets[dataset].name;
                let text = format!("{name}: all replicas of a block are on nodes that have failed");
                self.failed = Some(crate::scenario::Failure::Impossible(text));
                return;
            }
        };
        let source = &mut self.world.nodes[replica.node as usize];
        let block_bytes = self.world.datasets[dataset].block_bytes[block];
        let cached_bytes = bytes * source.cache.share(block_bytes, replica.position);
        let missed_bytes = bytes - cached_bytes;
        if missed_bytes > 0.0 {
            source.cache.insert(missed_bytes);
            self.parts.push(Use::Read { disk: replica.disk, bytes: missed_bytes, runs: 1.0, limit: Limit::DfsDisk });
        }
        if cached_bytes > 0.0 {
            let seconds = cached_bytes / source.memory_bytes_per_s;
            self.parts.push(Use::Wait { seconds, limit: Limit::Memory });
        }
        self.counters.cache_read_bytes += cached_bytes;
        self.counters.dfs_read_bytes += bytes;
        self.attempts[index as usize].counters.dfs_read_bytes += bytes;
        self.send(replica.node, node, bytes);
    }

    /// Send bytes over the links from one node to another.
    pub fn send(&mut self, from: u32, to: u32, bytes: f64) {
        let parts = &mut self.parts;
        self.world.path(from, to, |link| parts.push(Use::Link { link, bytes }));
        if from != to {
            self.counters.network_bytes += bytes;
        }
    }

    /// Write a block through a pipeline of replicas, at the rate of the slowest of its disks and links.
    fn write_block(&mut self, index: u32, bytes: f64, replication: u32, remote_cpu_s_per_byte: f64) {
        let attempt = &self.attempts[index as usize];
        let (node, job, stage) = (attempt.node, attempt.job as usize, attempt.stage as usize);
        let replicas = self.world.place_block(Some(node), replication, bytes, true);
        let mut from = node;
        for replica in &replicas {
            self.send(from, replica.node, bytes);
            self.parts.push(Use::Write { disk: replica.disk, bytes, limit: Limit::DfsDisk });
            if replica.node != node && remote_cpu_s_per_byte > 0.0 {
                self.parts.push(Use::Cpu { node: replica.node, seconds: bytes * remote_cpu_s_per_byte });
            }
            from = replica.node;
        }
        self.counters.dfs_write_bytes += bytes;
        self.counters.dfs_replica_write_bytes += bytes * replicas.len() as f64;
        let counters = &mut self.attempts[index as usize].counters;
        counters.dfs_write_bytes += bytes;
        counters.output_bytes += bytes;
        if let Some(dataset) = self.jobs[job].stages[stage].written_dataset {
            self.world.datasets[dataset].push(bytes, &replicas);
        }
    }

    /// Write intermediate data as `files` files. The directories take turns.
    pub fn write_files(&mut self, index: u32, bytes: f64, files: u32) -> Vec<File> {
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.intermediate_write_bytes += bytes;
        self.counters.intermediate_write_bytes += bytes;
        let node = &mut self.world.nodes[attempt.node as usize];
        if node.intermediate.is_empty() {
            let text = format!("node {}: no device has the purpose intermediate", node.name);
            self.failed = Some(crate::scenario::Failure::Input(text));
            return Vec::new();
        }
        let count = (files as usize).clamp(1, node.intermediate.len());
        let file_bytes = bytes / count as f64;
        let mut new_files = Vec::with_capacity(count);
        for _ in 0..count {
            let disk = node.intermediate[node.next_intermediate as usize % node.intermediate.len()];
            node.next_intermediate = node.next_intermediate.wrapping_add(1);
            let cache_position = node.cache.insert(file_bytes);
            let disk_position = self.engine.disk(disk).write_back.position() + file_bytes;
            new_files.push(File { disk, bytes: file_bytes, cache_position, disk_position });
            self.parts.push(Use::Write { disk, bytes: file_bytes, limit: Limit::IntermediateDisk });
        }
        new_files
    }

    /// Read a share of each file on the node of the attempt, to merge the files. With several files, each window needs
    /// a seek.
    pub fn read_files(&mut self, index: u32, files: &[File], share: f64) {
        let node = &self.world.nodes[self.attempts[index as usize].node as usize];
        let mut cached_bytes = 0.0;
        let mut read_bytes = 0.0;
        let mut by_disk: Vec<(u32, f64)> = Vec::new();
        for file in files {
            let bytes = file.bytes * share;
            let missed_bytes = bytes * (1.0 - node.cache.share(file.bytes, file.cache_position));
            cached_bytes += bytes - missed_bytes;
            read_bytes += bytes;
            match by_disk.iter_mut().find(|(disk, _)| *disk == file.disk) {
                Some((_, sum)) => *sum += missed_bytes,
                None => by_disk.push((file.disk, missed_bytes)),
            }
        }
        for (disk, bytes) in by_disk.into_iter().filter(|&(_, bytes)| bytes > 0.0) {
            let window = self.world.disk_readahead[disk as usize];
            let runs = if files.len() > 1 { (bytes / window).ceil() } else { 1.0 };
            self.parts.push(Use::Read { disk, bytes, runs, limit: Limit::IntermediateDisk });
        }
        if cached_bytes > 0.0 {
            let seconds = cached_bytes / node.memory_bytes_per_s;
            self.parts.push(Use::Wait { seconds, limit: Limit::Memory });
        }
        self.counters.cache_read_bytes += cached_bytes;
        self.counters.intermediate_read_bytes += read_bytes;
        self.attempts[index as usize].counters.intermediate_read_bytes += read_bytes;
    }

    pub fn delete_files(&mut self, files: &[File]) {
        for file in files {
            self.engine.forget(file.disk, file.bytes, file.disk_position);
        }
    }

    /// Uncompressed and stored bytes of an attempt's output to a shuffle.
    fn sorted_bytes(&self, index: u32) -> (f64, f64) {
        let attempt = &self.attempts[index as usize];
        let (job, stage) = (attempt.job as usize, attempt.stage as usize);
        match self.scenario.jobs[job].stages[stage].output {
            Output::Shuffle { ratio, combiner, compression } => {
                let uncompressed_bytes = attempt.input_bytes * self.expansion_of(job, stage) * ratio;
                (uncompressed_bytes, uncompressed_bytes * combiner * compression)
            }
            _ => (0.0, 0.0),
        }
    }

    /// Write all spills but the last while the map reads its input.
    fn begin_early_spills(&mut self, index: u32) {
        let attempt = &self.attempts[index as usize];
        let spills = self.jobs[attempt.job as usize].stages[attempt.stage as usize].spills;
        if spills > 1 {
            self.spill(index, f64::from(spills - 1) / f64::from(spills), spills - 1);
            self.run_lane(index, SPILL, self.pieces.min(spills - 1));
        }
    }

    fn spill(&mut self, index: u32, share: f64, files: u32) {
        let (uncompressed_bytes, stored_bytes) = self.sorted_bytes(index);
        let attempt = &self.attempts[index as usize];
        let costs = &self.scenario.jobs[attempt.job as usize].stages[attempt.stage as usize].cpu;
        let seconds = share
            * (uncompressed_bytes * costs.sort_s_per_byte + stored_bytes * costs.write_s_per_byte)
            * attempt.factor;
        let node = attempt.node;
        let new_files = self.write_files(index, stored_bytes * share, files);
        self.parts.push(Use::Cpu { node, seconds });
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.spilled_bytes += stored_bytes * share;
        attempt.files.extend(new_files);
        self.counters.spilled_bytes += stored_bytes * share;
        self.counters.spills += f64::from(files);
    }

    /// Handle the end of the input: the last spill, or the end of the task.
    pub fn work_ended(&mut self, index: u32) {
        let seconds = self.step_seconds(index);
        let attempt = &mut self.attempts[index as usize];
        attempt.phases.work_s += seconds;
        let (job, stage) = (attempt.job as usize, attempt.stage as usize);
        if let Some(reduce) = &mut attempt.reduce {
            let files = std::mem::take(&mut reduce.files);
            self.delete_files(&files);
        }
        if let Output::Shuffle { .. } = self.scenario.jobs[job].stages[stage].output {
            self.attempts[index as usize].step = Step::Spill;
            let spills = self.jobs[job].stages[stage].spills;
            self.spill(index, 1.0 / f64::from(spills), 1);
            self.run_lane(index, MAIN, (self.pieces / spills).max(1));
        } else {
            self.start_end(index);
        }
    }

    pub fn spill_ended(&mut self, index: u32) {
        let seconds = self.step_seconds(index);
        let attempt = &mut self.attempts[index as usize];
        attempt.phases.spill_s += seconds;
        let (job, stage, node, factor) = (attempt.job as usize, attempt.stage as usize, attempt.node, attempt.factor);
        let state = &self.jobs[job].stages[stage];
        if state.spills <= 1 {
            self.hand_over(index);
            return;
        }
        // Bytes that all merge passes read, over the bytes of the output.
        let merge_ratio = 1.0 + state.extra_merge_share;
        self.counters.merge_passes += f64::from(state.merge_passes + 1);
        let spill_files = std::mem::take(&mut attempt.files);
        attempt.step = Step::Merge;
        let (uncompressed_bytes, stored_bytes) = self.sorted_bytes(index);
        self.read_files(index, &spill_files, merge_ratio);
        let new_files = self.write_files(index, stored_bytes * merge_ratio, 1);
        let costs = &self.scenario.jobs[job].stages[stage].cpu;
        self.parts.push(Use::Cpu { node, seconds: uncompressed_bytes * merge_ratio * costs.merge_s_per_byte * factor });
        self.run_lane(index, MAIN, self.pieces);
        self.delete_files(&spill_files);
        let extra_bytes = stored_bytes * (merge_ratio - 1.0);
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.spilled_bytes += stored_bytes * merge_ratio;
        attempt.files = new_files.into_iter().map(|file| File { bytes: file.bytes - extra_bytes, ..file }).collect();
        self.counters.spilled_bytes += stored_bytes * merge_ratio;
    }

    /// End the work of a map: its output is complete, in one file.
    pub fn hand_over(&mut self, index: u32) {
        let attempt = &mut self.attempts[index as usize];
        attempt.counters.output_bytes = attempt.files.iter().map(|file| file.bytes).sum();
        self.start_end(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_merge_plan_has_the_passes_of_hadoop() {
        assert_eq!(merge_plan(1, 10), (0.0, 0));
        assert_eq!(merge_plan(10, 10), (0.0, 0));
        // 11 segments: the first pass merges two, and ten remain.
        assert_eq!(merge_plan(11, 10), (2.0 / 11.0, 1));
        // 100 segments: ten passes of ten.
        assert_eq!(merge_plan(100, 10), (1.0, 10));
        assert!(merge_plan(1000, 10).0 > 1.5);
    }

    #[test]
    fn spills_follow_the_buffer() {
        let sort = SortSpec { buffer_bytes: 100.0, spill_share: 0.8, factor: 10, metadata_share: 0.0 };
        assert_eq!(spills_of(&sort, 80.0), 1);
        assert_eq!(spills_of(&sort, 81.0), 2);
        assert_eq!(spills_of(&sort, 0.0), 1);
    }
}
