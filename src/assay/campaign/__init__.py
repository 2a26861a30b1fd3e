"""A plan carried out: order, journal, cold caches, retries, resume."""
