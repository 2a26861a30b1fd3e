"""Where a run spent its time and what its devices did: phases, tasks, traffic, reasons. Pure."""
