//! Time series: amounts spread over the time in which they were moved. The number of intervals is bounded: a longer
//! series has longer intervals.

use std::cell::RefCell;
use std::rc::Rc;

/// A series that several resources add to.
pub type Shared = Rc<RefCell<Series>>;

#[derive(Clone, Debug)]
pub struct Series {
    interval_s: f64,
    /// Maximum number of intervals.
    steps: usize,
    values: Vec<f64>,
}

impl Series {
    pub fn new(interval_s: f64, steps: usize) -> Series {
        Series { interval_s, steps, values: Vec::new() }
    }

    pub fn shared(interval_s: f64, steps: usize) -> Shared {
        Rc::new(RefCell::new(Series::new(interval_s, steps)))
    }

    pub fn interval_s(&self) -> f64 {
        self.interval_s
    }

    /// Spread `amount` evenly from `from_s` to `to_s`.
    pub fn add(&mut self, from_s: f64, to_s: f64, amount: f64) {
        if amount == 0.0 {
            return;
        }
        while (to_s / self.interval_s) as usize >= self.steps {
            self.halve();
        }
        let last = (to_s / self.interval_s) as usize;
        if self.values.len() <= last {
            self.values.resize(last + 1, 0.0);
        }
        let first = (from_s / self.interval_s) as usize;
        if first == last || to_s <= from_s {
            self.values[last] += amount;
            return;
        }
        let per_s = amount / (to_s - from_s);
        for bin in first..=last {
            let begin = from_s.max(bin as f64 * self.interval_s);
            let end = to_s.min((bin + 1) as f64 * self.interval_s);
            self.values[bin] += per_s * (end - begin).max(0.0);
        }
    }

    /// Merge each pair of intervals.
    fn halve(&mut self) {
        self.interval_s *= 2.0;
        self.values = self.values.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    /// The amount in an interval of `interval_s`, which is the series' own or a power of two times as long.
    pub fn over(&self, interval: usize, interval_s: f64) -> f64 {
        let times = (interval_s / self.interval_s).round() as usize;
        let first = (interval * times).min(self.values.len());
        let end = (first + times).min(self.values.len());
        self.values[first..end].iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_spread_and_kept() {
        let mut series = Series::new(0.5, 100);
        series.add(0.25, 1.25, 8.0);
        assert_eq!(series.values, [2.0, 4.0, 2.0]);
        series.add(1.25, 1.25, 1.0);
        assert_eq!(series.over(2, 0.5), 3.0);
        assert_eq!(series.over(9, 0.5), 0.0);
    }

    #[test]
    fn a_long_series_has_longer_intervals_and_the_same_sum() {
        let mut series = Series::new(1.0, 8);
        (0..30).for_each(|i| series.add(f64::from(i), f64::from(i) + 1.0, 1.0));
        assert_eq!(series.interval_s(), 4.0);
        assert!(series.values.len() <= 8);
        assert_eq!((0..8).map(|i| series.over(i, 4.0)).sum::<f64>(), 30.0);
        assert_eq!(series.over(0, 8.0), 8.0);
        assert_eq!(series.over(3, 8.0), 6.0);
    }
}
