"""Provide units, errors, processes, output files and installation paths to every package."""
