"""Read and write plan files."""
