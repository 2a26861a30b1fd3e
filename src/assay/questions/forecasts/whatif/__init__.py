"""What-if: run times and costs of measured configurations with changed settings or hardware."""
