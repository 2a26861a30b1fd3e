"""Derive factors that runs do not record as such."""
