"""Time and device use of a run: phases, tasks, traffic, limits, and reasons for differences. Pure."""
