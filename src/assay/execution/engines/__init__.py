"""Engines: what runs jobs on hosts."""
