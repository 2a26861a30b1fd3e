"""What the ALOJA platform left: tables, dumps, run folders."""
