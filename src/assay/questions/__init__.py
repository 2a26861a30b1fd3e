"""Answer questions, one module for each: a repository and a request in, a frozen answer for every interface out."""
