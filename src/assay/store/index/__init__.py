"""Index the runs of a repository."""
