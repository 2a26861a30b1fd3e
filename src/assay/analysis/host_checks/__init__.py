"""Is a host fit to be measured? Judged from its survey: pure, one module per kind of thing, all in `catalogue.py`."""
