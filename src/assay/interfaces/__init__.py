"""Render answers: terminal, web, report, charts. Compute nothing."""
