"""Options, inputs, checks and queries that several workloads use."""
