"""One module per question: a repository and what was asked in, a frozen answer out. All that faces ask."""
