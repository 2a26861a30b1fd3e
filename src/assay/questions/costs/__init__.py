"""Answer what jobs cost, and which hardware is cost-effective."""
