"""Turn a plan into runs: order, device space, time estimates, limits. Pure."""
