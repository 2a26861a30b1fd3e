"""Details of a comparison: its groups, and the differences between its sides."""
