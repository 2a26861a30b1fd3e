"""Estimate times that were not measured: simulator, profiles, prediction, tuning, recommendation."""
