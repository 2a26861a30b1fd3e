"""Install, start and stop Hadoop, or attach to a running Hadoop."""
