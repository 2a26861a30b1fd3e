"""Answer questions about details below a decision: groups, sides, causes, claims."""
