"""Claims of the published studies, tested with the estimates of decisions."""
