"""Describe clusters, devices, layouts and prices."""
