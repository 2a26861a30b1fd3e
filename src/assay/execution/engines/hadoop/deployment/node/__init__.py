"""Programs that run on the nodes with whatever Python 3 is there; they import nothing but the standard library."""
