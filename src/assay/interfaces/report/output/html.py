"""Write a document as one self-contained HTML file, without scripts or network requests; fonts are included.

In: a :class:`ReportDocument`. Out: HTML text. The template escapes every value; charts are rendered as SVG.
"""

import base64
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.interfaces.charts.drawing.fonts import FAMILY, FILES, font_files
from assay.interfaces.report.output.document import Code, Level, Line, ReportDocument, ReportFigure
from assay.interfaces.report.output.drawing import ChartRenderer


def _style() -> Markup:
    text = files("assay.interfaces.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    for weight, name in FILES.items():
        data = base64.b64encode(font_files()[name]).decode("ascii")
        source = f'url("data:font/otf;base64,{data}")'
        text += f'@font-face {{ font-family: "{FAMILY}"; font-weight: {weight}; src: {source}; }}\n'
    return Markup(text)  # noqa: S704 - the package's own file


def html(document: ReportDocument) -> str:
    """Return the document as an HTML page."""
    renderer = ChartRenderer()

    def inline(line: Line) -> Markup:
        return Markup("").join(_part(part) for part in line)

    def _part(part: str | Level | Code) -> Markup:
        if isinstance(part, Level):
            return swatch(part.name, part.text)
        return Markup("<code>{}</code>").format(part.text) if isinstance(part, Code) else escape(part)

    def swatch(name: str, text: str = "") -> Markup:
        colour = document.palette.get(name, "currentColor")
        form = '<span class="level"><span class="swatch" style="background: {}"></span>{}</span>'
        return Markup(form).format(colour, text or name)  # noqa: S704 - a literal; its values are escaped

    def draw(figure: ReportFigure) -> Markup:
        return renderer.draw(figure.make, figure.caption, wide_px=figure.wide_px)

    environment = Environment(
        loader=PackageLoader("assay.interfaces.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(inline=inline, swatch=swatch, draw=draw)
    return environment.get_template("report.html.j2").render(document=document, style=_style())
