"""Compute from values alone: statistics, comparisons, costs, outliers, profiles of runs. No I/O."""
