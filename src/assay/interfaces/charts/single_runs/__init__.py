"""Draw single runs: phases, tasks, limits, code, disk traffic and series of a trace."""
