"""The code that the task attempts of a run execute, from profiles. Pure."""
