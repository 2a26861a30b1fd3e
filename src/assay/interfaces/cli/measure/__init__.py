"""Hold the commands that execute and observe runs."""
