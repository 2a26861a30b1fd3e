//! Both fidelities run the same cases. Flows are the requests' mean behaviour, so means over seeds are compared.

use crate::support::{Case, HDD, SSD};

const SEEDS: u32 = 10;

fn mean_s(case: &Case, fidelity: &'static str) -> f64 {
    (1..=SEEDS).map(|seed| Case { seed, fidelity, ..case.clone() }.seconds()).sum::<f64>() / f64::from(SEEDS)
}

fn difference(case: &Case) -> f64 {
    mean_s(case, "flows") / mean_s(case, "requests") - 1.0
}

#[test]
fn flows_and_requests_agree_on_flash() {
    for disks in [1, 2] {
        let difference = difference(&Case { disks, ..Case::new(SSD) });
        assert!(difference.abs() < 0.05, "{disks} SSDs: {:.1} % apart", 100.0 * difference);
    }
}

#[test]
fn flows_and_requests_agree_on_hard_disks() {
    for (disks, cache) in [(2, 1e9), (4, 1e9), (2, 20e6)] {
        let difference = difference(&Case { disks, cache, ..Case::new(HDD) });
        assert!(difference.abs() < 0.05, "{disks} HDDs, {cache} bytes of cache: {:.1} % apart", 100.0 * difference);
    }
}
