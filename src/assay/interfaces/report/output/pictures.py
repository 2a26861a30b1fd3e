"""Render charts as SVG, PNG and PDF files, without a browser, fonts of the host, or network requests.

In: figures of a document. Out: text (SVG) or bytes. Files are black on white: ``currentColor`` becomes
:data:`INK_ON_PAPER`.
"""

import json
from collections.abc import Iterator

from assay.interfaces.charts.drawing.style import INK, VEGA_LITE_VERSION, Spec
from assay.interfaces.report.output.document import ReportFigure

INK_ON_PAPER = "#16191d"
PAPER = "#ffffff"
PNG_SCALE = 2.0
"""Pixels of the PNG file per pixel of the chart, in each direction."""


def on_paper(spec: Spec, *, background: str | None = PAPER) -> Spec:
    """Return the specification in fixed colours. ``background``: background colour; None for transparent."""
    paper_spec: Spec = json.loads(json.dumps(spec).replace(INK, INK_ON_PAPER))
    paper_spec["config"] = {**paper_spec["config"], "background": background}
    return paper_spec


def svg(figure: ReportFigure) -> str:
    """Return the chart as SVG."""
    import vl_convert  # imported here: it carries a JavaScript engine

    spec = on_paper(figure.make(figure.wide_px))
    image: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    return image


def png(figure: ReportFigure) -> bytes:
    """Return the chart as PNG."""
    return png_of(figure.make(figure.wide_px))


def png_of(spec: Spec) -> bytes:
    """Return a specification as PNG, scaled by :data:`PNG_SCALE`."""
    import vl_convert

    image: bytes = vl_convert.vegalite_to_png(
        on_paper(spec), vl_version=VEGA_LITE_VERSION, scale=PNG_SCALE, allowed_base_urls=[]
    )
    return image


def pdf(figure: ReportFigure, width_px: int) -> bytes:
    """Return the chart as a PDF page of its size, in vectors with embedded fonts. ``width_px``: width of the chart."""
    import vl_convert

    spec = on_paper(figure.make(width_px), background=None)
    image: bytes = vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    return image


def files(figure: ReportFigure) -> Iterator[tuple[str, bytes]]:
    """Yield the chart's files with their names: SVG and PNG."""
    yield f"{figure.name}.svg", svg(figure).encode()
    yield f"{figure.name}.png", png(figure)
