"""Costs in a decision: per run, per job, on the baseline, and the price at which two options cost the same."""
