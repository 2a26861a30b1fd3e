"""The report: the decisions first, then the details that the repository holds."""
