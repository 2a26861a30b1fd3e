"""Reach a node: one Transport contract, local and SSH."""
