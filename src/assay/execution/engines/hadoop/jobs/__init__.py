"""Submit jobs and read what they did."""
