"""Serve a REST API and pages over one repository. They show answers and compute nothing."""
