"""Answer questions about runs, clusters and campaigns."""
