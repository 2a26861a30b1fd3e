"""Lay out what a run did as tables that fit a page."""
