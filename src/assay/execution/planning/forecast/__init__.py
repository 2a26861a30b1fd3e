"""Forecast the time, space and limits of a plan."""
