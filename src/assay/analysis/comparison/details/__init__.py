"""Describe what differs between the sides of a comparison."""
