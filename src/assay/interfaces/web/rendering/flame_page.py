"""Write flame graphs as one HTML file that needs no server, with the script and styles of the web pages inline."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.foundation.output import write_output
from assay.questions.comparisons.flame_graphs import FlameGraphs
from assay.questions.json_values import json_value

_STYLES = ("tokens.css", "flame.css")


def write_flame_page(target: Path, title: str, lines: Sequence[str], answer: FlameGraphs) -> None:
    """Write the file; ``lines`` are sentences below the title."""
    environment = Environment(loader=PackageLoader("assay.interfaces.web"), autoescape=True, undefined=StrictUndefined)
    static = files("assay.interfaces.web").joinpath("static")
    html = environment.get_template("flame_page.html.j2").render(
        title=title,
        lines=lines,
        answer=json_value(answer),
        style="".join(static.joinpath(name).read_text("utf-8") for name in _STYLES),
        script=static.joinpath("flame.js").read_text("utf-8"),
    )
    write_output(target, html.encode("utf-8", "replace"))
