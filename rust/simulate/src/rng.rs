//! Random numbers by seed and key, the same on every machine.
//!
//! Only additions, multiplications and divisions of IEEE doubles are used, because every machine rounds them equally.
//! The logarithm and exponential of the C library differ between machines.

/// Splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// A bijection that scatters the bits.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// A separate stream for each random quantity: draws of one do not change the others.
    pub fn keyed(seed: u64, purpose: u64, index: u64) -> Rng {
        Rng(mix(mix(mix(seed) ^ purpose) ^ index))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// At least 0, less than 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// At least 0, less than `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// An approximately normal number with mean 0 and deviation 1: the sum of twelve uniform numbers, minus 6. Its
    /// absolute value is at most 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// exp(sigma * normal), scaled to the mean 1.
    pub fn lognormal(&mut self, sigma: f64) -> f64 {
        if sigma <= 0.0 {
            return 1.0;
        }
        exp(sigma * self.normal() - sigma * sigma / 2.0)
    }
}

/// The exponential: halve the argument until the series converges quickly, then square the result as often. The
/// relative error is below 1e-13 for |x| < 50.
pub fn exp(x: f64) -> f64 {
    let mut halvings = 0;
    let mut small = x;
    while small.abs() > 0.125 {
        small /= 2.0;
        halvings += 1;
    }
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 1..14 {
        term *= small / f64::from(i);
        sum += term;
    }
    for _ in 0..halvings {
        sum *= sum;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_agrees_with_the_standard_library() {
        for i in -40..40 {
            let x = f64::from(i) / 4.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn lognormal_factors_have_the_mean_one() {
        let mut rng = Rng::keyed(1, 2, 3);
        let mean = (0..20000).map(|_| rng.lognormal(0.3)).sum::<f64>() / 20000.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn streams_differ_by_their_keys() {
        assert_ne!(Rng::keyed(1, 2, 3).bits(), Rng::keyed(1, 3, 2).bits());
        assert_eq!(Rng::keyed(1, 2, 3).bits(), Rng::keyed(1, 2, 3).bits());
        assert!((0..1000).all(|i| Rng::keyed(i, 0, 0).below(3) < 3));
    }
}
