"""Cache the repository's data and answers between requests."""
