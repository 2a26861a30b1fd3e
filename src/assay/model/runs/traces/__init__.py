"""Traces: time series observed during a run, their counters, and the bytes of streams."""
