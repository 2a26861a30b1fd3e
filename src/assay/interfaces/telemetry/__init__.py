"""Send the runs of a campaign to a tracing backend."""
