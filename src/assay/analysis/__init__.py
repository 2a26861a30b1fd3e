"""Pure statistics over runs: ratios with intervals, phases, throughputs, verdicts."""
