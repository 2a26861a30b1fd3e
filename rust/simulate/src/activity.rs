//! Activities: concurrent parts on resources, in pieces, with what limited them.

use crate::fair::PartId;

/// The resource that an activity waited for, for `limits`.
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

/// Events that the loop passes to its driver.
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
    /// A bit for each part.
    pub ended: u128,
    pub running: u32,
    pub pieces: u32,
    pub pieces_left: u32,
    pub began: f64,
    pub limits: ByLimit,
}

/// Whether a part still runs.
pub fn is_alive(activities: &[Activity], part: PartId) -> bool {
    let activity = &activities[part.activity as usize];
    activity.lives && activity.generation == part.generation && activity.ended & (1 << part.slot) == 0
}
