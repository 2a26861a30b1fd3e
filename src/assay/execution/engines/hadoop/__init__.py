"""Provide Hadoop: distribution, configuration files, daemons, job submission."""
