"""List the candidate clusters of a recommendation, and compute lower bounds of their run times."""
