"""Import results of the ALOJA platform: tables, dumps, run folders."""
