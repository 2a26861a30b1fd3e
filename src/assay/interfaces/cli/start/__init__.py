"""Hold the commands that a new user runs first."""
