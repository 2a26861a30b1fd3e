"""Define the style, colours, labels and fonts that all charts share."""
