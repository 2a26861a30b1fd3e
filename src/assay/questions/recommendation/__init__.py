"""Answer which cluster fits a mix of workloads."""
