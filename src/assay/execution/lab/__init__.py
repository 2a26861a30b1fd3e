"""The emulated cluster: capability probe, namespaces and links, disks, journalled teardown."""
