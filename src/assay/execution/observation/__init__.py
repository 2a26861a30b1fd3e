"""Observe nodes: sampler, environment, cold caches, baselines of devices and links."""
