"""Bundles, index, queries and the integrity check."""
