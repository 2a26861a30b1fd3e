"""Judge published claims on matched groups."""
