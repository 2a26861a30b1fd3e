"""Scripts that run on the nodes of a cluster, by whatever Python 3.6 or newer is there."""
