"""Render templates, addresses and charts for all pages."""
