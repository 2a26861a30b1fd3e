//! Test that the model of a hard disk never exceeds its limits, and behaves like a hard disk.

mod support;

use assay_devices::{Device, HddParams, Kind, Model, Request, SeekCurve};
use support::{drive, random, reader, writer, Client, Numbers, Outcome, Pattern, SECOND};

const RATE: f64 = 6e6;
const SIZE: u64 = 8 << 30;
const KIB: u64 = 1024;

/// A twentieth of a 120 MB/s drive, with one rate for all zones unless a test is about zones.
fn params() -> HddParams {
    HddParams { inner_share: 1.0, ..HddParams::typical(SIZE, RATE) }
}

fn run(params: &HddParams, mut clients: Vec<Client>, seconds: u64) -> Outcome {
    drive(&mut Model::hdd(params, 1), &mut clients, seconds * SECOND)
}

fn readers(count: u64, bytes: u64, depth: usize) -> Vec<Client> {
    (0..count).map(|i| reader(i * (SIZE / count), bytes, depth)).collect()
}

#[test]
fn one_stream_gets_the_rate_of_its_zone() {
    for depth in [1, 4] {
        let outcome = run(&params(), vec![reader(0, 64 * KIB, depth)], 60);
        assert!((outcome.bytes_per_s / RATE - 1.0).abs() < 0.01, "{}", outcome.bytes_per_s);
    }
    let zoned = HddParams { inner_share: 0.5, ..params() };
    let inner = run(&zoned, vec![reader(SIZE - (400 << 20), 64 * KIB, 1)], 60);
    assert!((inner.bytes_per_s / RATE - 0.53).abs() < 0.02, "{}", inner.bytes_per_s);
}

#[test]
fn a_reader_that_pauses_briefly_loses_nothing() {
    let mut client = reader(0, 64 * KIB, 1);
    client.pause = SECOND / 2000;
    let mut disk = Model::hdd(&params(), 1);
    let outcome = drive(&mut disk, &mut [client], 60 * SECOND);
    assert!((outcome.bytes_per_s / RATE - 1.0).abs() < 0.01, "{}", outcome.bytes_per_s);
    assert!((disk.stats().busy_s / 60.0 - 1.0).abs() < 0.01, "the medium never rests: {:?}", disk.stats());
}

#[test]
fn a_stream_of_writes_gets_the_rate_with_and_without_a_cache() {
    for write_cache_bytes in [0, 3 << 20] {
        let outcome = run(&HddParams { write_cache_bytes, ..params() }, vec![writer(0, 64 * KIB, 2)], 100);
        let share = outcome.bytes_per_s / RATE;
        assert!((0.99..1.02 + write_cache_bytes as f64 / (100.0 * RATE)).contains(&share), "{share}");
    }
}

#[test]
fn interleaved_streams_lose_and_more_with_smaller_requests() {
    let share = |bytes| run(&params(), readers(16, bytes, 1), 60).bytes_per_s / RATE;
    let (small, medium, large) = (share(16 * KIB), share(64 * KIB), share(256 * KIB));
    assert!(small < 0.5 && small < medium && medium < large && large < 0.98, "{small} {medium} {large}");
}

#[test]
fn streams_share_fairly() {
    let outcome = run(&params(), readers(8, 64 * KIB, 2), 60);
    let (least, most) = (outcome.client_bytes.iter().min().unwrap(), outcome.client_bytes.iter().max().unwrap());
    assert!(*most as f64 / (*least as f64) < 1.5, "{least} {most}");
}

/// Random IOPS by the textbook formula: 1 / (mean seek + half a turn + transfer).
#[test]
fn random_reads_one_at_a_time_take_seek_rotation_and_transfer() {
    for (rpm, track_s, full_s) in [(7200.0, 0.001, 0.014), (5400.0, 0.002, 0.020), (15000.0, 0.0005, 0.007)] {
        let params = HddParams { rpm, seek_track_s: track_s, seek_full_s: full_s, ..params() };
        let expected_s = SeekCurve::new(track_s, full_s).mean_s() + 30.0 / rpm + 4096.0 / RATE;
        let outcome = run(&params, vec![random(Kind::Read, SIZE, 4096, 1)], 200);
        assert!((outcome.iops * expected_s - 1.0).abs() < 0.03, "{} against {}", outcome.iops, 1.0 / expected_s);
    }
}

#[test]
fn a_deeper_queue_gives_more_requests_per_second() {
    let iops = |depth| run(&params(), vec![random(Kind::Read, SIZE, 4096, depth)], 60).iops;
    let by_depth: Vec<f64> = [1, 4, 16, 32].into_iter().map(iops).collect();
    assert!(by_depth[1] > 1.2 * by_depth[0] && by_depth[2] > 1.2 * by_depth[1], "{by_depth:?}");
    assert!(by_depth[3] > by_depth[2], "{by_depth:?}");
    let beyond = iops(128);
    assert!((beyond / by_depth[3] - 1.0).abs() < 0.1, "the drive's queue is 32 deep: {beyond}");
}

#[test]
fn nothing_starves() {
    let mut clients = vec![reader(0, 64 * KIB, 8), random(Kind::Read, SIZE, 4096, 24)];
    let outcome = drive(&mut Model::hdd(&params(), 1), &mut clients, 60 * SECOND);
    assert!(outcome.wait_max_s < 1.5, "{}", outcome.wait_max_s);
    assert!(outcome.client_bytes.iter().all(|&bytes| bytes > 0));
}

#[test]
fn reads_and_written_data_both_go_on_when_both_wait() {
    let params = HddParams { write_cache_bytes: 3 << 20, ..params() };
    let clients = vec![reader(0, 64 * KIB, 2), writer(SIZE / 2, 64 * KIB, 2)];
    let outcome = run(&params, clients, 60);
    let total = outcome.bytes_per_s / RATE;
    let share = outcome.client_bytes[0] as f64 / outcome.client_bytes.iter().sum::<u64>() as f64;
    assert!((0.6..0.99).contains(&total), "{total}");
    assert!((0.3..0.7).contains(&share), "{share}");
}

#[test]
fn the_cache_takes_a_burst_and_a_flush_waits_for_it() {
    let params = HddParams { write_cache_bytes: 3_000_000, ..params() };
    let mut disk = Model::hdd(&params, 1);
    for id in 0..45 {
        disk.submit(0, Request { id, kind: Kind::Write, offset: id * 65536, bytes: 65536 });
    }
    let mut done = Vec::new();
    disk.advance(SECOND / 5, &mut done);
    assert_eq!(done.len(), 45, "2.9 MB are in the cache long before they are on the medium");
    disk.submit(SECOND / 5, Request { id: 100, kind: Kind::Flush, offset: 0, bytes: 0 });
    done.clear();
    disk.advance(10 * SECOND, &mut done);
    let flushed_s = done[0].at as f64 / 1e9;
    assert!((flushed_s / (45.0 * 65536.0 / RATE) - 1.0).abs() < 0.05, "{flushed_s}");
}

#[test]
fn a_flush_with_nothing_to_write_is_done_at_once() {
    let mut disk = Model::hdd(&HddParams { write_cache_bytes: 1 << 20, ..params() }, 1);
    disk.submit(5, Request { id: 1, kind: Kind::Flush, offset: 0, bytes: 0 });
    assert_eq!(disk.next_event(), Some(5));
}

#[test]
fn random_writes_gain_from_being_sorted_in_the_cache() {
    let iops = |write_cache_bytes| {
        run(&HddParams { write_cache_bytes, ..params() }, vec![random(Kind::Write, SIZE, 4096, 1)], 60).iops
    };
    let (without, with) = (iops(0), iops(3 << 20));
    assert!(with > 1.5 * without, "{with} {without}");
}

/// For any mix of requests, the medium never exceeds its rate, every request is answered once, and times are in order.
#[test]
fn no_mix_of_requests_is_faster_than_the_rate() {
    let mut numbers = Numbers(7);
    for round in 0..40 {
        let cache = [0, 100_000, 3 << 20][numbers.below(3) as usize];
        let params = HddParams {
            write_cache_bytes: cache,
            inner_share: 0.6,
            queue_depth: 1 + numbers.below(32) as usize,
            ..params()
        };
        let count = 1 + numbers.below(6);
        let mut clients: Vec<Client> = (0..count)
            .map(|_| Client {
                kind: if numbers.below(2) == 0 { Kind::Read } else { Kind::Write },
                pattern: if numbers.below(2) == 0 {
                    Pattern::Sequential(numbers.below(SIZE / 2) / 4096 * 4096)
                } else {
                    Pattern::Random(SIZE)
                },
                bytes: 4096 << numbers.below(8),
                depth: 1 + numbers.below(8) as usize,
                pause: numbers.below(3) * 1_000_000,
            })
            .collect();
        let mut disk = Model::hdd(&params, round);
        let outcome = drive(&mut disk, &mut clients, 5 * SECOND);
        let on_medium = outcome.bytes_per_s * 5.0 - params.write_cache_bytes as f64;
        // A read may be answered from the cache; those bytes count for the interface, not for the medium.
        let bound = if cache == 0 { RATE * 5.0 * 1.001 + 524_288.0 } else { RATE * 5.0 * 1.3 + 524_288.0 };
        assert!(on_medium <= bound, "round {round}: {on_medium}");
        assert!(disk.stats().busy_s <= 5.3, "round {round}: {:?}", disk.stats());
        assert!(outcome.completions.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let submitted = disk.stats().reads + disk.stats().writes;
        assert_eq!(submitted as usize, outcome.completions.len() + disk.in_flight());
    }
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_seed_others() {
    let completions = |seed| {
        let mut clients = vec![random(Kind::Read, SIZE, 4096, 8), writer(0, 32 * KIB, 2)];
        drive(&mut Model::hdd(&params(), seed), &mut clients, 5 * SECOND).completions
    };
    assert_eq!(completions(1), completions(1));
    assert_ne!(completions(1), completions(2));
}

/// The times of completions do not depend on how often the caller advances the model.
#[test]
fn late_calls_do_not_make_the_device_late() {
    let completions = |step: u64| {
        let mut disk = Model::hdd(&params(), 1);
        for id in 0..64 {
            disk.submit(0, Request { id, kind: Kind::Read, offset: id * 100_000_000 % SIZE, bytes: 65536 });
        }
        let mut done = Vec::new();
        (1..=10 * SECOND / step).for_each(|i| disk.advance(i * step, &mut done));
        done
    };
    assert_eq!(completions(SECOND / 1000), completions(SECOND));
}
