"""Scripts that run on the nodes of a cluster, with any Python from 3.6."""
