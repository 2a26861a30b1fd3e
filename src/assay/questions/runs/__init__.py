"""Runs and campaigns: lists, details and quality."""
