"""How much faster one level of a factor is than another, how sure that is, and what else differed. Pure."""
