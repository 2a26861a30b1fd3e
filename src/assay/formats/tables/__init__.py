"""Tables and dumps of databases with a run a line, and results as publications print them."""
