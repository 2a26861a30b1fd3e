"""The cost of jobs, and the cost-effectiveness of hardware."""
