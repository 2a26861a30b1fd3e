"""Read the stacks of profilers' files."""
