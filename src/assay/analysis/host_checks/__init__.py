"""Checks whether hosts are fit for measurements, from their surveys. ``catalogue.py`` lists all checks. Pure."""
