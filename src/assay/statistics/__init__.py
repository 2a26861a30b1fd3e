"""Intervals, ranks and moments; runs as columns, and which of them belong together. Pure."""
