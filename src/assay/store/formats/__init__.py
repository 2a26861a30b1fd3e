"""One parser per foreign format; each takes text or bytes and returns values."""
