"""Hold what several workloads share: options, inputs, checks, queries."""
