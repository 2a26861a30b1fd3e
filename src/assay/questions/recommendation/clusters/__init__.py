"""Clusters of a recommendation: their disk capacity, the choices without a price, and one cluster with its figures."""
