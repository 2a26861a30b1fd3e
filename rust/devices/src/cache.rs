//! The write cache of a drive: its data, and the piece that goes to the medium next.
//!
//! Dirty extents in the order of their offsets; adjacent extents of one epoch are merged. Each flush ends an epoch, so
//! that later writes never prolong it.

use std::collections::BTreeMap;

use crate::Ns;

#[derive(Clone, Copy, Debug)]
struct Extent {
    end: u64,
    epoch: u64,
    since: Ns,
}

/// A piece that is being written to the medium.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub start: u64,
    pub end: u64,
    pub epoch: u64,
}

#[derive(Debug, Default)]
pub struct WriteCache {
    capacity_bytes: u64,
    used_bytes: u64,
    extents: BTreeMap<u64, Extent>,
    epoch: u64,
}

impl WriteCache {
    pub fn new(capacity_bytes: u64) -> WriteCache {
        WriteCache { capacity_bytes, ..WriteCache::default() }
    }

    pub fn could_hold(&self, bytes: u64) -> bool {
        bytes <= self.capacity_bytes
    }

    pub fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes + bytes <= self.capacity_bytes
    }

    pub fn is_dirty(&self) -> bool {
        !self.extents.is_empty()
    }

    /// Whether more than three quarters are used.
    pub fn is_nearly_full(&self) -> bool {
        self.used_bytes * 4 > self.capacity_bytes * 3
    }

    /// Time since which the oldest extent has been waiting.
    pub fn oldest_since(&self) -> Option<Ns> {
        self.extents.values().map(|extent| extent.since).min()
    }

    /// End the epoch and return it: a flush waits until `holds_epoch` is false for it.
    pub fn end_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch - 1
    }

    pub fn holds_epoch(&self, epoch: u64) -> bool {
        self.extents.values().any(|extent| extent.epoch <= epoch)
    }

    /// Whether the cache holds all of the range, so that a read needs no medium.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        let mut covered = start;
        let before = self.extents.range(..=start).next_back();
        for (&from, extent) in before.into_iter().chain(self.extents.range(start + 1..end)) {
            if from > covered {
                return false;
            }
            covered = covered.max(extent.end);
            if covered >= end {
                return true;
            }
        }
        false
    }

    /// Add a write. Data of the range that is already dirty stays as it is.
    pub fn insert(&mut self, start: u64, end: u64, now: Ns) {
        let mut free = Vec::new();
        let mut from = start;
        let before = self.extents.range(..start).next_back();
        for (&at, extent) in before.into_iter().chain(self.extents.range(start..end)) {
            if extent.end <= from {
                continue;
            }
            if at > from {
                free.push((from, at));
            }
            from = from.max(extent.end);
        }
        if from < end {
            free.push((from, end));
        }
        for (start, end) in free {
            self.insert_new(start, end, now);
        }
    }

    fn insert_new(&mut self, mut start: u64, mut end: u64, now: Ns) {
        self.used_bytes += end - start;
        let mut since = now;
        if let Some((&left, &extent)) = self.extents.range(..start).next_back() {
            if extent.end == start && extent.epoch == self.epoch {
                start = left;
                since = since.min(extent.since);
            }
        }
        if let Some(&extent) = self.extents.get(&end) {
            if extent.epoch == self.epoch {
                self.extents.remove(&end);
                end = extent.end;
                since = since.min(extent.since);
            }
        }
        self.extents.insert(start, Extent { end, epoch: self.epoch, since });
    }

    /// The next piece of at most `bytes_max`: the first at or above `head`, else the lowest (C-LOOK). With `epoch`,
    /// only what a flush waits for.
    pub fn next_piece(&self, head: u64, bytes_max: u64, epoch: Option<u64>) -> Option<Piece> {
        let wanted = |entry: &(&u64, &Extent)| epoch.map_or(true, |last| entry.1.epoch <= last);
        let above = self.extents.range(head..).find(wanted);
        let (&start, extent) = above.or_else(|| self.extents.range(..head).find(wanted))?;
        Some(Piece { start, end: extent.end.min(start + bytes_max), epoch: extent.epoch })
    }

    /// Remove a piece for the medium. Its space stays used until `release`.
    pub fn take(&mut self, piece: &Piece) {
        if let Some(extent) = self.extents.remove(&piece.start) {
            if piece.end < extent.end {
                self.extents.insert(piece.end, extent);
            }
        }
    }

    pub fn release(&mut self, piece: &Piece) {
        self.used_bytes -= piece.end - piece.start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_piece_and_overlaps_count_once() {
        let mut cache = WriteCache::new(1000);
        cache.insert(100, 200, 0);
        cache.insert(300, 400, 0);
        cache.insert(150, 350, 0);
        assert_eq!(cache.used_bytes, 300);
        let piece = cache.next_piece(0, 1000, None).unwrap();
        assert_eq!((piece.start, piece.end), (100, 400));
    }

    #[test]
    fn pieces_come_upwards_from_the_head_and_then_from_the_start() {
        let mut cache = WriteCache::new(1000);
        cache.insert(100, 110, 0);
        cache.insert(500, 510, 0);
        assert_eq!(cache.next_piece(200, 100, None).unwrap().start, 500);
        assert_eq!(cache.next_piece(600, 100, None).unwrap().start, 100);
    }

    #[test]
    fn a_flush_waits_for_what_came_before_it_only() {
        let mut cache = WriteCache::new(1000);
        cache.insert(0, 100, 0);
        let epoch = cache.end_epoch();
        cache.insert(100, 200, 0);
        assert!(cache.holds_epoch(epoch));
        let piece = cache.next_piece(0, 1000, Some(epoch)).unwrap();
        assert_eq!((piece.start, piece.end), (0, 100));
        cache.take(&piece);
        cache.release(&piece);
        assert!(!cache.holds_epoch(epoch));
        assert!(cache.is_dirty());
    }

    #[test]
    fn a_read_is_served_from_the_cache_when_all_of_it_is_there() {
        let mut cache = WriteCache::new(1000);
        cache.insert(100, 200, 0);
        cache.end_epoch();
        cache.insert(200, 300, 0);
        assert!(cache.contains(100, 300));
        assert!(cache.contains(150, 250));
        assert!(!cache.contains(90, 200));
        assert!(!cache.contains(250, 301));
    }
}
