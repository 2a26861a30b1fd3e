"""Submit jobs and read their histories."""
