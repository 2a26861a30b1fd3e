"""Import, export, push and pull runs."""
