"""Import Hadoop's records: job histories and configuration."""
