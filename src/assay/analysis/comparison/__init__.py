"""Comparisons of levels of a factor: speedups with intervals and verdicts, and other differences. Pure."""
