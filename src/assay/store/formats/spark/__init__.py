"""Import Spark's event logs: codecs, events, parameters."""
