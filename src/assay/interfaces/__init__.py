"""Render answers on the terminal, on web pages, in reports and as charts. Interfaces compute nothing."""
