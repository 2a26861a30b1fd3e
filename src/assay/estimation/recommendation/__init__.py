"""Propose the candidates of a recommendation."""
