"""Hold the commands that estimate what was not measured."""
