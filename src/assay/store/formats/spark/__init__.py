"""Spark's event logs as runs: codecs, events, parameters."""
