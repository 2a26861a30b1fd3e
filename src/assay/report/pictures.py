"""Charts as files of their own: SVG, PNG and PDF, rendered without a browser, a font of the host, or a request.

In: figures of a document. Out: bytes. A file stands on paper, so what takes a page's colour (``currentColor``) is ink
there, and the ground is white.
"""

import json
from collections.abc import Iterator

from assay.charts.style import INK, VEGA_LITE_VERSION, Spec
from assay.report.document import ReportFigure

INK_ON_PAPER = "#16191d"
PAPER = "#ffffff"
PNG_SCALE = 2.0
"""Pixels of a PNG for one of the drawing's."""


def on_paper(spec: Spec, *, ground: str | None = PAPER) -> Spec:
    """Return the specification in colours of its own; ``ground``: its background, None for none."""
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
    """Return the chart as PNG, :data:`PNG_SCALE` pixels for each of its own."""
    import vl_convert

    spec = on_paper(figure.make(figure.wide_px))
    drawn: bytes = vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE_VERSION, scale=PNG_SCALE, allowed_base_urls=[])
    return drawn


def pdf(figure: ReportFigure, width_px: int) -> bytes:
    """Return the chart as a page of PDF that is as large as itself: vectors, with the letters that it needs."""
    import vl_convert

    spec = on_paper(figure.make(width_px), ground=None)
    drawn: bytes = vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    return drawn


def files(figure: ReportFigure) -> Iterator[tuple[str, bytes]]:
    """Yield the chart's files with their names: SVG and PNG."""
    yield f"{figure.name}.svg", svg(figure).encode()
    yield f"{figure.name}.png", png(figure)
