//! The load of a disk that streams share: requests of sequential readers and of the write-back of the kernel, served by
//! the model of `assay-devices` in virtual time.
//!
//! A reader requests one readahead window at a time, in requests of at most the maximum size of the device, and the
//! next window when it has received all of it. Write-back keeps several requests in flight. It writes a long piece of
//! one file, then one of the next. Streams start at offsets spread over the used share of the disk.

use assay_devices::{Completion, Device, Kind, Model, Ns, Request, Stats};
use assay_spec::Params;

use crate::rng::Rng;

pub const NS_PER_S: f64 = 1e9;
/// Number of writes that write-back keeps in flight: enough to keep a device busy, and few enough to let reads through.
const WRITES_IN_FLIGHT: usize = 8;
/// Bit of the ids of writes; the lower bits are their bytes. Ids of reads have the stream above bit 32.
const WRITE_BIT: u64 = 1 << 63;

/// Everything that determines the behaviour of a disk under load.
#[derive(Clone, Debug)]
pub struct DiskSpec {
    pub params: Params,
    pub size_bytes: u64,
    pub readahead_bytes: f64,
    pub request_bytes: f64,
    pub used_share: f64,
    /// Bytes that write-back writes of one file before the next file.
    pub write_turn_bytes: f64,
}

#[derive(Clone, Copy, Debug)]
struct Reader {
    /// Bytes that are not requested yet.
    remaining_bytes: f64,
    run_bytes: f64,
    /// Bytes until the next seek.
    remaining_run_bytes: f64,
    offset: u64,
    in_flight: u32,
    /// Number of requests of the last window.
    window_requests: u32,
}

/// The events of a step.
#[derive(Debug, Default)]
pub struct Step {
    /// Readers that have received everything, with the offset after their last byte.
    pub ended_readers: Vec<(u32, u64)>,
    pub written_bytes: f64,
}

/// Streams and write-back on one device.
pub struct Load {
    spec: DiskSpec,
    model: Model,
    rng: Rng,
    readers: Vec<Option<Reader>>,
    free_readers: Vec<u32>,
    remaining_write_bytes: f64,
    remaining_turn_bytes: f64,
    write_offset: u64,
    writes_in_flight: usize,
    serial: u32,
    done: Vec<Completion>,
}

fn ns(time_s: f64) -> Ns {
    (time_s * NS_PER_S).ceil().max(0.0) as Ns
}

impl Load {
    pub fn new(spec: &DiskSpec, seed: u64) -> Load {
        Load {
            spec: spec.clone(),
            model: spec.params.model(seed),
            rng: Rng::keyed(seed, 77, 0),
            readers: Vec::new(),
            free_readers: Vec::new(),
            remaining_write_bytes: 0.0,
            remaining_turn_bytes: 0.0,
            write_offset: 0,
            writes_in_flight: 0,
            serial: 0,
            done: Vec::new(),
        }
    }

    pub fn stats(&self) -> Stats {
        self.model.stats()
    }

    /// Whether any request is unfinished.
    pub fn is_busy(&self) -> bool {
        self.model.in_flight() > 0
    }

    /// Start to read `bytes` in contiguous runs of `run_bytes`, at the offset where another reader ended, or at a
    /// random one. Return the number of the reader.
    pub fn read(&mut self, now: f64, bytes: f64, run_bytes: f64, from: Option<u64>) -> u32 {
        let remaining_run_bytes = if from.is_some() { run_bytes } else { 0.0 };
        let offset = from.unwrap_or(0);
        let reader =
            Reader { remaining_bytes: bytes, run_bytes, remaining_run_bytes, offset, in_flight: 0, window_requests: 0 };
        let index = match self.free_readers.pop() {
            Some(index) => {
                self.readers[index as usize] = Some(reader);
                index
            }
            None => {
                self.readers.push(Some(reader));
                (self.readers.len() - 1) as u32
            }
        };
        self.request_window(now, index);
        self.request_window(now, index);
        index
    }

    /// Cancel a reader. Its requests in flight still complete.
    pub fn cancel(&mut self, index: u32) {
        if let Some(reader) = &mut self.readers[index as usize] {
            reader.remaining_bytes = 0.0;
        }
    }

    /// Permit `bytes` of writes in addition to those in flight, and send as many as possible. Return the bytes that are
    /// not yet sent.
    pub fn allow_writes(&mut self, now: f64, bytes: f64) -> f64 {
        self.remaining_write_bytes = bytes;
        self.send_writes(now);
        self.remaining_write_bytes.max(0.0)
    }

    pub fn next_s(&self) -> f64 {
        self.model.next_event().map_or(f64::INFINITY, |at| at as f64 / NS_PER_S)
    }

    /// Advance to `now`. Readers continue; write-back sends more only by `allow_writes`.
    pub fn advance(&mut self, now: f64, step: &mut Step) {
        let mut done = std::mem::take(&mut self.done);
        self.model.advance(ns(now), &mut done);
        for completion in done.drain(..) {
            if completion.id & WRITE_BIT != 0 {
                self.writes_in_flight -= 1;
                step.written_bytes += (completion.id & 0xffff_ffff) as f64;
                continue;
            }
            let index = (completion.id >> 32) as u32;
            let mut window_is_due = false;
            let mut is_idle = false;
            if let Some(reader) = &mut self.readers[index as usize] {
                reader.in_flight -= 1;
                window_is_due = reader.in_flight <= reader.window_requests;
                is_idle = reader.in_flight == 0;
            }
            if window_is_due && !self.request_window(now, index) && is_idle {
                let end = self.readers[index as usize].take().map_or(0, |reader| reader.offset);
                self.free_readers.push(index);
                step.ended_readers.push((index, end));
            }
        }
        self.done = done;
    }

    fn random_offset(&mut self, bytes: f64) -> u64 {
        let range_bytes = (self.spec.size_bytes as f64 * self.spec.used_share - bytes).max(0.0);
        (self.rng.uniform() * range_bytes) as u64 / 512 * 512
    }

    /// Request the next window of a reader; return false if it has received everything.
    fn request_window(&mut self, now: f64, index: u32) -> bool {
        let mut reader = match self.readers[index as usize] {
            Some(reader) => reader,
            None => return false,
        };
        let end = self.spec.size_bytes;
        if reader.remaining_run_bytes < 1.0 || reader.offset + self.spec.readahead_bytes as u64 >= end {
            reader.remaining_run_bytes = reader.run_bytes.max(1.0);
            reader.offset = self.random_offset(reader.run_bytes.min(reader.remaining_bytes));
        }
        let mut window = self.spec.readahead_bytes.min(reader.remaining_bytes).min(reader.remaining_run_bytes);
        if reader.remaining_bytes < 1.0 || window <= 0.0 {
            return false;
        }
        reader.remaining_bytes -= window;
        reader.remaining_run_bytes -= window;
        reader.window_requests = 0;
        while window >= 0.5 {
            let bytes = (window.min(self.spec.request_bytes).ceil() as u64).max(1).min(end);
            self.serial = self.serial.wrapping_add(1);
            let id = u64::from(index) << 32 | u64::from(self.serial);
            let offset = reader.offset.min(end - bytes);
            self.model.submit(ns(now), Request { id, kind: Kind::Read, offset, bytes });
            reader.offset = offset + bytes;
            reader.in_flight += 1;
            reader.window_requests += 1;
            window -= bytes as f64;
        }
        self.readers[index as usize] = Some(reader);
        reader.in_flight > 0
    }

    fn send_writes(&mut self, now: f64) {
        let size = self.spec.size_bytes;
        while self.writes_in_flight < WRITES_IN_FLIGHT && self.remaining_write_bytes >= 1.0 {
            if self.remaining_turn_bytes < 1.0 {
                self.remaining_turn_bytes = self.spec.write_turn_bytes;
                self.write_offset = self.random_offset(self.spec.write_turn_bytes);
            }
            let bytes =
                self.remaining_write_bytes.min(self.spec.request_bytes).min(self.remaining_turn_bytes).ceil() as u64;
            let bytes = bytes.max(1).min(size);
            self.serial = self.serial.wrapping_add(1);
            let id = WRITE_BIT | u64::from(self.serial & 0x7fff_ffff) << 32 | bytes;
            let offset = self.write_offset.min(size - bytes);
            self.model.submit(ns(now), Request { id, kind: Kind::Write, offset, bytes });
            self.write_offset = offset + bytes;
            self.remaining_write_bytes -= bytes as f64;
            self.remaining_turn_bytes -= bytes as f64;
            self.writes_in_flight += 1;
        }
    }
}
