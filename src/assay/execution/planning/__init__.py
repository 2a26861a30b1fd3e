"""From a plan to its runs: order, room, estimates, limits. Pure."""
