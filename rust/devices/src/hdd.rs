//! Model of a hard disk: one arm, one platter, a command queue and a write cache.
//!
//! - From the commands in its queue (NCQ), the drive chooses the one with the shortest positioning time, minus a share
//!   of its waiting time: aged shortest positioning time first, Jacobson and Wilkes, "Disk scheduling algorithms based
//!   on rotational position", HPL-CSP-91-7, 1991.
//! - An access that continues where the last one ended costs transfer time only. An idle drive reads ahead for up to
//!   one turn, so a sequential reader with a short pause between two requests loses no time.
//! - With a write cache, a write is done once it is in the cache, and goes to the medium in the order of offsets
//!   (C-LOOK). Reads go first until the cache is nearly full, a flush waits or a write is old; then reads and writes
//!   alternate.

use std::collections::VecDeque;

use crate::cache::{Piece, WriteCache};
use crate::geometry::{Geometry, SeekCurve};
use crate::{ns, Completion, Device, Kind, Ns, Request, Stats, NS_PER_S};

/// Seconds of positioning that weigh as much as one second of waiting.
const AGE_WEIGHT: f64 = 0.05;
/// Maximum length of a piece that goes from the cache to the medium, in turns, so that reads come between pieces.
const PIECE_TURNS: f64 = 2.0;
/// Maximum time of one side (host or cache) when both wait for the medium, in turns of the platter.
const SIDE_TURNS: f64 = 4.0;
/// Age of written data from which it alternates with reads even if the cache has room, in seconds.
const MAX_AGE_S: f64 = 0.5;

/// The parameters of a hard disk. Rates are those of the outermost zone.
#[derive(Clone, Copy, Debug)]
pub struct HddParams {
    pub size_bytes: u64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// The innermost zone's rate as a share of the outermost's.
    pub inner_share: f64,
    pub seek_track_s: f64,
    pub seek_full_s: f64,
    pub rpm: f64,
    pub queue_depth: usize,
    /// 0: writes are done when they are on the medium.
    pub write_cache_bytes: u64,
    /// Rate of the interface between host and drive, which limits the cache.
    pub interface_bytes_per_s: f64,
}

impl HddParams {
    /// A drive of 7200 turns a minute without write cache.
    pub fn typical(size_bytes: u64, bytes_per_s: f64) -> HddParams {
        HddParams {
            size_bytes,
            read_bytes_per_s: bytes_per_s,
            write_bytes_per_s: bytes_per_s,
            inner_share: 0.55,
            seek_track_s: 0.001,
            seek_full_s: 0.014,
            rpm: 7200.0,
            queue_depth: 32,
            write_cache_bytes: 0,
            interface_bytes_per_s: 4.0 * bytes_per_s,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct QueuedRequest {
    request: Request,
    arrived: Ns,
    /// Seconds to read everything before the request, see `Geometry::sweep_s`.
    sweep_s: f64,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// A request of the host, by its id.
    Host(u64),
    /// The write of a piece of the cache to the medium.
    Destage(Piece),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Host,
    Cache,
}

pub struct Hdd {
    params: HddParams,
    geometry: Geometry,
    cache: WriteCache,
    now: Ns,
    /// Requests that the host holds because the queue of the drive is full.
    host_queue: VecDeque<(Ns, Request)>,
    /// Requests in the drive that wait for the medium.
    queue: Vec<QueuedRequest>,
    /// Writes that wait for room in the cache.
    waiting_writes: VecDeque<Request>,
    /// Id of each flush, and the epoch of the last write before it.
    flushes: VecDeque<(u64, u64)>,
    /// Requests whose transfer over the interface is the last step.
    transfers: VecDeque<Completion>,
    /// Number of requests in the drive.
    admitted: usize,
    at_work: Option<(Ns, Work)>,
    /// Offset and time of the end of the last access.
    head: u64,
    head_since: Ns,
    /// Side that the medium works for.
    side: Side,
    side_since: Ns,
    done: Vec<Completion>,
    stats: Stats,
}

impl Hdd {
    /// `seed` sets the angle of the platter at time 0.
    pub fn new(params: &HddParams, seed: u64) -> Hdd {
        let curve = SeekCurve::new(params.seek_track_s, params.seek_full_s);
        let geometry = Geometry::new(
            params.size_bytes,
            params.read_bytes_per_s,
            params.inner_share,
            params.rpm,
            curve,
            phase(seed),
        );
        Hdd {
            params: *params,
            geometry,
            cache: WriteCache::new(params.write_cache_bytes),
            now: 0,
            host_queue: VecDeque::new(),
            queue: Vec::new(),
            waiting_writes: VecDeque::new(),
            flushes: VecDeque::new(),
            transfers: VecDeque::new(),
            admitted: 0,
            at_work: None,
            head: 0,
            head_since: 0,
            side: Side::Host,
            side_since: 0,
            done: Vec::new(),
            stats: Stats::default(),
        }
    }

    fn complete(&mut self, id: u64, at: Ns) {
        self.done.push(Completion { id, at });
        self.admitted -= 1;
    }

    /// Transfer the data of a request over the interface after the transfers before it.
    fn start_transfer(&mut self, request: &Request) {
        let start = self.transfers.back().map_or(self.now, |last| last.at.max(self.now));
        let at = start + ns(request.bytes as f64 / self.params.interface_bytes_per_s);
        self.transfers.push_back(Completion { id: request.id, at });
    }

    /// Move requests from the host into the drive, and from the drive to the medium, as far as possible.
    fn dispatch(&mut self) {
        while self.admitted < self.params.queue_depth {
            match self.host_queue.pop_front() {
                Some((arrived, request)) => self.admit(arrived, request),
                None => break,
            }
        }
        while let Some(&request) = self.waiting_writes.front() {
            if !self.cache.has_room(request.bytes) {
                break;
            }
            self.waiting_writes.pop_front();
            self.store(&request);
        }
        self.complete_flushes();
        if self.at_work.is_none() {
            self.start_work();
        }
    }

    fn admit(&mut self, arrived: Ns, request: Request) {
        self.admitted += 1;
        let end = request.offset + request.bytes;
        match request.kind {
            Kind::Flush => {
                let epoch = self.cache.end_epoch();
                self.flushes.push_back((request.id, epoch));
            }
            Kind::Read if self.cache.contains(request.offset, end) => self.start_transfer(&request),
            Kind::Write if self.cache.fits(request.bytes) => self.waiting_writes.push_back(request),
            Kind::Read | Kind::Write => {
                let sweep_s = self.geometry.sweep_s(request.offset);
                self.queue.push(QueuedRequest { request, arrived, sweep_s });
            }
        }
    }

    fn store(&mut self, request: &Request) {
        self.cache.insert(request.offset, request.offset + request.bytes, self.now);
        self.start_transfer(request);
    }

    fn complete_flushes(&mut self) {
        while let Some(&(id, epoch)) = self.flushes.front() {
            let is_written = match self.at_work {
                Some((_, Work::Destage(piece))) => piece.epoch > epoch,
                _ => true,
            };
            if !is_written || self.cache.holds_epoch(epoch) {
                break;
            }
            self.flushes.pop_front();
            self.complete(id, self.now);
        }
    }

    fn start_work(&mut self) {
        let side = match (!self.queue.is_empty(), self.cache.is_dirty()) {
            (false, false) => return,
            (true, false) => Side::Host,
            (false, true) => Side::Cache,
            (true, true) => self.next_side(),
        };
        if side != self.side {
            self.side = side;
            self.side_since = self.now;
        }
        match side {
            Side::Host => self.start_host(),
            Side::Cache => self.start_destage(),
        }
    }

    fn next_side(&self) -> Side {
        let has_passed = |since: Ns, limit_s: f64| (self.now - since) as f64 / NS_PER_S >= limit_s;
        let cache_is_urgent = !self.waiting_writes.is_empty()
            || !self.flushes.is_empty()
            || self.cache.is_nearly_full()
            || self.cache.oldest_write_time().map_or(false, |since| has_passed(since, MAX_AGE_S));
        if !cache_is_urgent {
            return Side::Host;
        }
        if !has_passed(self.side_since, SIDE_TURNS * self.geometry.revolution_s) {
            return self.side;
        }
        match self.side {
            Side::Host => Side::Cache,
            Side::Cache => Side::Host,
        }
    }

    /// Seconds until the head is over `offset`. A sequential read has no delay; a sequential write has none if the
    /// drive paused for at most one turn.
    fn positioning_s(&self, offset: u64, sweep_s: f64, is_read: bool) -> f64 {
        let idle_s = (self.now - self.head_since) as f64 / NS_PER_S;
        if offset == self.head && (is_read || idle_s <= self.geometry.revolution_s) {
            return 0.0;
        }
        self.geometry.positioning_s(self.now, self.geometry.sweep_s(self.head), sweep_s)
    }

    fn start_host(&mut self) {
        let cost = |queued: &QueuedRequest| {
            let positioning_s =
                self.positioning_s(queued.request.offset, queued.sweep_s, queued.request.kind == Kind::Read);
            let age_s = (self.now - queued.arrived) as f64 / NS_PER_S;
            (positioning_s - AGE_WEIGHT * age_s, positioning_s)
        };
        let mut best = (f64::INFINITY, 0.0);
        let mut index = 0;
        for (i, queued) in self.queue.iter().enumerate() {
            let candidate = cost(queued);
            if candidate.0 < best.0 {
                best = candidate;
                index = i;
            }
        }
        let request = self.queue.remove(index).request;
        let mut transfer_s = self.geometry.transfer_s(request.offset, request.bytes);
        match request.kind {
            Kind::Read => {
                let remaining_s = self.after_read_ahead(&request, transfer_s);
                self.stats.busy_s += transfer_s - remaining_s; // the medium worked while the drive was idle
                transfer_s = remaining_s;
            }
            _ => transfer_s *= self.params.read_bytes_per_s / self.params.write_bytes_per_s,
        }
        self.work(Work::Host(request.id), request.offset, request.offset + request.bytes, best.1, transfer_s);
    }

    /// Return the remaining transfer time of a sequential read after the read-ahead of the drive since the last access.
    fn after_read_ahead(&self, request: &Request, transfer_s: f64) -> f64 {
        if request.offset != self.head || self.head_since == 0 {
            return transfer_s;
        }
        let idle_s = (self.now - self.head_since) as f64 / NS_PER_S;
        let interface_s = request.bytes as f64 / self.params.interface_bytes_per_s;
        (transfer_s - idle_s.min(self.geometry.revolution_s)).max(interface_s.min(transfer_s))
    }

    fn start_destage(&mut self) {
        let turn_bytes = self.params.write_bytes_per_s * self.geometry.revolution_s;
        let piece_bytes = ((PIECE_TURNS * turn_bytes) as u64).max(4096);
        let epoch = self.flushes.front().map(|&(_, epoch)| epoch);
        let piece = self.cache.next_piece(self.head, piece_bytes, epoch);
        let piece = match piece.or_else(|| self.cache.next_piece(self.head, piece_bytes, None)) {
            Some(piece) => piece,
            None => return,
        };
        self.cache.take(&piece);
        let positioning_s = self.positioning_s(piece.start, self.geometry.sweep_s(piece.start), false);
        let ratio = self.params.read_bytes_per_s / self.params.write_bytes_per_s;
        let transfer_s = self.geometry.transfer_s(piece.start, piece.end - piece.start) * ratio;
        self.work(Work::Destage(piece), piece.start, piece.end, positioning_s, transfer_s);
    }

    fn work(&mut self, work: Work, start: u64, end: u64, positioning_s: f64, transfer_s: f64) {
        if start != self.head {
            self.stats.seeks += 1;
        }
        self.stats.seek_s += positioning_s;
        self.stats.busy_s += positioning_s + transfer_s;
        let finish = self.now + ns(positioning_s + transfer_s);
        self.at_work = Some((finish, work));
        self.head = end;
        self.head_since = finish;
    }

    fn finish_work(&mut self, work: Work) {
        self.at_work = None;
        match work {
            Work::Host(id) => self.complete(id, self.now),
            Work::Destage(piece) => self.cache.release(&piece),
        }
    }
}

impl Device for Hdd {
    fn submit(&mut self, now: Ns, request: Request) {
        let mut done = std::mem::take(&mut self.done);
        self.advance(now, &mut done);
        self.done = done;
        self.stats.count(request);
        self.host_queue.push_back((self.now, request));
        self.dispatch();
    }

    fn next_event(&self) -> Option<Ns> {
        if let Some(first) = self.done.first() {
            return Some(first.at);
        }
        let work = self.at_work.map(|(finish, _)| finish);
        let transfer = self.transfers.front().map(|front| front.at);
        work.into_iter().chain(transfer).min()
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
        loop {
            let next_transfer = self.transfers.front().copied().filter(|front| front.at <= now);
            let next_work = self.at_work.filter(|&(finish, _)| finish <= now);
            match (next_transfer, next_work) {
                (None, None) => break,
                (Some(front), next_work) if next_work.map_or(true, |(finish, _)| front.at <= finish) => {
                    self.now = self.now.max(front.at);
                    self.transfers.pop_front();
                    self.complete(front.id, front.at);
                }
                (_, Some((finish, work))) => {
                    self.now = self.now.max(finish);
                    self.finish_work(work);
                }
                (Some(_), None) => unreachable!("the arm above takes it"),
            }
            self.dispatch();
        }
        self.now = self.now.max(now);
        done.append(&mut self.done);
    }

    fn in_flight(&self) -> usize {
        self.admitted + self.host_queue.len()
    }

    fn stats(&self) -> Stats {
        self.stats
    }
}

/// Return a share of a turn from the bits of the seed: splitmix64, Steele and others, OOPSLA 2014.
fn phase(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
