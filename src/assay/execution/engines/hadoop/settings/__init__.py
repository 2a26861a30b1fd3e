"""Compute Hadoop's configuration files."""
