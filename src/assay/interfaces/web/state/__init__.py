"""Hold the server's cached data of its repository between requests."""
