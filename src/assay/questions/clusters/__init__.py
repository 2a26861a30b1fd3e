"""Answer questions about clusters: hosts, hardware, directories and storage."""
