"""Runs, clusters and campaigns: lists, details and quality."""
