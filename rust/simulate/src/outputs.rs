//! The outputs of maps for reduces, by node. In a large cluster, reduces fetch from groups of nodes.

use crate::world::NEVER_CACHED;

/// Number of nodes above which reduces fetch from groups of nodes. The nodes of a group take turns.
const GROUPS_MAX: usize = 64;
/// Number of nodes above which a cluster is very large, and the maximum number of its groups. It is smaller than
/// `GROUPS_MAX`, because each reduce fetches from each group.
const VERY_LARGE: usize = 2000;
const GROUPS_OF_VERY_LARGE: usize = 24;

/// The output on a node: bytes over time, with their positions in its page cache.
#[derive(Clone, Debug, Default)]
pub struct NodeOutput {
    pub bytes: f64,
    /// Bytes after each map, and their position in the page cache.
    marks: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Group {
    pub bytes: f64,
    pub maps: u32,
}

#[derive(Debug)]
pub struct Outputs {
    /// Stored output of the whole stage.
    pub expected_bytes: f64,
    pub maps: u32,
    pub maps_done: u32,
    pub nodes: Vec<NodeOutput>,
    pub groups: Vec<Group>,
    group_nodes: usize,
}

impl Outputs {
    pub fn new(expected_bytes: f64, maps: u32, nodes: usize) -> Outputs {
        let groups_max = if nodes > VERY_LARGE { GROUPS_OF_VERY_LARGE } else { GROUPS_MAX };
        let group_nodes = (nodes + groups_max - 1) / groups_max;
        let groups = (nodes + group_nodes - 1) / group_nodes;
        Outputs {
            expected_bytes,
            maps,
            maps_done: 0,
            nodes: vec![NodeOutput::default(); nodes],
            groups: vec![Group::default(); groups],
            group_nodes,
        }
    }

    pub fn add(&mut self, node: u32, bytes: f64, position: f64) {
        let output = &mut self.nodes[node as usize];
        output.bytes += bytes;
        if bytes > 0.0 {
            output.marks.push((output.bytes, position));
        }
        let group = &mut self.groups[node as usize / self.group_nodes];
        group.bytes += bytes;
        group.maps += 1;
        self.maps_done += 1;
    }

    /// Remove the output of a lost node.
    pub fn remove(&mut self, node: u32, maps: u32) {
        let output = std::mem::take(&mut self.nodes[node as usize]);
        let group = &mut self.groups[node as usize / self.group_nodes];
        group.bytes = (group.bytes - output.bytes).max(0.0);
        group.maps -= maps.min(group.maps);
        self.maps_done -= maps.min(self.maps_done);
    }

    /// Whether reduces fetch from each node separately.
    pub fn is_exact(&self) -> bool {
        self.group_nodes == 1
    }

    pub fn is_complete(&self) -> bool {
        self.maps_done >= self.maps
    }

    /// Return the node that serves a fetch from a group: its nodes with output take turns.
    pub fn server(&self, group: usize, turn: usize) -> Option<u32> {
        let first = group * self.group_nodes;
        let count = self.group_nodes.min(self.nodes.len() - first);
        let node = (0..count).map(|i| first + (turn + i) % count).find(|&node| self.nodes[node].bytes > 0.0);
        node.map(|node| node as u32)
    }

    /// Return a position in a node's page cache: that of the byte in the middle between two shares of the node's output.
    pub fn position(&self, node: u32, from: f64, to: f64) -> f64 {
        let output = &self.nodes[node as usize];
        let middle_bytes = output.bytes * (from + to) / 2.0;
        let index = output.marks.partition_point(|&(bytes, _)| bytes < middle_bytes);
        output.marks.get(index).or(output.marks.last()).map_or(NEVER_CACHED, |&(_, position)| position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_nodes_are_fetched_from_one_by_one_and_many_in_groups() {
        let mut few = Outputs::new(10.0, 2, 3);
        few.add(1, 5.0, 7.0);
        assert_eq!(few.groups.len(), 3);
        assert_eq!(few.server(1, 9), Some(1));
        assert_eq!(few.server(0, 0), None);
        assert_eq!(few.position(1, 0.0, 1.0), 7.0);
        let mut many = Outputs::new(10.0, 2, 1000);
        (0..1000).for_each(|node| many.add(node, 1.0, 0.0));
        assert_eq!(many.groups.len(), 63);
        assert_ne!(many.server(5, 0), many.server(5, 1));
        assert_eq!(many.groups.iter().map(|group| group.maps).sum::<u32>(), 1000);
    }
}
