//! Compute when each of many streams ends that share a resource equally. One clock advances instead of each stream.
//!
//! Fair queueing's virtual clock (Demers, Keshav and Shenker, SIGCOMM 1989; Parekh and Gallager 1993): `clock` is the
//! amount that each stream has received since the clock was set to 0. A stream of `amount` ends when the clock has
//! advanced by `amount` since its start, whatever the rates were. A heap therefore orders the streams by their end on
//! this clock, and a change of the rate changes no entry.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::series::Shared;

/// Times that differ by less are equal: the difference is rounding.
pub const INSTANT_S: f64 = 1e-9;

/// Identifies one part of one activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartId {
    pub activity: u32,
    pub generation: u32,
    pub slot: u8,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    end: f64,
    order: u32,
    part: PartId,
}

impl PartialEq for Stream {
    fn eq(&self, second: &Stream) -> bool {
        self.cmp(second) == Ordering::Equal
    }
}
impl Eq for Stream {}
impl PartialOrd for Stream {
    fn partial_cmp(&self, other: &Stream) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Stream {
    /// Order by end, reversed: `BinaryHeap` returns the greatest entry first.
    fn cmp(&self, other: &Stream) -> Ordering {
        other.end.total_cmp(&self.end).then(other.order.cmp(&self.order))
    }
}

/// A resource that its streams share equally.
#[derive(Debug, Default)]
pub struct Fair {
    clock: f64,
    /// Time to which the clock has advanced.
    at: f64,
    /// Rate of each stream, per second.
    rate: f64,
    streams: u32,
    /// Number of entries in the heap whose streams were cancelled.
    cancelled: u32,
    /// Number of the last stream, which orders streams of equal ends.
    order: u32,
    heap: BinaryHeap<Stream>,
    pub busy_s: f64,
    /// Amount that all streams have received.
    pub served: f64,
    trace: Option<Shared>,
}

impl Fair {
    pub fn traced(trace: Option<Shared>) -> Fair {
        Fair { trace, ..Fair::default() }
    }

    pub fn trace(&self) -> Option<&Shared> {
        self.trace.as_ref()
    }

    /// Amount served until now; `now` may be later than the last change.
    pub fn served_at(&self, now: f64) -> f64 {
        self.served + self.rate * (now - self.at).max(0.0) * f64::from(self.streams)
    }

    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Advance to `now` at the rate since the last call.
    pub fn advance(&mut self, now: f64) {
        let passed_s = now - self.at;
        if passed_s > 0.0 && self.streams > 0 {
            self.clock += self.rate * passed_s;
            let amount = self.rate * passed_s * f64::from(self.streams);
            self.served += amount;
            self.busy_s += passed_s;
            if let Some(trace) = &self.trace {
                trace.borrow_mut().add(self.at, now, amount);
            }
        }
        self.at = now;
    }

    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Add a stream. Call `advance` before, and set the rate afterwards.
    pub fn add(&mut self, amount: f64, part: PartId) {
        if self.streams == 0 {
            self.clock = 0.0;
            self.heap.clear();
            self.cancelled = 0;
        }
        self.order = self.order.wrapping_add(1);
        self.heap.push(Stream { end: self.clock + amount, order: self.order, part });
        self.streams += 1;
    }

    /// Cancel a stream. Its entry in the heap is removed later.
    pub fn cancel(&mut self) {
        self.streams -= 1;
        self.cancelled += 1;
    }

    /// Seconds until the first stream ends at the present rate; infinite without streams.
    pub fn next_s(&self) -> f64 {
        match self.heap.peek() {
            Some(first) if self.streams > 0 => ((first.end - self.clock) / self.rate).max(0.0),
            _ => f64::INFINITY,
        }
    }

    /// Remove the streams that have ended; `alive` is false for cancelled streams.
    pub fn finish(&mut self, alive: impl Fn(PartId) -> bool, done: &mut Vec<PartId>) {
        while let Some(first) = self.heap.peek() {
            if self.cancelled > 0 && !alive(first.part) {
                self.cancelled -= 1;
                self.heap.pop();
                continue;
            }
            if self.streams == 0 || first.end - self.clock > self.rate * INSTANT_S {
                break;
            }
            done.push(first.part);
            self.clock = self.clock.max(first.end);
            self.streams -= 1;
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(activity: u32) -> PartId {
        PartId { activity, generation: 0, slot: 0 }
    }

    #[test]
    fn a_later_stream_slows_the_first_one() {
        let mut fair = Fair::default();
        fair.add(10.0, part(1));
        fair.set_rate(1.0);
        fair.advance(5.0);
        fair.add(2.0, part(2));
        fair.set_rate(0.5);
        assert_eq!(fair.next_s(), 4.0);
        fair.advance(9.0);
        let mut done = Vec::new();
        fair.finish(|_| true, &mut done);
        assert_eq!(done, [part(2)]);
        fair.set_rate(1.0);
        assert_eq!(fair.next_s(), 3.0);
        assert_eq!(fair.served, 9.0);
    }

    #[test]
    fn a_cancelled_stream_is_passed_over() {
        let mut fair = Fair::default();
        fair.add(1.0, part(1));
        fair.add(2.0, part(2));
        fair.cancel();
        fair.set_rate(1.0);
        fair.advance(2.0);
        let mut done = Vec::new();
        fair.finish(|id| id != part(1), &mut done);
        assert_eq!(done, [part(2)]);
        assert_eq!(fair.streams(), 0);
    }
}
