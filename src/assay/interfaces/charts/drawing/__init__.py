"""Hold what all charts share: style, colours, labels, fonts."""
