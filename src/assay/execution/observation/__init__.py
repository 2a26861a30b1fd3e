"""What nodes tell: the sampler, the environment, cold caches, device and link baselines."""
