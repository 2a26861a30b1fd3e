"""Write, check, sign and name bundles."""
