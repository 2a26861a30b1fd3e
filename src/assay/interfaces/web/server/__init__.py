"""Serve HTTP, with connection limits, sign-in and a rate-limited log."""
