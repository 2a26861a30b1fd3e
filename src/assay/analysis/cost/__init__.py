"""Pure arithmetic over price books and runs."""
