//! Model of an SSD: parallel channels behind a controller.
//!
//! Data is striped over the channels: a large request uses all of them, a small request only some. Full bandwidth
//! therefore needs large requests, or many. Each request has a latency during which no channel is busy. The controller
//! starts at most a given number of requests per second. Writes go into a fast buffer (flash used with one bit per
//! cell) until it is full, then at the sustained rate; the buffer empties at the sustained rate while the device is
//! idle. The parallelism follows Agrawal and others, "Design tradeoffs for SSD performance", USENIX ATC 2008.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::{ns, Completion, Device, Kind, Ns, Request, Stats, NS_PER_S};

/// Time of the transfer unit of one channel: about a page of NAND at full speed. Its bytes shrink with the rate, so
/// that a scaled device needs as many stripes in flight as the described device.
const STRIPE_S: f64 = 50e-6;

/// The parameters of an SSD.
#[derive(Clone, Copy, Debug)]
pub struct SsdParams {
    pub channels: usize,
    pub read_bytes_per_s: f64,
    /// Sustained rate of writes.
    pub write_bytes_per_s: f64,
    pub burst_write_bytes_per_s: f64,
    /// Size of the fast buffer. 0: no buffer.
    pub burst_bytes: f64,
    pub read_latency_s: f64,
    pub write_latency_s: f64,
    pub read_iops: Option<f64>,
    pub write_iops: Option<f64>,
    pub queue_depth: usize,
}

impl SsdParams {
    /// Eight channels, no burst buffer, no limit on requests per second.
    pub fn typical(read_bytes_per_s: f64, write_bytes_per_s: f64) -> SsdParams {
        SsdParams {
            channels: 8,
            read_bytes_per_s,
            write_bytes_per_s,
            burst_write_bytes_per_s: write_bytes_per_s,
            burst_bytes: 0.0,
            read_latency_s: 100e-6,
            write_latency_s: 50e-6,
            read_iops: None,
            write_iops: None,
            queue_depth: 32,
        }
    }
}

pub struct Ssd {
    params: SsdParams,
    now: Ns,
    host_queue: VecDeque<Request>,
    in_flight_requests: BinaryHeap<Reverse<(Ns, u64)>>,
    channels_free_at: Vec<Ns>,
    /// Time from which the controller may start the next read.
    reads_free_at: Ns,
    writes_free_at: Ns,
    /// Time at which the last write so far is on the medium.
    written: Ns,
    remaining_burst_bytes: f64,
    idle_since: Ns,
    done: Vec<Completion>,
    stats: Stats,
}

impl Ssd {
    pub fn new(params: &SsdParams) -> Ssd {
        Ssd {
            params: *params,
            now: 0,
            host_queue: VecDeque::new(),
            in_flight_requests: BinaryHeap::new(),
            channels_free_at: vec![0; params.channels],
            reads_free_at: 0,
            writes_free_at: 0,
            written: 0,
            remaining_burst_bytes: params.burst_bytes,
            idle_since: 0,
            done: Vec::new(),
            stats: Stats::default(),
        }
    }

    fn dispatch(&mut self) {
        while self.in_flight_requests.len() < self.params.queue_depth {
            let request = match self.host_queue.pop_front() {
                Some(request) => request,
                None => break,
            };
            if self.in_flight_requests.is_empty() {
                let idle_s = (self.now - self.idle_since) as f64 / NS_PER_S;
                let free_bytes = self.remaining_burst_bytes + idle_s * self.params.write_bytes_per_s;
                self.remaining_burst_bytes = free_bytes.min(self.params.burst_bytes);
            }
            let finish = match request.kind {
                Kind::Read => self.read(&request),
                Kind::Write => self.write(&request),
                Kind::Flush => self.written.max(self.now),
            };
            self.in_flight_requests.push(Reverse((finish, request.id)));
        }
    }

    fn read(&mut self, request: &Request) -> Ns {
        let start = start(self.now, &mut self.reads_free_at, self.params.read_iops);
        let duration_s = request.bytes as f64 / self.params.read_bytes_per_s;
        self.transfer(start, request, duration_s) + ns(self.params.read_latency_s)
    }

    fn write(&mut self, request: &Request) -> Ns {
        let start = start(self.now, &mut self.writes_free_at, self.params.write_iops);
        let bytes = request.bytes as f64;
        let burst_part = bytes.min(self.remaining_burst_bytes);
        self.remaining_burst_bytes -= burst_part;
        let duration_s =
            burst_part / self.params.burst_write_bytes_per_s + (bytes - burst_part) / self.params.write_bytes_per_s;
        let finish = self.transfer(start, request, duration_s) + ns(self.params.write_latency_s);
        self.written = self.written.max(finish);
        finish
    }

    /// Occupy channels with a request that takes `duration_s` on all of them together; return the time at which the
    /// last channel is done.
    fn transfer(&mut self, start: Ns, request: &Request, duration_s: f64) -> Ns {
        let channels = self.params.channels;
        let stripe_bytes = (self.params.read_bytes_per_s / channels as f64 * STRIPE_S).max(1.0) as u64;
        let stripes = (request.bytes + stripe_bytes - 1) / stripe_bytes;
        let used_channels = channels.min(stripes.max(1) as usize);
        let first = (request.offset / stripe_bytes % channels as u64) as usize;
        let channel_ns = ns(duration_s * channels as f64 / used_channels as f64);
        self.stats.busy_s += duration_s;
        let mut end = start;
        for index in first..first + used_channels {
            let free_at = &mut self.channels_free_at[index % channels];
            *free_at = start.max(*free_at) + channel_ns;
            end = end.max(*free_at);
        }
        end
    }
}

/// Return when the controller starts a request; it starts at most `iops` requests per second.
fn start(now: Ns, free_at: &mut Ns, iops: Option<f64>) -> Ns {
    let at = now.max(*free_at);
    if let Some(iops) = iops {
        *free_at = at + ns(1.0 / iops);
    }
    at
}

impl Device for Ssd {
    fn submit(&mut self, now: Ns, request: Request) {
        let mut done = std::mem::take(&mut self.done);
        self.advance(now, &mut done);
        self.done = done;
        self.stats.count(request);
        self.host_queue.push_back(request);
        self.dispatch();
    }

    fn next_event(&self) -> Option<Ns> {
        if let Some(first) = self.done.first() {
            return Some(first.at);
        }
        self.in_flight_requests.peek().map(|&Reverse((at, _))| at)
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
        while let Some(&Reverse((at, id))) = self.in_flight_requests.peek() {
            if at > now {
                break;
            }
            self.in_flight_requests.pop();
            self.now = self.now.max(at);
            done.push(Completion { id, at });
            if self.in_flight_requests.is_empty() {
                self.idle_since = at;
            }
            self.dispatch();
        }
        self.now = self.now.max(now);
    }

    fn in_flight(&self) -> usize {
        self.in_flight_requests.len() + self.host_queue.len()
    }

    fn stats(&self) -> Stats {
        self.stats
    }
}
