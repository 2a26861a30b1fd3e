//! The write cache of a drive: its data, and the piece that goes to the medium next.
//!
//! The cache holds dirty extents in the order of their offsets and merges adjacent extents of one epoch. Each flush
//! ends an epoch, so that later writes never prolong the flush.

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

/// The dirty data of a drive, as extents.
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

    pub fn fits(&self, bytes: u64) -> bool {
        bytes <= self.capacity_bytes
    }

    pub fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes + bytes <= self.capacity_bytes
    }

    pub fn is_dirty(&self) -> bool {
        !self.extents.is_empty()
    }

    /// Whether more than three quarters of the capacity are used.
    pub fn is_nearly_full(&self) -> bool {
        self.used_bytes * 4 > self.capacity_bytes * 3
    }

    /// The time at which the oldest extent was written.
    pub fn oldest_write_time(&self) -> Option<Ns> {
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

    /// Whether the cache holds the whole range, so that a read need not go to the medium.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        let mut covered = start;
        let before = self.extents.range(..=start).next_back();
        for (&extent_start, extent) in before.into_iter().chain(self.extents.range(start + 1..end)) {
            if extent_start > covered {
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
        let mut gaps = Vec::new();
        let mut gap_start = start;
        let before = self.extents.range(..start).next_back();
        for (&offset, extent) in before.into_iter().chain(self.extents.range(start..end)) {
            if extent.end <= gap_start {
                continue;
            }
            if offset > gap_start {
                gaps.push((gap_start, offset));
            }
            gap_start = gap_start.max(extent.end);
        }
        if gap_start < end {
            gaps.push((gap_start, end));
        }
        for (start, end) in gaps {
            self.insert_new(start, end, now);
        }
    }

    fn insert_new(&mut self, mut start: u64, mut end: u64, now: Ns) {
        self.used_bytes += end - start;
        let mut since = now;
        if let Some((&left_start, &extent)) = self.extents.range(..start).next_back() {
            if extent.end == start && extent.epoch == self.epoch {
                start = left_start;
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
    /// only the data that the flush of this epoch waits for.
    pub fn next_piece(&self, head: u64, bytes_max: u64, epoch: Option<u64>) -> Option<Piece> {
        let is_eligible = |entry: &(&u64, &Extent)| epoch.map_or(true, |last| entry.1.epoch <= last);
        let above = self.extents.range(head..).find(is_eligible);
        let (&start, extent) = above.or_else(|| self.extents.range(..head).find(is_eligible))?;
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
