"""Hold the commands that list and explain runs."""
