"""Questions, one module for each. In: a repository and a request. Out: a frozen answer that every interface shows."""
