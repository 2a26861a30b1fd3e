"""Limits: the resource that limits a run, the limit of a job, and bounds without a resource. Pure."""
