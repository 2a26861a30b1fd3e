"""Which runs and histories are to be trusted: odd runs, changes over time, precision reached. Pure."""
