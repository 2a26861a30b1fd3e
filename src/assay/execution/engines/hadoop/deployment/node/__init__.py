"""Scripts that run on nodes with Python 3.6 or newer and only the standard library."""
