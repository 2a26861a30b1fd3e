//! Clients in virtual time: each keeps a given number of requests in flight, and sends another when one is done.

use std::collections::HashMap;

use assay_devices::{Completion, Device, Kind, Model, Ns, Request};

pub const SECOND: Ns = 1_000_000_000;

/// Offset of the next request of a client.
pub enum Pattern {
    /// Sequential from this offset.
    Sequential(u64),
    /// Random within this number of bytes from the start, at multiples of the request size.
    Random(u64),
}

pub struct Client {
    pub kind: Kind,
    pub pattern: Pattern,
    pub bytes: u64,
    pub depth: usize,
    /// Pause between a completion and the next request.
    pub pause: Ns,
}

pub fn reader(start: u64, bytes: u64, depth: usize) -> Client {
    Client { kind: Kind::Read, pattern: Pattern::Sequential(start), bytes, depth, pause: 0 }
}

pub fn writer(start: u64, bytes: u64, depth: usize) -> Client {
    Client { kind: Kind::Write, pattern: Pattern::Sequential(start), bytes, depth, pause: 0 }
}

pub fn random(kind: Kind, span: u64, bytes: u64, depth: usize) -> Client {
    Client { kind, pattern: Pattern::Random(span), bytes, depth, pause: 0 }
}

/// Results of a run: bytes and requests per second over all clients, and the durations of requests.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub bytes_per_s: f64,
    pub iops: f64,
    pub wait_max_s: f64,
    pub client_bytes: Vec<u64>,
    pub completions: Vec<Completion>,
}

/// xorshift64*, Vigna 2016: tests need the same numbers on every machine.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

/// Run the clients on the device for `duration`; only completions in this time count.
pub fn drive(device: &mut Model, clients: &mut [Client], duration: Ns) -> Outcome {
    let mut numbers = Numbers(42);
    let mut in_flight: HashMap<u64, (usize, Ns)> = HashMap::new();
    let mut arrivals: Vec<(Ns, usize)> =
        clients.iter().enumerate().flat_map(|(index, client)| vec![(0, index); client.depth]).collect();
    let mut outcome = Outcome {
        bytes_per_s: 0.0,
        iops: 0.0,
        wait_max_s: 0.0,
        client_bytes: vec![0; clients.len()],
        completions: Vec::new(),
    };
    let mut next_id = 0;
    loop {
        arrivals.sort_by_key(|&(at, _)| std::cmp::Reverse(at));
        let arrival = arrivals.last().map(|&(at, _)| at);
        let event = device.next_event();
        let now = match (arrival, event) {
            (Some(arrival), Some(event)) => arrival.min(event),
            (arrival, event) => arrival.or(event).expect("a client always waits"),
        };
        if now > duration {
            break;
        }
        if arrival == Some(now) && event.map_or(true, |event| event > now) {
            let (_, index) = arrivals.pop().unwrap();
            device.submit(now, next(&mut clients[index], next_id, &mut numbers));
            in_flight.insert(next_id, (index, now));
            next_id += 1;
        }
        let mut done = Vec::new();
        device.advance(now, &mut done);
        for completion in done {
            let (index, since) = in_flight.remove(&completion.id).expect("each request completes once");
            assert!(completion.at >= since && completion.at <= now);
            outcome.wait_max_s = outcome.wait_max_s.max((completion.at - since) as f64 / 1e9);
            outcome.client_bytes[index] += clients[index].bytes;
            outcome.completions.push(completion);
            arrivals.push((now + clients[index].pause, index));
        }
    }
    let duration_s = duration as f64 / 1e9;
    outcome.bytes_per_s = outcome.client_bytes.iter().sum::<u64>() as f64 / duration_s;
    outcome.iops = outcome.completions.len() as f64 / duration_s;
    outcome
}

fn next(client: &mut Client, id: u64, numbers: &mut Numbers) -> Request {
    let bytes = client.bytes;
    let offset = match &mut client.pattern {
        Pattern::Sequential(at) => {
            let offset = *at;
            *at += bytes;
            offset
        }
        Pattern::Random(span) => numbers.below(*span / bytes) * bytes,
    };
    Request { id, kind: client.kind, offset, bytes }
}
