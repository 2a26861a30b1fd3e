"""Serve a REST API and web pages for a repository. Both show answers and compute nothing."""
