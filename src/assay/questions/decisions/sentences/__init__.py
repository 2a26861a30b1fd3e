"""Sentences and words of decisions, which the terminal, pages, the API and reports share."""
