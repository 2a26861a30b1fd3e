"""Hold runs as a table: columns of codes and values, factors, filters, and rows of imports."""
