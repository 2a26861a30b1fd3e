//! Traces: counters of each node or group of nodes at even intervals.

use crate::activity::{Limit, LIMITS};
use crate::groups::Group;
use crate::series::Series;
use crate::sim::Sim;
use crate::text::Text;

pub fn write_traces(text: &mut Text, sim: &Sim) {
    let groups = &sim.world.groups;
    let interval_s = interval_s(sim);
    let count = (sim.end_s / interval_s).ceil() as usize;
    let times = (0..=count).map(|i| (i as f64 * interval_s).min(sim.end_s));
    text.values("trace_t_s", times);
    if !groups.has_one_node_each() {
        node_groups(text, sim);
    }
    text.open(Some("traces"), '[');
    for group in &groups.groups {
        group_traces(text, sim, group, (interval_s, count));
    }
    text.close(']');
    text.open(Some("limits_over_time"), '[');
    for (series, (limit, name)) in sim.engine.limit_traces().iter().zip(LIMITS) {
        if limit == Limit::Containers {
            continue;
        }
        text.open(None, '{');
        text.text("limit", name);
        text.values("values", (0..count).map(|i| series.over(i, interval_s)));
        text.close('}');
    }
    text.close(']');
}

/// Return the longest interval of all series.
fn interval_s(sim: &Sim) -> f64 {
    let mut longest = sim.scenario.trace_interval_s;
    let mut include = |series: &Series| longest = longest.max(series.interval_s());
    sim.engine.limit_traces().iter().for_each(&mut include);
    for group in &sim.world.groups.groups {
        let node = &sim.world.nodes[group.first_node as usize];
        let links = [node.link_in, node.link_out].map(|link| sim.engine.link(link).trace());
        for shared in [sim.engine.cpu(group.first_node).trace()].into_iter().chain(links).flatten() {
            include(&shared.borrow());
        }
        for disk in &node.disks {
            if let Some(traces) = &sim.engine.disk(*disk).totals.traces {
                let traces = traces.borrow();
                [&traces.read, &traces.written, &traces.busy].into_iter().for_each(&mut include);
            }
        }
    }
    longest
}

/// Write the groups with their numbers of nodes, and the group of each node, run-length encoded: group, number of
/// consecutive nodes.
fn node_groups(text: &mut Text, sim: &Sim) {
    let groups = &sim.world.groups;
    text.open(Some("node_groups"), '{');
    text.texts("names", groups.groups.iter().map(|group| group.name.as_str()));
    text.values("nodes", groups.groups.iter().map(|group| f64::from(group.nodes)));
    let mut rows: Vec<(u32, u32)> = Vec::new();
    for &group in &groups.of_node {
        match rows.last_mut() {
            Some((last_group, count)) if *last_group == group => *count += 1,
            _ => rows.push((group, 1)),
        }
    }
    text.values("in_a_row", rows.iter().flat_map(|&(group, count)| [f64::from(group), f64::from(count)]));
    text.close('}');
}

/// Counters of a group: sums over its nodes; for the busy time of disks, the mean.
fn group_traces(text: &mut Text, sim: &Sim, group: &Group, (interval_s, count): (f64, usize)) {
    let mut trace = |subject: &str, metric: &str, value: &dyn Fn(usize) -> f64| {
        text.open(None, '{');
        text.text("node", &group.name);
        text.text("subject", subject);
        text.text("metric", metric);
        text.truth("counter", true);
        let mut sum = 0.0;
        let sums = std::iter::once(0.0).chain((0..count).map(|i| {
            sum += value(i);
            sum
        }));
        text.values("values", sums);
        text.close('}');
    };
    let node = &sim.world.nodes[group.first_node as usize];
    let kind = &sim.scenario.cluster.types[group.kind];
    let nodes = f64::from(group.nodes);
    if let Some(cpu) = sim.engine.cpu(group.first_node).trace() {
        let cpu = cpu.borrow();
        let end_s = sim.end_s;
        let length_s = move |i: usize| (end_s - i as f64 * interval_s).min(interval_s);
        let used_s = |i: usize| cpu.over(i, interval_s) / kind.cpu_speed;
        trace("cpu", "user_s", &used_s);
        trace("cpu", "idle_s", &|i| (nodes * kind.cores * length_s(i) - used_s(i)).max(0.0));
    }
    for (link, metric) in [(node.link_in, "receive_bytes"), (node.link_out, "transmit_bytes")] {
        if let Some(link) = sim.engine.link(link).trace() {
            let link = link.borrow();
            trace("nic:eth0", metric, &|i| link.over(i, interval_s));
        }
    }
    for (&disk, device) in node.disks.iter().zip(&kind.devices) {
        if let Some(traces) = &sim.engine.disk(disk).totals.traces {
            let traces = traces.borrow();
            let subject = format!("disk:{}", device.name);
            let request = device.request_bytes.min(device.readahead_bytes);
            trace(&subject, "read_bytes", &|i| traces.read.over(i, interval_s));
            trace(&subject, "write_bytes", &|i| traces.written.over(i, interval_s));
            trace(&subject, "reads", &|i| traces.read.over(i, interval_s) / request);
            trace(&subject, "writes", &|i| traces.written.over(i, interval_s) / request);
            trace(&subject, "busy_s", &|i| traces.busy.over(i, interval_s) / nodes);
        }
    }
}
