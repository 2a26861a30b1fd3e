"""Details of decisions: matched groups, runs side by side, example runs, published claims."""
