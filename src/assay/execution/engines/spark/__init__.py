"""Provide Spark on top of Hadoop: distribution, settings, programs, daemons, event logs."""
