"""Hold the commands that compare options and costs."""
