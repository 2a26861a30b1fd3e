"""Answer questions, one module for each question: a repository and a request in, a frozen answer out. Interfaces
show these answers."""
