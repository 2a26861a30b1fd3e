//! Compute the position of a byte on the platter, and the time that the arm needs to reach it.
//!
//! Positions are sweeps, in seconds: the sweep of an offset is the time to read from byte 0 to the offset without a
//! pause. The difference of two sweeps is the transfer time between the offsets. Divided by the time of a revolution,
//! its whole part is a number of tracks, and its fraction is the angle. Zones: bits per inch are about the same on
//! all cylinders, so the rate falls linearly from the outer to the inner *cylinder*, and the sweep is linear in the
//! cylinder. At an offset, the rate is `outer * sqrt(1 - (1 - s^2) x)`, with `s` the rate of the inner edge as a share
//! of the outer rate, and `x` the share of the capacity before the offset.
//!
//! The time of a seek grows with the square root of the distance while the arm accelerates, and linearly once it
//! coasts, after Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994. The model
//! assumes perfect track skew.

use crate::{ns, Ns, NS_PER_S};

/// Share of the full stroke above which the time of a seek is linear: 383 of 1962 cylinders on Ruemmler and Wilkes' HP
/// 97560.
const COAST_FROM: f64 = 0.2;
/// Rotational delays below this value are rounding errors, not missed sectors.
const ROUNDING_S: f64 = 2e-6;

/// Time of a seek by its distance.
#[derive(Clone, Copy, Debug)]
pub struct SeekCurve {
    track_s: f64,
    /// Seconds for each square root of a distance, while the arm accelerates.
    root: f64,
}

impl SeekCurve {
    /// The smooth curve through the track-to-track time and the full-stroke time.
    pub fn new(track_s: f64, full_s: f64) -> SeekCurve {
        let root = (full_s - track_s) * 2.0 * COAST_FROM.sqrt() / (1.0 + COAST_FROM);
        SeekCurve { track_s, root }
    }

    /// Seconds for a distance that is a share (0 to 1) of the full stroke.
    pub fn seek_s(&self, distance: f64) -> f64 {
        let knee = COAST_FROM.sqrt();
        if distance < COAST_FROM {
            self.track_s + self.root * distance.sqrt()
        } else {
            self.track_s + self.root * (knee / 2.0 + distance / (2.0 * knee))
        }
    }

    /// Mean over seeks between two uniformly distributed cylinders.
    pub fn mean_s(&self) -> f64 {
        let steps = 2000;
        let step = 1.0 / f64::from(steps);
        (0..steps).map(|i| (f64::from(i) + 0.5) * step).map(|d| 2.0 * (1.0 - d) * self.seek_s(d) * step).sum()
    }
}

/// Time of one turn of the platter, in seconds. Half of it is the mean rotational delay.
pub fn revolution_s(rpm: f64) -> f64 {
    60.0 / rpm
}

/// Zones, tracks and the turning platter of one disk.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    size: f64,
    outer_bytes_per_s: f64,
    /// 1 - s^2: the decrease of the squared rate from the outer to the inner edge.
    squared_rate_decrease: f64,
    total_s: f64,
    pub revolution_s: f64,
    curve: SeekCurve,
    /// Angle of the platter at time 0, as a share of a turn.
    phase: f64,
}

impl Geometry {
    pub fn new(
        size: u64,
        outer_bytes_per_s: f64,
        inner_share: f64,
        rpm: f64,
        curve: SeekCurve,
        phase: f64,
    ) -> Geometry {
        let mut geometry = Geometry {
            size: size as f64,
            outer_bytes_per_s,
            squared_rate_decrease: 1.0 - inner_share * inner_share,
            total_s: 0.0,
            revolution_s: revolution_s(rpm),
            curve,
            phase,
        };
        geometry.total_s = geometry.sweep_s(size);
        geometry
    }

    /// Seconds to read everything before `offset` without a pause.
    pub fn sweep_s(&self, offset: u64) -> f64 {
        let offset = offset as f64;
        if self.squared_rate_decrease < 1e-9 {
            return offset / self.outer_bytes_per_s;
        }
        let relative_rate = (1.0 - self.squared_rate_decrease * (offset / self.size)).max(0.0).sqrt();
        2.0 * self.size / (self.outer_bytes_per_s * self.squared_rate_decrease) * (1.0 - relative_rate)
    }

    /// Seconds to read `bytes` from `offset` on.
    pub fn transfer_s(&self, offset: u64, bytes: u64) -> f64 {
        self.sweep_s(offset + bytes) - self.sweep_s(offset)
    }

    /// Seek and rotational delay when the arm leaves the sweep `from_s` for `to_s` at `now`, in seconds.
    pub fn positioning_s(&self, now: Ns, from_s: f64, to_s: f64) -> f64 {
        let distance_s = (to_s - from_s).abs();
        let seek_s =
            if distance_s < self.revolution_s { 0.0 } else { self.curve.seek_s((distance_s / self.total_s).min(1.0)) };
        let arrival_s = (now + ns(seek_s)) as f64 / NS_PER_S;
        let turn = (to_s - arrival_s) / self.revolution_s - self.phase;
        let delay_s = (turn - turn.floor()) * self.revolution_s;
        if delay_s > self.revolution_s - ROUNDING_S {
            return seek_s;
        }
        seek_s + delay_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(inner_share: f64) -> Geometry {
        Geometry::new(1_000_000_000, 100e6, inner_share, 7200.0, SeekCurve::new(0.001, 0.014), 0.0)
    }

    #[test]
    fn the_inner_zone_is_slower_by_its_share() {
        let disk = disk(0.5);
        let outer_s = disk.transfer_s(0, 1_000_000);
        let inner_s = disk.transfer_s(999_000_000, 1_000_000);
        assert!((outer_s / 0.01 - 1.0).abs() < 0.01);
        assert!((outer_s / inner_s - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_disk_without_zones_has_one_rate() {
        let disk = disk(1.0);
        assert!((disk.transfer_s(900_000_000, 1_000_000) - 0.01).abs() < 1e-9);
    }

    #[test]
    fn seek_times_meet_both_ends_and_never_fall() {
        let curve = SeekCurve::new(0.001, 0.014);
        assert!((curve.seek_s(0.0) - 0.001).abs() < 1e-12);
        assert!((curve.seek_s(1.0) - 0.014).abs() < 1e-12);
        let times: Vec<f64> = (0..=1000).map(|i| curve.seek_s(f64::from(i) / 1000.0)).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] < 0.0005));
    }

    #[test]
    fn a_later_sector_of_the_track_needs_no_seek() {
        let disk = disk(1.0);
        let gap_s = disk.positioning_s(0, 0.0, 0.002);
        assert!((gap_s - 0.002).abs() < 1e-6);
    }

    #[test]
    fn a_sector_that_has_just_passed_returns_after_a_revolution() {
        let disk = disk(1.0);
        let wait_s = disk.positioning_s(ns(0.002), 0.002, 0.001);
        assert!((wait_s - (disk.revolution_s - 0.001)).abs() < 1e-6);
    }
}
