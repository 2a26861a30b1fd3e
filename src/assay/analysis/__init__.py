"""Pure computation on values, without I/O: statistics, comparisons, costs, outliers, profiles of runs."""
