"""Emulate the disks of a lab's nodes: a modelled disk of the disk daemon, or a throttled loop device."""
