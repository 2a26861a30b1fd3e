//! What happened in each interval? Amounts spread over the time in which they were moved.

#[derive(Clone, Debug)]
pub struct Series {
    interval_s: f64,
    values: Vec<f64>,
}

impl Series {
    pub fn new(interval_s: f64) -> Series {
        Series { interval_s, values: Vec::new() }
    }

    /// Spread `amount` evenly from `from_s` to `to_s`.
    pub fn add(&mut self, from_s: f64, to_s: f64, amount: f64) {
        if amount == 0.0 {
            return;
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

    pub fn at(&self, interval: usize) -> f64 {
        self.values.get(interval).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_spread_and_kept() {
        let mut series = Series::new(0.5);
        series.add(0.25, 1.25, 8.0);
        assert_eq!(series.values, [2.0, 4.0, 2.0]);
        series.add(1.25, 1.25, 1.0);
        assert_eq!(series.at(2), 3.0);
        assert_eq!(series.at(9), 0.0);
    }
}
