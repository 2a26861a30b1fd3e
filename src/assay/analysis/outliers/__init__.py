"""Quality of runs: outliers, causes of invalid runs, implausible data sizes, precision. Pure."""
