"""The Python API: answers of the command line and of the REST API as objects."""
