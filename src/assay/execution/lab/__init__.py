"""Emulate a cluster on one machine: capability probe, namespaces and links, disks, journalled removal."""
