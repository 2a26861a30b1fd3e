"""Answer the REST API of the repository."""
