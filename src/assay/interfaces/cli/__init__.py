"""Define the command line: it shows answers and computes nothing."""
