"""Tables about a run for the terminal, pages and reports."""
