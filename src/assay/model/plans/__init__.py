"""Describe plans, engine rules and workload profiles."""
