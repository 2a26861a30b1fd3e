"""Hold the commands that import, export and sign runs."""
