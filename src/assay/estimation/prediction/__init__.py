"""Learn from measured runs: predict times with intervals, explain factors, choose informative runs. Pure."""
