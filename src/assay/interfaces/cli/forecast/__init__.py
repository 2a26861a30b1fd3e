"""Hold the commands that predict the times and costs of unmeasured configurations."""
