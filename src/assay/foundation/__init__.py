"""Hold what every package needs: units, errors, processes, output files, installation paths."""
