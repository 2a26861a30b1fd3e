"""Serve HTTP: limits, sign-in, log."""
