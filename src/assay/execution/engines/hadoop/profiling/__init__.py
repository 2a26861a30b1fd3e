"""Record which code the task attempts of a job execute."""
