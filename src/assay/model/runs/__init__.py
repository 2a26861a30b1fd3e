"""Describe runs, traces and environments."""
