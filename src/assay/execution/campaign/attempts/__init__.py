"""Execute one attempt at a run."""
