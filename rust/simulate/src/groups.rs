//! Group nodes for totals and traces: in a small cluster each node is a group; in a large cluster the nodes of a rack,
//! or of a type, are a group.

use std::collections::BTreeMap;

use crate::scenario::{NodeType, Scenario};

/// Maximum number of nodes that are shown separately. In larger clusters, devices and totals are shown by type, and
/// traces by group.
pub const NODES_SHOWN: usize = 200;
/// Maximum number of values in all traces of a run, unless every node is requested.
const VALUES_MAX: usize = 2_000_000;
const STEPS_MIN: usize = 300;
const STEPS_MAX: usize = 7200;

/// Nodes of one type, in one rack or in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub kind: usize,
    /// Index of its first node.
    pub first_node: u32,
    pub nodes: u32,
}

#[derive(Debug)]
pub struct Groups {
    pub groups: Vec<Group>,
    /// Group of each node.
    pub of_node: Vec<u32>,
    /// Maximum number of intervals of a run.
    pub steps: usize,
}

impl Groups {
    pub fn of(scenario: &Scenario) -> Groups {
        if scenario.trace_nodes {
            return Groups { steps: usize::MAX, ..groups_by_name(scenario, |_, _, name| name.into()) };
        }
        let mut groups = groups_by_name(scenario, |_, _, name| name.into());
        if groups.groups.len() > NODES_SHOWN {
            let types = &scenario.cluster.types;
            let has_several_types = types.iter().any(|kind| kind.name != types[0].name);
            groups = match scenario.cluster.rack_nodes {
                Some(nodes) => groups_by_name(scenario, |index, kind, _| {
                    let rack = index as u32 / nodes + 1;
                    if has_several_types {
                        format!("rack{rack}-{kind}")
                    } else {
                        format!("rack{rack}")
                    }
                }),
                None => groups,
            };
        }
        if groups.groups.len() > NODES_SHOWN {
            groups = groups_by_name(scenario, |_, kind, _| kind.into());
        }
        let types = &scenario.cluster.types;
        // Four series of CPU and links, and five of each disk.
        let series: usize = groups.groups.iter().map(|group| 4 + 5 * types[group.kind].devices.len()).sum();
        groups.steps = (VALUES_MAX / series.max(1)).clamp(STEPS_MIN, STEPS_MAX);
        groups
    }

    pub fn has_one_node_each(&self) -> bool {
        self.groups.len() == self.of_node.len()
    }
}

/// Return the name of a type. Different types with the same name get a number.
fn type_name(types: &[NodeType], kind: usize) -> String {
    let node_type = &types[kind];
    let devices = |kind: &NodeType| kind.devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>();
    let has_same_hardware = |second: &NodeType| {
        (second.cores, second.cpu_speed) == (node_type.cores, node_type.cpu_speed)
            && devices(second) == devices(node_type)
    };
    let mut same_name = types.iter().filter(|second| second.name == node_type.name);
    let is_first = same_name.next().map_or(true, has_same_hardware);
    if is_first {
        node_type.name.clone()
    } else {
        format!("{}-{}", node_type.name, kind + 1)
    }
}

/// Group nodes by name; the nodes of a group have one type. `name_of` returns the name of a node's group from the
/// node's index, type and name.
fn groups_by_name(scenario: &Scenario, name_of: impl Fn(usize, &str, &str) -> String) -> Groups {
    let mut indices: BTreeMap<String, u32> = BTreeMap::new();
    let mut result = Groups { groups: Vec::new(), of_node: Vec::new(), steps: STEPS_MAX };
    for (kind, spec) in scenario.cluster.types.iter().enumerate() {
        let type_name = type_name(&scenario.cluster.types, kind);
        for node_name in &spec.names {
            let node = result.of_node.len();
            let name = name_of(node, &type_name, node_name);
            let index = *indices.entry(name).or_insert_with_key(|name| {
                result.groups.push(Group { name: name.clone(), kind, first_node: node as u32, nodes: 0 });
                result.groups.len() as u32 - 1
            });
            result.groups[index as usize].nodes += 1;
            result.of_node.push(index);
        }
    }
    result
}
