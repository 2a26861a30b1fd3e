"""Compare levels of a factor: speedups with intervals and verdicts, and what else differed. Pure."""
