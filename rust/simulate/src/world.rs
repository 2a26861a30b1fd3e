//! The cluster in the simulation: nodes, disks, links, and the location of the data.

use std::cell::RefCell;
use std::rc::Rc;

use crate::disk::{Disk, DiskTraces};
use crate::engine::Engine;
use crate::groups::Groups;
use crate::load::DiskSpec;
use crate::rng::Rng;
use crate::scenario::{Detail, DeviceSpec, Failure, Fidelity, NodeType, Scenario};
use crate::series::{Series, Shared};
use crate::table::{Table, Tables};
use crate::writeback::WriteBack;
use assay_spec::Params;

/// Purposes of random numbers: each has a separate stream (`Rng::keyed`).
pub const NODE_SALT: u64 = 1;
pub const PLACE_SALT: u64 = 2;
pub const TASK_SALT: u64 = 3;
pub const BEAT_SALT: u64 = 4;
pub const SKEW_SALT: u64 = 5;
pub const RUN_SALT: u64 = 6;
pub const CONTROL_SALT: u64 = 7;

/// A position that no page cache can have.
pub const NEVER_CACHED: f64 = -1e300;
/// Bytes of one file that write-back writes before the next file: MIN_WRITEBACK_PAGES, 4 MiB (Linux,
/// fs/fs-writeback.c), at most the dirty bytes of the file. Half of it counts, because the file with the checksums has
/// a separate turn. The number of files that share the dirty bytes was chosen by measurements in labs
/// (docs/explanation/simulator.md).
const WRITE_TURN_BYTES: f64 = 2_097_152.0;
const DIRTY_FILES: f64 = 24.0;
/// Dirty bytes at which the kernel pauses writers, as a share of the limit (Linux, mm/page-writeback.c). For the limit
/// of a device: the middle of background limit and limit (`dirty_freerun_ceiling`). For the limit of a node: the middle
/// of `dirty_freerun_ceiling` and the limit (`dirty_setpoint`).
const DEVICE_PAUSE_SHARE: f64 = 0.75;
const NODE_PAUSE_SHARE: f64 = 0.875;

/// The page cache of a node as a queue: the oldest bytes are evicted first. The position of a byte is the number of
/// bytes that the cache had received up to it.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    pub capacity_bytes: f64,
    pub inserted_bytes: f64,
}

impl Cache {
    /// Add the bytes of a file; return the position of its end.
    pub fn insert(&mut self, bytes: f64) -> f64 {
        self.inserted_bytes += bytes;
        self.inserted_bytes
    }

    /// Return the share of the `bytes` bytes up to `position` that is still cached.
    pub fn share(&self, bytes: f64, position: f64) -> f64 {
        if bytes <= 0.0 || position <= NEVER_CACHED {
            return 0.0;
        }
        ((self.capacity_bytes - (self.inserted_bytes - position)) / bytes).clamp(0.0, 1.0)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Replica {
    pub node: u32,
    pub disk: u32,
    pub position: f64,
}

#[derive(Debug, Default)]
pub struct Dataset {
    pub name: String,
    pub block_bytes: Vec<f64>,
    /// Index of the first replica of each block, and the number of replicas at the end.
    first: Vec<u32>,
    replicas: Vec<Replica>,
}

impl Dataset {
    pub fn named(name: &str) -> Dataset {
        Dataset { name: name.into(), ..Dataset::default() }
    }

    pub fn replicas(&self, block: usize) -> &[Replica] {
        &self.replicas[self.first[block] as usize..self.first[block + 1] as usize]
    }

    pub fn push(&mut self, bytes: f64, replicas: &[Replica]) {
        if self.first.is_empty() {
            self.first.push(0);
        }
        self.block_bytes.push(bytes);
        self.replicas.extend_from_slice(replicas);
        self.first.push(self.replicas.len() as u32);
    }
}

#[derive(Debug)]
pub struct Node {
    pub name: String,
    pub kind: u32,
    pub rack: u32,
    pub link_in: u32,
    pub link_out: u32,
    pub disks: Vec<u32>,
    /// Directories in round-robin order, as disks.
    pub dfs: Vec<u32>,
    pub intermediate: Vec<u32>,
    pub next_dfs: u32,
    pub next_intermediate: u32,
    pub cache: Cache,
    pub memory_bytes_per_s: f64,
    pub io_cpu_s_per_byte: f64,
    pub free_memory: f64,
    pub free_cores: f64,
    pub alive: bool,
    /// Start of its heartbeats, as a share of their interval.
    pub beat_phase: f64,
    pub beat_pending: bool,
    pub idle: bool,
    /// Time at which a container was last released.
    pub freed_at: f64,
    pub cpu_s: f64,
}

pub struct World {
    pub nodes: Vec<Node>,
    /// Outgoing and incoming link of each rack.
    uplinks: Vec<(u32, u32)>,
    pub racks: Vec<Vec<u32>>,
    pub datasets: Vec<Dataset>,
    /// Nodes that store data of dfs.
    storing_nodes: Vec<u32>,
    /// For each node its index among the nodes that store data, or the index of the next one.
    storing_index: Vec<u32>,
    placement: Rng,
    next_block: u32,
    balanced: bool,
    pub disk_readahead: Vec<f64>,
    pub disk_node: Vec<u32>,
    /// The groups of nodes that are observed together.
    pub groups: Groups,
    group_traces: Vec<GroupTraces>,
}

/// The series of a group, to which its nodes add.
struct GroupTraces {
    cpu: Shared,
    link_in: Shared,
    link_out: Shared,
    disks: Vec<Rc<RefCell<DiskTraces>>>,
}

impl GroupTraces {
    fn new(interval_s: f64, steps: usize, disks: usize) -> GroupTraces {
        let series = || Series::new(interval_s, steps);
        let shared = || Series::shared(interval_s, steps);
        let disk = |_| Rc::new(RefCell::new(DiskTraces { read: series(), written: series(), busy: series() }));
        GroupTraces { cpu: shared(), link_in: shared(), link_out: shared(), disks: (0..disks).map(disk).collect() }
    }
}

impl World {
    pub fn build<T: Copy>(scenario: &Scenario, engine: &mut Engine<T>, tables: &mut Tables) -> Result<World, Failure> {
        let mut world = World {
            nodes: Vec::with_capacity(scenario.nodes()),
            uplinks: Vec::new(),
            racks: Vec::new(),
            datasets: Vec::new(),
            storing_nodes: Vec::new(),
            storing_index: Vec::new(),
            placement: Rng::keyed(scenario.seed, PLACE_SALT, 0),
            next_block: 0,
            balanced: scenario.storage.balanced,
            disk_readahead: Vec::new(),
            disk_node: Vec::new(),
            groups: Groups::of(scenario),
            group_traces: Vec::new(),
        };
        if scenario.detail == Detail::Traces {
            let types = &scenario.cluster.types;
            let traces = |kind: usize| {
                GroupTraces::new(scenario.trace_interval_s, world.groups.steps, types[kind].devices.len())
            };
            world.group_traces = world.groups.groups.iter().map(|group| traces(group.kind)).collect();
        }
        for (kind_index, kind) in scenario.cluster.types.iter().enumerate() {
            let specs: Vec<DiskSpec> = kind.devices.iter().map(disk_spec).collect();
            let disk_tables: Vec<Option<Rc<Table>>> =
                specs.iter().map(|spec| (scenario.fidelity == Fidelity::Flows).then(|| tables.of(spec))).collect();
            for name in &kind.names {
                world.add_node(scenario, engine, (kind_index as u32, kind), name, &specs, &disk_tables);
            }
        }
        for _ in 0..world.racks.len() {
            let rate = scenario.cluster.uplink_bytes_per_s;
            if rate.is_finite() {
                world.uplinks.push((engine.add_link(rate, None), engine.add_link(rate, None)));
            }
        }
        for node in 0..world.nodes.len() as u32 {
            world.storing_index.push(world.storing_nodes.len() as u32);
            if !world.nodes[node as usize].dfs.is_empty() {
                world.storing_nodes.push(node);
            }
        }
        let storing_count = world.storing_nodes.len() as u32;
        world.storing_index.iter_mut().for_each(|index| *index %= storing_count.max(1));
        world.load(scenario)?;
        Ok(world)
    }

    fn add_node<T: Copy>(
        &mut self,
        scenario: &Scenario,
        engine: &mut Engine<T>,
        (kind_index, kind): (u32, &NodeType),
        name: &str,
        specs: &[DiskSpec],
        tables: &[Option<Rc<Table>>],
    ) {
        let index = self.nodes.len() as u32;
        let traces_of_group = self.group_traces.get(self.groups.of_node[index as usize] as usize);
        let random_factor = Rng::keyed(scenario.seed, NODE_SALT, u64::from(index)).lognormal(scenario.noise.node_sigma);
        engine.add_cpu(
            kind.cores,
            kind.cpu_speed * random_factor,
            kind.cpu_weight,
            traces_of_group.map(|traces| Rc::clone(&traces.cpu)),
        );
        let link_in =
            engine.add_link(kind.nic_in_bytes_per_s, traces_of_group.map(|traces| Rc::clone(&traces.link_in)));
        let link_out =
            engine.add_link(kind.nic_out_bytes_per_s, traces_of_group.map(|traces| Rc::clone(&traces.link_out)));
        let rates: f64 = specs.iter().map(|spec| write_rate(&spec.params)).sum();
        let mut disks = Vec::new();
        for ((spec, table), device) in specs.iter().zip(tables).zip(&kind.devices) {
            let write_back = write_back(kind, device, write_rate(&spec.params) / rates);
            let mut disk = match table {
                Some(table) => Disk::fluid(spec, Rc::clone(table), kind.speed_factor * random_factor, write_back),
                None => {
                    let seed = scenario.seed.wrapping_add(u64::from(index) * 1024 + disks.len() as u64);
                    Disk::requests(&with_speed_factor(spec, kind.speed_factor * random_factor), seed, write_back)
                }
            };
            disk.totals.traces = traces_of_group.map(|traces| Rc::clone(&traces.disks[disks.len()]));
            self.disk_readahead.push(spec.readahead_bytes);
            self.disk_node.push(index);
            disks.push(engine.add_disk(disk));
        }
        let rack = scenario.cluster.rack_nodes.map_or(0, |nodes| index / nodes);
        if self.racks.len() <= rack as usize {
            self.racks.push(Vec::new());
        }
        self.racks[rack as usize].push(index);
        let order = |count: &dyn Fn(&DeviceSpec) -> u32| directories(&kind.devices, &disks, count);
        self.nodes.push(Node {
            name: name.into(),
            kind: kind_index,
            rack,
            link_in,
            link_out,
            dfs: order(&|device| device.dfs_directories),
            intermediate: order(&|device| device.intermediate_directories),
            disks,
            next_dfs: index,
            next_intermediate: 0,
            cache: Cache { capacity_bytes: kind.cache_bytes, inserted_bytes: 0.0 },
            memory_bytes_per_s: kind.memory_bytes_per_s,
            io_cpu_s_per_byte: kind.io_cpu_s_per_byte,
            free_memory: kind.container_memory_bytes,
            free_cores: kind.container_cores,
            alive: true,
            beat_phase: Rng::keyed(scenario.seed, BEAT_SALT, u64::from(index)).uniform(),
            beat_pending: false,
            idle: true,
            freed_at: 0.0,
            cpu_s: 0.0,
        });
    }

    /// Place the blocks of the datasets as HDFS does.
    fn load(&mut self, scenario: &Scenario) -> Result<(), Failure> {
        for spec in &scenario.datasets {
            if self.storing_nodes.is_empty() {
                return Err(Failure::Input("cluster: no device has the purpose dfs, and there are datasets".into()));
            }
            let mut dataset = Dataset::named(&spec.name);
            let file_bytes = spec.bytes / f64::from(spec.files);
            let blocks = (file_bytes / spec.block_bytes - 1e-9).ceil().max(1.0);
            if blocks * f64::from(spec.files) > 20e6 {
                return Err(Failure::Input(format!("datasets: {} would have more than 20 million blocks", spec.name)));
            }
            for file in 0..spec.files {
                let writer = self.storing_nodes[file as usize % self.storing_nodes.len()];
                let mut remaining_bytes = file_bytes;
                for _ in 0..blocks as u32 {
                    let bytes = remaining_bytes.min(spec.block_bytes);
                    remaining_bytes -= bytes;
                    let replicas =
                        self.place_block((spec.files > 1).then_some(writer), spec.replication, bytes, spec.cached);
                    dataset.push(bytes, &replicas);
                }
            }
            self.datasets.push(dataset);
        }
        Ok(())
    }

    /// Choose the replicas of a block: the disk of the writer, a node of another rack, another node of that rack, then
    /// any node (BlockPlacementPolicyDefault of HDFS). Directories take turns.
    pub fn place_block(&mut self, writer: Option<u32>, replication: u32, bytes: f64, cached: bool) -> Vec<Replica> {
        let mut chosen_nodes: Vec<u32> = Vec::with_capacity(replication as usize);
        let count = self.storing_nodes.len();
        let block = self.next_block as usize;
        self.next_block = self.next_block.wrapping_add(1);
        let stride = 1 + block / count.max(1) % (count.max(2) - 1);
        while chosen_nodes.len() < (replication as usize).min(count) {
            let next = match writer {
                _ if !self.balanced => self.choose_node(writer, &chosen_nodes),
                Some(node) => {
                    self.storing_nodes
                        [(self.storing_index[node as usize] as usize + chosen_nodes.len() * stride) % count]
                }
                None => self.storing_nodes[(block + chosen_nodes.len() * stride) % count],
            };
            let from = self.storing_index[next as usize] as usize;
            let fits = |node: u32| self.nodes[node as usize].alive && !chosen_nodes.contains(&node);
            match (0..count).map(|i| self.storing_nodes[(from + i) % count]).find(|&node| fits(node)) {
                Some(node) => chosen_nodes.push(node),
                None => break,
            }
        }
        let mut replicas = Vec::with_capacity(chosen_nodes.len());
        for node in chosen_nodes {
            let host = &mut self.nodes[node as usize];
            let disk = host.dfs[host.next_dfs as usize % host.dfs.len()];
            host.next_dfs = host.next_dfs.wrapping_add(1);
            let position = if cached { host.cache.insert(bytes) } else { NEVER_CACHED };
            replicas.push(Replica { node, disk, position });
        }
        replicas
    }

    fn choose_node(&mut self, writer: Option<u32>, chosen_nodes: &[u32]) -> u32 {
        let any_node = |world: &mut World| world.storing_nodes[world.placement.below(world.storing_nodes.len())];
        let node_in_rack = |world: &mut World, rack: u32| {
            let nodes = world.racks[rack as usize].len();
            let node = world.racks[rack as usize][world.placement.below(nodes)];
            if world.nodes[node as usize].dfs.is_empty() {
                world.storing_nodes[node as usize % world.storing_nodes.len()]
            } else {
                node
            }
        };
        let rack_of = |world: &World, node: u32| world.nodes[node as usize].rack;
        match (chosen_nodes.len(), writer) {
            (0, Some(node)) if !self.nodes[node as usize].dfs.is_empty() => node,
            (0, _) => any_node(self),
            (1, _) if self.racks.len() > 1 => {
                let writer_rack = rack_of(self, chosen_nodes[0]) as usize;
                let other_rack = (writer_rack + 1 + self.placement.below(self.racks.len() - 1)) % self.racks.len();
                node_in_rack(self, other_rack as u32)
            }
            (2, _) if self.racks.len() > 1 => {
                let rack = rack_of(self, chosen_nodes[1]);
                node_in_rack(self, rack)
            }
            _ => any_node(self),
        }
    }

    /// Call `use_link` with each link between two nodes. Within a node there is none.
    pub fn path(&self, from: u32, to: u32, mut use_link: impl FnMut(u32)) {
        if from == to {
            return;
        }
        let (source, sink) = (&self.nodes[from as usize], &self.nodes[to as usize]);
        use_link(source.link_out);
        if source.rack != sink.rack && !self.uplinks.is_empty() {
            use_link(self.uplinks[source.rack as usize].0);
            use_link(self.uplinks[sink.rack as usize].1);
        }
        use_link(sink.link_in);
    }
}

/// Return the directories in round-robin order. Directories of one disk do not follow each other.
fn directories(devices: &[DeviceSpec], disks: &[u32], count: &dyn Fn(&DeviceSpec) -> u32) -> Vec<u32> {
    let directories_max = devices.iter().map(count).max().unwrap_or(0);
    let disks_with_directory =
        |turn: u32| devices.iter().zip(disks).filter(move |(device, _)| count(device) > turn).map(|(_, &d)| d);
    (0..directories_max).flat_map(disks_with_directory).collect()
}

/// Return the write-back of a device with this `share` of the write rates of its node.
fn write_back(kind: &NodeType, device: &DeviceSpec, share: f64) -> WriteBack {
    let dirty_limit_bytes = (kind.dirty_bytes * share * NODE_PAUSE_SHARE)
        .min(device.dirty_limit_bytes.map_or(f64::MAX, |limit| limit * DEVICE_PAUSE_SHARE));
    let background_bytes = (kind.dirty_background_bytes * share).min(dirty_limit_bytes / 2.0);
    WriteBack::new(dirty_limit_bytes, background_bytes, kind.dirty_expire_s)
}

fn write_rate(params: &Params) -> f64 {
    match params {
        Params::Hdd(hdd) => hdd.write_bytes_per_s,
        Params::Ssd(ssd) => ssd.write_bytes_per_s,
    }
}

fn disk_spec(device: &DeviceSpec) -> DiskSpec {
    let turn_bytes =
        device.dirty_limit_bytes.map_or(WRITE_TURN_BYTES, |limit| WRITE_TURN_BYTES.min(limit / DIRTY_FILES));
    DiskSpec {
        params: device.params.clone(),
        size_bytes: device.size_bytes,
        readahead_bytes: device.readahead_bytes,
        request_bytes: device.request_bytes.min(device.readahead_bytes),
        used_share: device.used_share,
        write_turn_bytes: turn_bytes.max(device.request_bytes),
    }
}

/// Return the device with its speed multiplied by a factor.
fn with_speed_factor(spec: &DiskSpec, factor: f64) -> DiskSpec {
    let mut spec = spec.clone();
    match &mut spec.params {
        Params::Hdd(hdd) => {
            hdd.read_bytes_per_s *= factor;
            hdd.write_bytes_per_s *= factor;
        }
        Params::Ssd(ssd) => {
            ssd.read_bytes_per_s *= factor;
            ssd.write_bytes_per_s *= factor;
            ssd.burst_write_bytes_per_s *= factor;
        }
    }
    spec
}
