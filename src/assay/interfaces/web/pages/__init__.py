"""Render the pages of the web application."""
