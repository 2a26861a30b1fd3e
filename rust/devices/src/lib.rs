//! Models of disks. Input: requests with their time of arrival. Output: completions with their time.
//!
//! The models have no clock and do no I/O. The caller provides the time: the lab's daemon passes the machine's
//! monotonic clock, a simulator its virtual one. Times are nanoseconds since any fixed point; they must not go back.
//!
//! ```
//! use assay_devices::{Device, HddParams, Kind, Model, Request};
//! let mut disk = Model::hdd(&HddParams::typical(1 << 30, 120e6), 1);
//! disk.submit(0, Request { id: 7, kind: Kind::Read, offset: 0, bytes: 65536 });
//! let at = disk.next_event().unwrap();
//! let mut done = Vec::new();
//! disk.advance(at, &mut done);
//! assert_eq!(done[0].id, 7);
//! ```

mod cache;
mod geometry;
mod hdd;
mod ssd;

pub use geometry::{revolution_s, SeekCurve};
pub use hdd::{Hdd, HddParams};
pub use ssd::{Ssd, SsdParams};

/// Nanoseconds since a point in time that the caller chose.
pub type Ns = u64;

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    /// Completes when all writes that completed before it are on the medium. Offset and bytes have no meaning.
    Flush,
}

/// One request. Its completion has the same `id`, which must be unique among the requests in flight.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub id: u64,
    pub kind: Kind,
    pub offset: u64,
    pub bytes: u64,
}

/// A finished request, with the time at which the device finished it by the model, not the time of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub id: u64,
    pub at: Ns,
}

/// Totals of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Accesses of the medium that did not continue where the last one ended. None on an SSD.
    pub seeks: u64,
    /// Time in seeks and rotational delays, in seconds.
    pub seek_s: f64,
    /// Time in which the medium worked, positioning included, in seconds.
    pub busy_s: f64,
}

impl Stats {
    fn count(&mut self, request: Request) {
        match request.kind {
            Kind::Read => {
                self.reads += 1;
                self.read_bytes += request.bytes;
            }
            Kind::Write => {
                self.writes += 1;
                self.written_bytes += request.bytes;
            }
            Kind::Flush => self.flushes += 1,
        }
    }
}

/// The interface between a model and its caller, in real or in virtual time.
pub trait Device {
    /// Submit a request that arrives at `now`. Completions that were due before `now` are kept; `advance` returns them.
    fn submit(&mut self, now: Ns, request: Request);
    /// Time of the next event without further arrivals: the time of the next call of `advance`.
    fn next_event(&self) -> Option<Ns>;
    /// Advance to `now`, and append the completions until then in the order of completion.
    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>);
    /// Number of submitted requests that are not completed.
    fn in_flight(&self) -> usize;
    fn stats(&self) -> Stats;
}

/// Any device.
pub enum Model {
    Hdd(Box<Hdd>),
    Ssd(Box<Ssd>),
}

impl Model {
    pub fn hdd(params: &HddParams, seed: u64) -> Model {
        Model::Hdd(Box::new(Hdd::new(params, seed)))
    }

    pub fn ssd(params: &SsdParams) -> Model {
        Model::Ssd(Box::new(Ssd::new(params)))
    }
}

impl Device for Model {
    fn submit(&mut self, now: Ns, request: Request) {
        match self {
            Model::Hdd(hdd) => hdd.submit(now, request),
            Model::Ssd(ssd) => ssd.submit(now, request),
        }
    }

    fn next_event(&self) -> Option<Ns> {
        match self {
            Model::Hdd(hdd) => hdd.next_event(),
            Model::Ssd(ssd) => ssd.next_event(),
        }
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        match self {
            Model::Hdd(hdd) => hdd.advance(now, done),
            Model::Ssd(ssd) => ssd.advance(now, done),
        }
    }

    fn in_flight(&self) -> usize {
        match self {
            Model::Hdd(hdd) => hdd.in_flight(),
            Model::Ssd(ssd) => ssd.in_flight(),
        }
    }

    fn stats(&self) -> Stats {
        match self {
            Model::Hdd(hdd) => hdd.stats(),
            Model::Ssd(ssd) => ssd.stats(),
        }
    }
}

pub(crate) const NS_PER_S: f64 = 1e9;

/// Return seconds as nanoseconds, rounded up, so that rounding never makes a device faster than its rate.
pub(crate) fn ns(duration_s: f64) -> Ns {
    (duration_s * NS_PER_S).ceil() as Ns
}
