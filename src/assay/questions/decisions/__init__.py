"""Decisions: which option is faster, and what does it cost? One answer for every interface."""
