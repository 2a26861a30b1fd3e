"""Hadoop's own records: job histories and configuration."""
