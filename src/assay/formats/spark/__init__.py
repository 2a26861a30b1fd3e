"""Spark's event logs."""
