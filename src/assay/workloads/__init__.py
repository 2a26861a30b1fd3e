"""Define the workloads, one module each: its programs, its input, and the checks of its output."""
