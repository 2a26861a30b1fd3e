//! Compare shares with SimGrid: its end times for the same transfers and computations (version 3.32, model CM02 without
//! cross traffic; benchmarks/simulator_speed.py runs it) are the expected numbers.

use crate::activity::{Owner, Use, Wake};
use crate::engine::Engine;

/// Rates of the links of six nodes, in bytes/s: from the node, and to the node.
const OUT: [f64; 6] = [100.0, 100.0, 100.0, 50.0, 200.0, 100.0];
const IN: [f64; 6] = [100.0, 50.0, 100.0, 100.0, 100.0, 200.0];
/// From, to, bytes, and the end time in SimGrid.
const TRANSFERS: [(usize, usize, f64, f64); 24] = [
    (4, 1, 180.0, 15.84),
    (0, 1, 118.0, 11.8),
    (1, 2, 379.0, 18.03),
    (3, 1, 879.0, 41.98),
    (0, 2, 205.0, 13.34),
    (1, 2, 270.0, 14.76),
    (4, 5, 184.0, 2.3),
    (4, 1, 788.0, 40.16),
    (4, 2, 802.0, 22.93),
    (4, 2, 446.0, 19.37),
    (2, 0, 527.0, 14.374),
    (3, 5, 271.0, 6.775),
    (5, 3, 781.0, 40.955),
    (2, 3, 853.0, 43.835),
    (5, 3, 906.0, 45.315),
    (2, 0, 784.0, 17.586),
    (0, 3, 220.0, 14.38),
    (0, 4, 604.0, 21.417),
    (0, 3, 939.0, 45.94),
    (2, 1, 134.0, 13.08),
    (1, 5, 740.0, 11.385),
    (5, 3, 895.0, 45.095),
    (0, 2, 191.0, 12.64),
    (0, 5, 443.0, 19.405),
];

/// End times of activities that all begin at 0.
fn ends(engine: &mut Engine<()>, activities: &[Vec<Use>], pieces: u32) -> Vec<f64> {
    for (index, parts) in activities.iter().enumerate() {
        engine.start(Owner { attempt: index as u32, lane: 0 }, parts, pieces);
    }
    let mut ends = vec![0.0; activities.len()];
    while let Some(wake) = engine.next() {
        if let Wake::Ended { owner, .. } = wake {
            ends[owner.attempt as usize] = engine.now;
        }
    }
    ends
}

fn transfers(pieces: u32) -> Vec<f64> {
    let mut engine = Engine::new(None);
    let out: Vec<u32> = OUT.iter().map(|&rate| engine.add_link(rate, None)).collect();
    let into: Vec<u32> = IN.iter().map(|&rate| engine.add_link(rate, None)).collect();
    let path = |&(from, to, bytes, _): &(usize, usize, f64, f64)| {
        vec![Use::Link { link: out[from], bytes }, Use::Link { link: into[to], bytes }]
    };
    let activities: Vec<Vec<Use>> = TRANSFERS.iter().map(path).collect();
    ends(&mut engine, &activities, pieces)
}

#[test]
fn transfers_share_links_as_in_simgrid() {
    // Mean error of the end times, the worst one, and the error of the last end, by the number of pieces.
    for (pieces, mean_max, worst_max) in [(64, 0.03, 0.12), (8, 0.06, 0.25)] {
        let ends_s = transfers(pieces);
        let errors: Vec<f64> =
            ends_s.iter().zip(TRANSFERS).map(|(end, expected)| (end / expected.3 - 1.0).abs()).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let last = ends_s.iter().copied().fold(0.0, f64::max);
        println!("{pieces} pieces: mean {mean:.3}, worst {worst:.3}, last end {last:.2} instead of 45.94");
        assert!(mean < mean_max && worst < worst_max, "{pieces} pieces: mean {mean}, worst {worst}");
        assert!((last / 45.94 - 1.0).abs() < 0.01, "{last}");
    }
}

#[test]
fn computations_share_cores_as_in_simgrid() {
    let mut engine = Engine::new(None);
    let node = engine.add_cpu(2.0, 1.0, 1.0, None);
    let activities: Vec<Vec<Use>> =
        (1..=5).map(|seconds| vec![Use::Cpu { node, seconds: f64::from(seconds) }]).collect();
    let ends_s = ends(&mut engine, &activities, 1);
    for (end, expected) in ends_s.iter().zip([2.5, 4.5, 6.0, 7.0, 8.0]) {
        assert!((end - expected).abs() < 1e-6, "{end} instead of {expected}");
    }
}

#[test]
fn a_pool_divides_cores_by_weight_and_leaves_none_idle() {
    let mut engine = Engine::new(Some(2.0));
    let (heavy, light) = (engine.add_cpu(4.0, 1.0, 3.0, None), engine.add_cpu(4.0, 1.0, 1.0, None));
    // Two threads on the heavy node request two cores and get 1.5. The single thread of the light node gets 0.5, then a
    // whole core.
    let activities = vec![
        vec![Use::Cpu { node: heavy, seconds: 3.0 }],
        vec![Use::Cpu { node: heavy, seconds: 3.0 }],
        vec![Use::Cpu { node: light, seconds: 3.0 }],
    ];
    let ends_s = ends(&mut engine, &activities, 1);
    assert!((ends_s[0] - 4.0).abs() < 1e-6 && (ends_s[2] - 5.0).abs() < 1e-6, "{ends_s:?}");
}
