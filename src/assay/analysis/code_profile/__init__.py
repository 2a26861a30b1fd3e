"""Find which code the task attempts of a run execute, from profiles. Pure."""
