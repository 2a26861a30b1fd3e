"""Answer how far the runs can be trusted."""
