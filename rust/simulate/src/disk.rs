//! Compute when a disk finishes its requests: reads that share it, and concurrent write-back of the kernel.
//!
//! There are two levels of detail. `flows`: readers are fluid, at the rates that the table has for their
//! number, and write-back writes the dirty pages at its rate. `requests`: each request goes through the model of the
//! device.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::fair::{Fair, PartId, INSTANT_S};
use crate::load::{DiskSpec, Load, Step};
use crate::series::Series;
use crate::table::{Rates, Table};
use crate::writeback::WriteBack;

/// Totals of a disk, for the result.
#[derive(Debug, Default)]
pub struct DiskTotals {
    pub read_bytes: f64,
    pub written_bytes: f64,
    pub reads: f64,
    pub writes: f64,
    pub busy_s: f64,
    pub traces: Option<Rc<RefCell<DiskTraces>>>,
}

#[derive(Debug)]
pub struct DiskTraces {
    pub read: Series,
    pub written: Series,
    pub busy: Series,
}

impl DiskTotals {
    fn add(&mut self, from: f64, to: f64, read: f64, written: f64, request_bytes: f64) {
        self.read_bytes += read;
        self.written_bytes += written;
        self.reads += read / request_bytes;
        self.writes += written / request_bytes;
        if let Some(traces) = &self.traces {
            let mut traces = traces.borrow_mut();
            traces.read.add(from, to, read);
            traces.written.add(from, to, written);
        }
    }

    fn busy(&mut self, from: f64, to: f64) {
        self.busy_s += to - from;
        if let Some(traces) = &self.traces {
            traces.borrow_mut().busy.add(from, to, to - from);
        }
    }
}

enum Service {
    Fluid(Fluid),
    Requests(Box<Requests>),
}

pub struct Disk {
    service: Service,
    pub write_back: WriteBack,
    pub totals: DiskTotals,
    request_bytes: f64,
    /// Factor of all rates: less than 1 for a slow disk.
    rate_factor: f64,
    /// Time of the last update.
    updated_at: f64,
}

struct Fluid {
    table: Rc<Table>,
    readers: Fair,
    rates: Rates,
    flushing: bool,
    remaining_burst_bytes: f64,
    /// Remaining bytes of all readers. `counted_bytes` also counts each seek, as the bytes that the disk reads in the
    /// time of the seek.
    real_bytes: f64,
    counted_bytes: f64,
}

struct Requests {
    load: Load,
    parts: Vec<PartId>,
    /// Offset up to which the part of each activity has read: its next piece starts there.
    ends: HashMap<(u32, u8), (u32, u64)>,
    step: Step,
    in_flight_writes: f64,
}

impl Disk {
    pub fn fluid(spec: &DiskSpec, table: Rc<Table>, rate_factor: f64, write_back: WriteBack) -> Disk {
        let fluid = Fluid {
            remaining_burst_bytes: table.burst_bytes,
            table,
            readers: Fair::default(),
            rates: Rates::default(),
            flushing: false,
            real_bytes: 0.0,
            counted_bytes: 0.0,
        };
        Disk::with(Service::Fluid(fluid), spec, rate_factor, write_back)
    }

    pub fn requests(spec: &DiskSpec, seed: u64, write_back: WriteBack) -> Disk {
        let requests = Requests {
            load: Load::new(spec, seed),
            parts: Vec::new(),
            ends: HashMap::new(),
            step: Step::default(),
            in_flight_writes: 0.0,
        };
        Disk::with(Service::Requests(Box::new(requests)), spec, 1.0, write_back)
    }

    fn with(service: Service, spec: &DiskSpec, rate_factor: f64, write_back: WriteBack) -> Disk {
        let totals = DiskTotals::default();
        Disk {
            service,
            write_back,
            totals,
            request_bytes: spec.request_bytes.min(spec.readahead_bytes),
            rate_factor,
            updated_at: 0.0,
        }
    }

    /// Read `bytes` that are stored in `runs` contiguous pieces.
    pub fn read(&mut self, now: f64, part: PartId, bytes: f64, runs: f64) {
        match &mut self.service {
            Service::Fluid(fluid) => {
                let counted = fluid.bytes_with_seeks(bytes, runs);
                fluid.real_bytes += bytes;
                fluid.counted_bytes += counted;
                fluid.readers.add(counted, part);
            }
            Service::Requests(requests) => {
                let last_end = requests.ends.get(&(part.activity, part.slot));
                let start = last_end.filter(|(generation, _)| *generation == part.generation && runs <= 1.0);
                let run_bytes = if runs > 1.0 { (bytes / runs).max(1.0) } else { f64::MAX };
                let index = requests.load.read(now, bytes.max(1.0), run_bytes, start.map(|&(_, end)| end)) as usize;
                if requests.parts.len() <= index {
                    requests.parts.resize(index + 1, part);
                }
                requests.parts[index] = part;
            }
        }
        self.update_rates(now);
    }

    /// Write through the page cache; return true if the writer does not wait.
    pub fn write(&mut self, now: f64, part: PartId, bytes: f64) -> bool {
        let is_done = self.write_back.write(now, bytes, part);
        self.update_rates(now);
        is_done
    }

    /// Delete a file whose last byte was written at `position`: its dirty bytes are never written to the device.
    pub fn forget(&mut self, now: f64, bytes: f64, position: f64) {
        self.write_back.forget(bytes, position);
        self.update_rates(now);
    }

    pub fn cancel_read(&mut self, now: f64, part: PartId) {
        match &mut self.service {
            Service::Fluid(fluid) => fluid.readers.cancel(),
            Service::Requests(requests) => {
                if let Some(index) = requests.parts.iter().position(|&id| id == part) {
                    requests.load.cancel(index as u32);
                }
            }
        }
        self.update_rates(now);
    }

    /// Time of the next end or change.
    pub fn next_at(&self, now: f64) -> f64 {
        match &self.service {
            Service::Fluid(fluid) => {
                let mut next = now + fluid.readers.next_s();
                if fluid.flushing {
                    let mut bytes = self.write_back.next_bytes();
                    if fluid.remaining_burst_bytes > 0.0 {
                        bytes = bytes.min(fluid.remaining_burst_bytes);
                    }
                    next = next.min(now + (bytes / fluid.rates.write).max(INSTANT_S));
                } else {
                    next = next.min(self.write_back.expires_at());
                }
                next
            }
            Service::Requests(requests) => {
                let expires =
                    if requests.in_flight_writes > 0.0 { f64::INFINITY } else { self.write_back.expires_at() };
                requests.load.next_s().min(expires)
            }
        }
    }

    /// Advance to `now`: count the moved bytes, and return the parts that ended.
    pub fn advance(&mut self, now: f64, alive: impl Fn(PartId) -> bool + Copy, done: &mut Vec<PartId>) {
        let from = self.updated_at;
        self.updated_at = now;
        match &mut self.service {
            Service::Fluid(fluid) => {
                if now > from {
                    let busy = fluid.flushing || fluid.readers.streams() > 0;
                    let (read, written) = fluid.advance(now, from, self.write_back.dirty_bytes);
                    self.totals.add(from, now, read, written, self.request_bytes);
                    if busy {
                        self.totals.busy(from, now);
                    }
                    let slack_bytes = fluid.rates.write * INSTANT_S + 1e-6;
                    self.write_back.drain(written, slack_bytes, alive, done);
                }
                fluid.readers.finish(alive, done);
            }
            Service::Requests(requests) => {
                let busy = requests.load.is_busy();
                let before = requests.load.stats();
                requests.load.advance(now, &mut requests.step);
                let after = requests.load.stats();
                if busy {
                    self.totals.busy(from, now);
                }
                let read = (after.read_bytes - before.read_bytes) as f64;
                let written = std::mem::take(&mut requests.step.written_bytes);
                self.totals.add(from, now, read, written, self.request_bytes);
                requests.in_flight_writes = (requests.in_flight_writes - written).max(0.0);
                self.write_back.drain(written, 1.0, alive, done);
                for (index, end) in requests.step.ended_readers.drain(..) {
                    let part = requests.parts[index as usize];
                    requests.ends.insert((part.activity, part.slot), (part.generation, end));
                    if alive(part) {
                        done.push(part);
                    }
                }
            }
        }
        self.update_rates(now);
    }

    /// Set the rates of all streams after a change.
    fn update_rates(&mut self, now: f64) {
        let flushing = self.write_back.flushes(now);
        match &mut self.service {
            Service::Fluid(fluid) => {
                fluid.flushing = flushing;
                fluid.rates = fluid.table.rates(fluid.readers.streams(), flushing);
                if fluid.remaining_burst_bytes > 0.0 {
                    fluid.rates.write *= fluid.table.burst_factor;
                }
                fluid.rates.read *= self.rate_factor;
                fluid.rates.write *= self.rate_factor;
                let streams = fluid.readers.streams().max(1);
                fluid.readers.set_rate(fluid.rates.read / f64::from(streams));
            }
            Service::Requests(requests) => {
                let allowed =
                    if flushing { (self.write_back.dirty_bytes - requests.in_flight_writes).max(0.0) } else { 0.0 };
                requests.in_flight_writes += allowed - requests.load.allow_writes(now, allowed);
            }
        }
    }
}

impl Fluid {
    /// Return the size of a read that includes its seeks: the time that it needs alone, times the rate of the shared
    /// disk; at least `bytes`. The table already includes the seeks between readers that share the disk, one for each
    /// readahead window.
    fn bytes_with_seeks(&self, bytes: f64, runs: f64) -> f64 {
        if runs <= 1.0 || bytes <= 0.0 {
            return bytes;
        }
        let table = &self.table;
        let shared = table.rates(self.readers.streams() + 1, false).read;
        let alone_s = bytes / table.read_bytes_per_s + runs * table.positioning_s;
        bytes.max(alone_s * shared.min(table.read_bytes_per_s))
    }

    /// Advance the readers and write-back to `now`. Return the bytes read and written since `from`.
    fn advance(&mut self, now: f64, from: f64, dirty_bytes: f64) -> (f64, f64) {
        let served = self.readers.served;
        self.readers.advance(now);
        let mut read = self.readers.served - served;
        if read > 0.0 && self.counted_bytes > 0.0 {
            let content_bytes = self.real_bytes * (read / self.counted_bytes).min(1.0);
            self.counted_bytes -= read;
            self.real_bytes -= content_bytes;
            read = content_bytes;
        }
        let mut written = 0.0;
        if self.flushing {
            written = (self.rates.write * (now - from)).min(dirty_bytes);
            self.remaining_burst_bytes = (self.remaining_burst_bytes - written).max(0.0);
            if self.remaining_burst_bytes < 1.0 {
                self.remaining_burst_bytes = 0.0;
            }
        } else if self.readers.streams() == 0 && self.table.burst_bytes > 0.0 {
            let free_bytes = self.remaining_burst_bytes + (now - from) * self.table.sustained_write;
            self.remaining_burst_bytes = free_bytes.min(self.table.burst_bytes);
        }
        (read, written)
    }
}
