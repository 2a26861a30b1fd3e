"""Hold what the server knows of its repository between requests."""
