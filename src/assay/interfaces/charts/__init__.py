"""One function per chart: data in, Vega-Lite specification out."""
