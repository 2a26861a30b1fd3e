"""Learned from the repository: expected times with intervals, what matters, what to run next. Pure over run tables."""
