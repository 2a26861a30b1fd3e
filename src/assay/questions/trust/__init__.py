"""Quality of the runs: outliers, and changes over time."""
