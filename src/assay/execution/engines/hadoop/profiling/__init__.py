"""Profile the task attempts of a job."""
