"""Assess runs: outliers, causes of invalid runs, plausible data sizes, precision. Pure."""
