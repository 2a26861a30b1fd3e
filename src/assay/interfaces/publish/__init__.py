"""Publish a repository as a static site: pages, data and downloads that need no server."""
