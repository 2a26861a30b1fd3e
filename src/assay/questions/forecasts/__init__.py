"""Answer questions about times that were not measured."""
