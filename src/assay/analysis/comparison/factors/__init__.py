"""Factors that are derived from recorded columns."""
