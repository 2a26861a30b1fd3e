"""Effects of one option on parts of the runs."""
