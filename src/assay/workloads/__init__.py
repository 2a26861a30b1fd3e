"""One module per workload: its command, its input, and what a valid output is."""
