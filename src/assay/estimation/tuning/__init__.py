"""Search for the fastest configuration."""
