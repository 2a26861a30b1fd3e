"""Recommendations of a cluster for a mix of workloads."""
