"""Draw charts, with one function per chart: data in, Vega-Lite specification out."""
