"""Predictions and simulations of run times that were not measured."""
