"""Compute costs from price books and runs. Pure."""
