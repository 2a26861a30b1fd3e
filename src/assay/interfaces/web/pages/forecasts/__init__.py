"""Render the pages of times that were not measured: What if, Learned and Tuning."""
