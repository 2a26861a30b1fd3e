"""The command line: it shows, it computes nothing."""
