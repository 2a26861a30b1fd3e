"""Execute a plan: order, journal, cold caches, retries, resume."""
