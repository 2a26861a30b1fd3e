//! Properties of every simulation: no byte is lost, more hardware is not slower, the same seed gives the same result.

use crate::support::{list, number, Case, HDD, SSD};

#[test]
fn every_byte_is_moved_and_counted_once() {
    for fidelity in ["flows", "requests"] {
        for model in [HDD, SSD] {
            let case = Case { fidelity, detail: "tasks", ..Case::new(model) };
            let result = case.run();
            let counter = |name: &str| number(&result, &["counters", name]);
            let assert_counted = |name: &str, bytes: f64| {
                let counted = counter(name);
                assert!((counted / bytes - 1.0).abs() < 1e-6, "{fidelity} {name}: {counted} instead of {bytes}");
            };
            assert_counted("dfs_read_bytes", case.bytes);
            assert_counted("shuffle_bytes", case.bytes);
            assert_counted("dfs_write_bytes", case.bytes);
            assert_counted("dfs_replica_write_bytes", 3.0 * case.bytes);
            // Read from disks: input that was not cached. Shuffled data fits into the page caches.
            let read = counter("disk_read_bytes");
            assert!((read / case.bytes - 1.0).abs() < 0.05, "{fidelity}: {read} read");
            // Written: copies and intermediate data, without the bytes that were dirty at the end or deleted before.
            let written_max = counter("dfs_replica_write_bytes") + counter("intermediate_write_bytes");
            let written = counter("disk_write_bytes");
            assert!(written <= written_max * 1.001 && written > 0.9 * written_max, "{fidelity}: {written} written");
            let task_bytes: f64 =
                list(&result, "tasks").iter().map(|task| number(task, &["counters", "dfs_write_bytes"])).sum();
            assert!((task_bytes / case.bytes - 1.0).abs() < 1e-6);
            let sent: f64 = list(&result, "nodes").iter().map(|node| number(node, &["nic_out_bytes"])).sum();
            let received: f64 = list(&result, "nodes").iter().map(|node| number(node, &["nic_in_bytes"])).sum();
            assert!((sent / received - 1.0).abs() < 1e-6 && (sent / counter("network_bytes") - 1.0).abs() < 1e-6);
        }
    }
}

#[test]
fn the_same_scenario_has_the_same_result_and_another_seed_another() {
    let case = Case { detail: "traces", ..Case::new(HDD) };
    assert_eq!(case.text(), case.text());
    let requests = Case { fidelity: "requests", ..Case::new(HDD) };
    assert_eq!(requests.text(), requests.text());
    assert_ne!(case.seconds(), Case { seed: 2, ..case.clone() }.seconds());
}

/// Mean over seeds, because the time with a single seed depends on its random placement.
fn mean_s(case: &Case) -> f64 {
    (1..=6).map(|seed| Case { seed, ..case.clone() }.seconds()).sum::<f64>() / 6.0
}

#[test]
fn more_hardware_is_never_much_slower() {
    let base = Case::new(HDD);
    let base_s = mean_s(&base);
    let faster_disk = base.model.replace("_per_s\":6e6", "_per_s\":12e6");
    let cases = [
        ("disk bandwidth", Case { model: faster_disk, ..base.clone() }),
        ("disks", Case { disks: 4, ..base.clone() }),
        ("network", Case { nic: 600e6, ..base.clone() }),
        ("cores", Case { cores: 16.0, ..base.clone() }),
        ("nodes", Case { nodes: 6, ..base.clone() }),
        ("flash", Case { model: SSD.into(), ..base.clone() }),
    ];
    for (change, case) in cases {
        let more_s = mean_s(&case);
        assert!(more_s < base_s * 1.05, "more {change}: {more_s} s instead of {base_s} s");
    }
    let doubled_s = mean_s(&Case { bytes: 600e6, maps: 24, ..base.clone() });
    assert!(doubled_s > 1.6 * base_s && doubled_s < 2.6 * base_s, "{doubled_s} for twice {base_s}");
}

#[test]
fn each_resource_can_be_the_limit() {
    let limit = |case: &Case, name: &str| number(&case.run(), &["limits", "shares", name]);
    let fast = Case::new(&SSD.replace("25e6", "2500e6").replace("23e6", "2300e6"));
    assert!(limit(&Case { cores: 0.2, ..fast.clone() }, "cpu") > 0.8);
    assert!(limit(&Case { nic: 1e6, ..fast }, "network") > 0.7);
    let disks = Case::new(HDD).run();
    let shares = |name: &str| number(&disks, &["limits", "shares", name]);
    assert!(shares("disk:dfs") + shares("disk:intermediate") > 0.8);
}

#[test]
fn a_small_page_cache_sends_the_shuffle_to_the_disks() {
    let large = Case::new(HDD).run();
    let small = Case { cache: 20e6, ..Case::new(HDD) }.run();
    let read = |result| number(result, &["counters", "disk_read_bytes"]);
    assert!(read(&small) > 1.6 * read(&large));
    assert!(number(&small, &["duration_s"]) > number(&large, &["duration_s"]));
}

#[test]
fn a_failed_node_costs_time_and_no_bytes_of_the_output() {
    let healthy = Case { nodes: 5, ..Case::new(SSD) };
    let extra_members = r#""failures":[{"node":"w2","at_s":5}],"#.to_string();
    let failing = Case { extra_members, ..healthy.clone() };
    let text = failing.json().replace("\"job_submit_s\":1", "\"job_submit_s\":1,\"failure_detect_s\":5");
    let result = assay_simulate::answer(&text, &mut assay_simulate::Tables::default(), || 0.0);
    let result = assay_spec::json::parse(&result).unwrap();
    let (failing_s, healthy_s) = (number(&result, &["duration_s"]), healthy.seconds());
    assert!(failing_s > healthy_s, "{failing_s} s instead of {healthy_s} s");
    assert!(number(&result, &["counters", "dfs_write_bytes"]) >= 300e6 * 0.999);
    assert!(number(&result, &["counters", "killed_attempts"]) > 0.0);
}

#[test]
fn speculation_shortens_runs_with_stragglers() {
    let noise = r#""noise":{"straggler_share":0.08,"straggler_factor":30},"#.to_string();
    let slow = Case { extra_members: noise, cores: 16.0, ..Case::new(SSD) };
    let plain_s = mean_s(&Case::new(SSD));
    let slow_s = mean_s(&slow);
    let speculated_s = |seed: u32| {
        let text = Case { seed, ..slow.clone() }.json();
        let text = text.replace("\"job_submit_s\"", "\"speculation\":true,\"job_submit_s\"");
        let answer = assay_simulate::answer(&text, &mut assay_simulate::Tables::default(), || 0.0);
        number(&assay_spec::json::parse(&answer).unwrap(), &["duration_s"])
    };
    let mean_speculated_s = (1..=6).map(speculated_s).sum::<f64>() / 6.0;
    assert!(
        slow_s > plain_s && mean_speculated_s < slow_s,
        "{plain_s} s, {slow_s} s with stragglers, {mean_speculated_s} s speculated"
    );
}
