"""A plan executed: order, journal, cold caches, retries, resume."""
