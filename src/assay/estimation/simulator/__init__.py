"""The simulated engine: scenarios from plans and profiles, the simulator as a process, runs from its results."""
