"""Costs from price books and runs. Pure."""
