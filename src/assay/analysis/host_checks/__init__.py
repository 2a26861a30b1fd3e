"""Check whether hosts are fit to be measured, from their surveys. `catalogue.py` has all checks. Pure."""
