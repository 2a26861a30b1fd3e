"""Learn workload profiles from measured runs."""
