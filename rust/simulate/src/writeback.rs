//! Compute when a writer to the page cache may continue, as Linux does from the dirty pages of a device.
//!
//! A write is done once the dirty bytes are at or below the limit. Until then its writer waits, in the order of
//! arrival. The kernel writes back while more than the background limit is dirty, while a writer waits, or when data
//! has been dirty for too long (Documentation/admin-guide/sysctl/vm.rst: dirty_bytes, dirty_background_bytes,
//! dirty_expire_centisecs; for a single device Documentation/ABI/testing/sysfs-class-bdi: max_bytes, strict_limit).

use std::collections::VecDeque;

use crate::fair::{PartId, INSTANT_S};

#[derive(Debug)]
pub struct WriteBack {
    limit_bytes: f64,
    background_bytes: f64,
    expire_s: f64,
    pub dirty_bytes: f64,
    /// Bytes that were written to the page cache so far.
    written_total_bytes: f64,
    /// Bytes that reached the device, or were deleted before.
    drained_total_bytes: f64,
    waiting_writers: VecDeque<(f64, PartId)>,
    dirty_since: f64,
    is_emptying: bool,
}

impl WriteBack {
    pub fn new(limit_bytes: f64, background_bytes: f64, expire_s: f64) -> WriteBack {
        WriteBack {
            limit_bytes,
            background_bytes: background_bytes.min(limit_bytes),
            expire_s,
            dirty_bytes: 0.0,
            written_total_bytes: 0.0,
            drained_total_bytes: 0.0,
            waiting_writers: VecDeque::new(),
            dirty_since: 0.0,
            is_emptying: false,
        }
    }

    /// Add a write; return true if its writer does not wait.
    pub fn write(&mut self, now: f64, bytes: f64, part: PartId) -> bool {
        if self.dirty_bytes <= 0.0 {
            self.dirty_since = now;
        }
        self.written_total_bytes += bytes;
        self.dirty_bytes += bytes;
        if self.waiting_writers.is_empty() && self.dirty_bytes <= self.limit_bytes {
            return true;
        }
        self.waiting_writers.push_back((self.written_total_bytes - self.limit_bytes, part));
        false
    }

    /// Record that `bytes` have reached the device; return the parts that no longer wait. `slack_bytes`: amount that
    /// counts as rounding.
    pub fn drain(&mut self, bytes: f64, slack_bytes: f64, alive: impl Fn(PartId) -> bool, done: &mut Vec<PartId>) {
        let bytes = bytes.min(self.dirty_bytes);
        self.drained_total_bytes += bytes;
        self.dirty_bytes -= bytes;
        if self.dirty_bytes <= slack_bytes {
            self.dirty_bytes = 0.0;
            self.drained_total_bytes = self.written_total_bytes;
            self.is_emptying = false;
        }
        while let Some(&(threshold, part)) = self.waiting_writers.front() {
            if !alive(part) {
                self.waiting_writers.pop_front();
                continue;
            }
            if threshold - self.drained_total_bytes > slack_bytes {
                break;
            }
            self.waiting_writers.pop_front();
            done.push(part);
        }
    }

    /// Total bytes written so far: a position in the order of writing.
    pub fn position(&self) -> f64 {
        self.written_total_bytes
    }

    /// Delete a file that ends at `position`: its dirty bytes need not be written. Return their number.
    pub fn forget(&mut self, bytes: f64, position: f64) -> f64 {
        let bytes = bytes.min(self.dirty_bytes - (self.written_total_bytes - position)).max(0.0);
        self.dirty_bytes -= bytes;
        self.drained_total_bytes += bytes;
        bytes
    }

    /// Whether the kernel is writing back.
    pub fn flushes(&mut self, now: f64) -> bool {
        if self.dirty_bytes <= 0.0 {
            return false;
        }
        if now >= self.dirty_since + self.expire_s - INSTANT_S {
            self.is_emptying = true;
            self.dirty_since = now;
        }
        let rounding = 1e-9 * self.background_bytes;
        self.is_emptying || !self.waiting_writers.is_empty() || self.dirty_bytes > self.background_bytes + rounding
    }

    /// Bytes until the next change during write-back.
    pub fn next_bytes(&self) -> f64 {
        let target_bytes = if self.is_emptying { 0.0 } else { self.background_bytes };
        let first_wait_bytes = self.waiting_writers.front().map(|&(threshold, _)| threshold - self.drained_total_bytes);
        let excess_bytes = self.dirty_bytes - target_bytes;
        first_wait_bytes
            .map_or(excess_bytes, |bytes| if excess_bytes > 0.0 { bytes.min(excess_bytes) } else { bytes })
            .max(0.0)
    }

    /// Time at which write-back starts without further writes.
    pub fn expires_at(&self) -> f64 {
        if self.dirty_bytes > 0.0 {
            self.dirty_since + self.expire_s
        } else {
            f64::INFINITY
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
    fn a_write_below_the_limit_does_not_wait() {
        let mut write_back = WriteBack::new(100.0, 50.0, 30.0);
        assert!(write_back.write(0.0, 60.0, part(1)));
        assert!(!write_back.write(0.0, 60.0, part(2)));
        assert!(write_back.flushes(0.0));
        assert_eq!(write_back.next_bytes(), 20.0);
        let mut done = Vec::new();
        write_back.drain(20.0, 0.0, |_| true, &mut done);
        assert_eq!(done, [part(2)]);
        assert!(write_back.flushes(0.0));
        write_back.drain(50.0, 0.0, |_| true, &mut done);
        assert!(!write_back.flushes(1.0));
        assert!(write_back.flushes(30.0));
        assert_eq!(write_back.next_bytes(), 50.0);
    }

    #[test]
    fn deleted_files_need_no_device() {
        let mut write_back = WriteBack::new(100.0, 50.0, 30.0);
        assert!(write_back.write(0.0, 80.0, part(1)));
        assert_eq!(write_back.forget(1000.0, write_back.position()), 80.0);
        assert!(!write_back.flushes(100.0));
        assert_eq!(write_back.expires_at(), f64::INFINITY);
    }
}
