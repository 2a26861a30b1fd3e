"""Frozen values that all rooms share: cluster, layout, plan, run, trace, baseline, price. No I/O, no clock."""
