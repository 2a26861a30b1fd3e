"""Import tables and database dumps with one run per line, and results printed in publications."""
