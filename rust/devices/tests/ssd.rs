//! Test that the model of an SSD never exceeds its limits, and behaves like an SSD.

mod support;

use assay_devices::{Device, Kind, Model, Request, SsdParams};
use support::{drive, random, reader, writer, Client, Numbers, Outcome, Pattern, SECOND};

const RATE: f64 = 500e6;
const SPAN: u64 = 8 << 30;

fn params() -> SsdParams {
    SsdParams::typical(RATE, 400e6)
}

fn run(params: &SsdParams, mut clients: Vec<Client>, seconds: u64) -> Outcome {
    drive(&mut Model::ssd(params), &mut clients, seconds * SECOND)
}

#[test]
fn large_requests_reach_the_rate_and_streams_do_not_lose() {
    let single = run(&params(), vec![reader(0, 1 << 20, 2)], 2).bytes_per_s;
    let eight = run(&params(), (0..8).map(|i| reader(i << 30, 1 << 20, 2)).collect(), 2).bytes_per_s;
    assert!((single / RATE - 1.0).abs() < 0.02, "{single}");
    assert!((eight / RATE - 1.0).abs() < 0.02, "{eight}");
}

#[test]
fn one_small_request_at_a_time_pays_the_latency() {
    let outcome = run(&params(), vec![random(Kind::Read, SPAN, 4096, 1)], 2);
    assert!((5_000.0..10_000.0).contains(&outcome.iops), "{}", outcome.iops);
}

#[test]
fn bandwidth_of_small_requests_grows_with_the_queue_up_to_the_rate() {
    let rate = |depth| run(&params(), vec![random(Kind::Read, SPAN, 4096, depth)], 1).bytes_per_s;
    let by_depth: Vec<f64> = [1, 2, 4, 8].into_iter().map(rate).collect();
    assert!(by_depth.windows(2).all(|pair| pair[1] > 1.5 * pair[0]), "{by_depth:?}");
    let deep = rate(32);
    assert!(deep > 0.7 * RATE && deep <= RATE * 1.001, "{deep}");
}

#[test]
fn limits_on_requests_per_second_hold() {
    let limited = SsdParams { read_iops: Some(20_000.0), write_iops: Some(10_000.0), ..params() };
    let reads = run(&limited, vec![random(Kind::Read, SPAN, 4096, 32)], 2).iops;
    let writes = run(&limited, vec![random(Kind::Write, SPAN, 4096, 32)], 2).iops;
    assert!((reads / 20_000.0 - 1.0).abs() < 0.01, "{reads}");
    assert!((writes / 10_000.0 - 1.0).abs() < 0.01, "{writes}");
}

#[test]
fn writes_burst_then_go_on_at_the_sustained_rate_and_idling_helps() {
    let bursting =
        SsdParams { burst_write_bytes_per_s: 400e6, write_bytes_per_s: 100e6, burst_bytes: 400e6, ..params() };
    let mut disk = Model::ssd(&bursting);
    let mut clients = vec![writer(0, 1 << 20, 4)];
    let outcome = drive(&mut disk, &mut clients, 5 * SECOND);
    let after = |from_s: u64, to_s: u64| {
        let inside = |at: u64| at >= from_s * SECOND && at < to_s * SECOND;
        outcome.completions.iter().filter(|done| inside(done.at)).count() as f64 * 1048576.0 / (to_s - from_s) as f64
    };
    assert!((after(0, 1) / 400e6 - 1.0).abs() < 0.05, "{}", after(0, 1));
    assert!((after(2, 5) / 100e6 - 1.0).abs() < 0.05, "{}", after(2, 5));

    let mut done = Vec::new();
    disk.advance(20 * SECOND, &mut done);
    disk.submit(20 * SECOND, Request { id: 1 << 40, kind: Kind::Write, offset: 0, bytes: 1 << 20 });
    let again_s = (disk.next_event().unwrap() - 20 * SECOND) as f64 / 1e9;
    assert!(again_s < 0.003, "after 15 idle seconds the buffer is empty again: {again_s}");
}

#[test]
fn a_flush_waits_for_the_writes_before_it() {
    let mut disk = Model::ssd(&params());
    disk.submit(0, Request { id: 1, kind: Kind::Write, offset: 0, bytes: 4 << 20 });
    disk.submit(0, Request { id: 2, kind: Kind::Flush, offset: 0, bytes: 0 });
    let mut done = Vec::new();
    disk.advance(SECOND, &mut done);
    assert_eq!(done.iter().map(|done| done.id).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn no_mix_of_requests_is_faster_than_the_rate() {
    let mut numbers = Numbers(11);
    for round in 0..40 {
        let params = SsdParams {
            channels: 1 + numbers.below(16) as usize,
            queue_depth: 1 + numbers.below(64) as usize,
            burst_bytes: numbers.below(2) as f64 * 20e6,
            ..SsdParams::typical(50e6, 50e6)
        };
        let count = 1 + numbers.below(6);
        let mut clients: Vec<Client> = (0..count)
            .map(|_| Client {
                kind: if numbers.below(2) == 0 { Kind::Read } else { Kind::Write },
                pattern: if numbers.below(2) == 0 { Pattern::Sequential(0) } else { Pattern::Random(SPAN) },
                bytes: 4096 << numbers.below(8),
                depth: 1 + numbers.below(8) as usize,
                pause: numbers.below(2) * 100_000,
            })
            .collect();
        let mut disk = Model::ssd(&params);
        let outcome = drive(&mut disk, &mut clients, SECOND);
        assert!(outcome.bytes_per_s <= 50e6 * 1.001, "round {round}: {}", outcome.bytes_per_s);
        assert!(outcome.completions.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let submitted = disk.stats().reads + disk.stats().writes;
        assert_eq!(submitted as usize, outcome.completions.len() + disk.in_flight());
    }
}

/// A scaled device behaves like the described device in slow motion: with a sixteenth of the rate, a sixteenth of a
/// request takes the same time.
#[test]
fn a_scaled_device_takes_the_same_time_for_scaled_requests() {
    let full = run(&params(), vec![reader(0, 1 << 20, 1)], 2).iops;
    let sixteenth = run(&SsdParams::typical(RATE / 16.0, 25e6), vec![reader(0, 1 << 16, 1)], 2).iops;
    assert!((full / sixteenth - 1.0).abs() < 0.01, "{full} {sixteenth}");
}
