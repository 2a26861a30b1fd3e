//! Activities: work on several resources at the same time, and the time for which each resource limited it.

use crate::fair::PartId;

/// A resource that an activity can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Cpu,
    DfsDisk,
    IntermediateDisk,
    Network,
    Memory,
    Containers,
    Fixed,
}

pub const LIMITS: [(Limit, &str); 7] = [
    (Limit::Cpu, "cpu"),
    (Limit::DfsDisk, "disk:dfs"),
    (Limit::IntermediateDisk, "disk:intermediate"),
    (Limit::Network, "network"),
    (Limit::Memory, "memory"),
    (Limit::Containers, "containers"),
    (Limit::Fixed, "fixed"),
];
/// Seconds by resource, in the order of `LIMITS`.
pub type ByLimit = [f64; LIMITS.len()];

/// One part of an activity: an amount on one resource. Amounts are those of the whole activity.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// Seconds of the reference processor.
    Cpu {
        node: u32,
        seconds: f64,
    },
    Link {
        link: u32,
        bytes: f64,
    },
    Read {
        disk: u32,
        bytes: f64,
        /// Number of contiguous pieces in which the bytes are stored.
        runs: f64,
        limit: Limit,
    },
    Write {
        disk: u32,
        bytes: f64,
        limit: Limit,
    },
    Wait {
        seconds: f64,
        limit: Limit,
    },
}

impl Use {
    pub fn limit(&self) -> Limit {
        match self {
            Use::Cpu { .. } => Limit::Cpu,
            Use::Link { .. } => Limit::Network,
            Use::Read { limit, .. } | Use::Write { limit, .. } | Use::Wait { limit, .. } => *limit,
        }
    }
}

/// The owner of an activity, which is woken at its end: an attempt, and the lane of the activity in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub attempt: u32,
    pub lane: u8,
}

/// An event that the loop passes to its driver: the end of an activity, or a timer.
#[derive(Clone, Copy, Debug)]
pub enum Wake<T> {
    Ended { owner: Owner, limits: ByLimit },
    Timer(T),
}

#[derive(Debug, Default)]
pub struct Activity {
    pub generation: u32,
    pub lives: bool,
    pub owner: Option<Owner>,
    pub parts: Vec<Use>,
    /// One bit for each part: 1 if the part of the present piece has ended.
    pub ended_parts: u128,
    /// Number of parts that still run.
    pub running: u32,
    pub pieces: u32,
    pub remaining_pieces: u32,
    /// Start time of the present piece, in seconds.
    pub piece_start_s: f64,
    pub limits: ByLimit,
}

/// Whether a part still runs.
pub fn is_alive(activities: &[Activity], part: PartId) -> bool {
    let activity = &activities[part.activity as usize];
    activity.lives && activity.generation == part.generation && activity.ended_parts & (1 << part.slot) == 0
}
