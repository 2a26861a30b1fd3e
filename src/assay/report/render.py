"""The report as one HTML file that needs nothing else: no script, no font, no request to any host.

In: a :class:`ReportContent`. Out: HTML text. The template escapes every value; charts are drawn beforehand as SVG.
"""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.charts.runs import PURPOSE_TITLES
from assay.charts.style import colours
from assay.charts.times import THROUGHPUT_TITLES
from assay.report import words
from assay.report.content import ReportContent
from assay.report.figures import draw_figures

THROUGHPUT_MEANINGS = {
    "per_stream_mb_per_s": "Bytes over the sum of the tasks' own I/O times: what one file's stream gets while others "
    'run beside it. Stock TestDFSIO prints it as "Throughput".',
    "gated_aggregate_mb_per_s": "The whole cluster's rate, averaged over those seconds in which at least half of the "
    "largest number of tasks was active. Each task's bytes are spread evenly over its time. Enhanced DFSIO's idea.",
    "job_throughput_mb_per_s": "The job's data over its wall time, with start-up and stragglers: what a user gets.",
}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        seconds=words.seconds, rate=words.rate, ratio=words.ratio, money=words.money, count=words.count,
        moment=words.moment, title=words.workload_title, assay_version=words.assay_version,
        size=words.size, share=words.share, in_brackets=words.in_brackets,
    )  # fmt: skip
    environment.globals.update(
        interval=words.interval, money_interval=words.money_interval, origin_text=words.origin_text,
        throughput_titles=THROUGHPUT_TITLES, throughput_meanings=THROUGHPUT_MEANINGS, purpose_titles=PURPOSE_TITLES,
    )  # fmt: skip
    return environment


def render_report(content: ReportContent) -> str:
    """Return the report as one self-contained HTML page."""
    style = files("assay.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            content=content,
            figures=draw_figures(content),
            palette=colours(content.levels),
            style=Markup(style),  # noqa: S704 - the package's own file
        )
    )
