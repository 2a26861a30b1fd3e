"""Render charts as SVG, PNG and PDF files, without a browser, the host's fonts, or a request.

In: figures of a document. Out: bytes. Files are black on white: ``currentColor`` becomes ink.
"""

import json
from collections.abc import Iterator

from assay.interfaces.charts.drawing.style import INK, VEGA_LITE_VERSION, Spec
from assay.interfaces.report.output.document import ReportFigure

INK_ON_PAPER = "#16191d"
PAPER = "#ffffff"
PNG_SCALE = 2.0
"""Pixels of a PNG per pixel of the chart."""


def on_paper(spec: Spec, *, ground: str | None = PAPER) -> Spec:
    """Return the specification in fixed colours; ``ground``: background, None for transparent."""
    printed: Spec = json.loads(json.dumps(spec).replace(INK, INK_ON_PAPER))
    printed["config"] = {**printed["config"], "background": ground}
    return printed


def svg(figure: ReportFigure) -> str:
    """Return the chart as SVG."""
    import vl_convert  # imported here: it carries a JavaScript engine

    spec = on_paper(figure.make(figure.wide_px))
    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    return drawn


def png(figure: ReportFigure) -> bytes:
    """Return the chart as PNG, scaled by :data:`PNG_SCALE`."""
    import vl_convert

    spec = on_paper(figure.make(figure.wide_px))
    drawn: bytes = vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE_VERSION, scale=PNG_SCALE, allowed_base_urls=[])
    return drawn


def pdf(figure: ReportFigure, width_px: int) -> bytes:
    """Return the chart as a PDF page of its size: vectors, with embedded fonts."""
    import vl_convert

    spec = on_paper(figure.make(width_px), ground=None)
    drawn: bytes = vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    return drawn


def files(figure: ReportFigure) -> Iterator[tuple[str, bytes]]:
    """Yield the chart's files with their names: SVG and PNG."""
    yield f"{figure.name}.svg", svg(figure).encode()
    yield f"{figure.name}.png", png(figure)
