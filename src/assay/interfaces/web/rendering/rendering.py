"""Render pages from templates, and serve styles, scripts and the chart library. All are read when the server starts.

In: values of ``assay.questions``. Out: HTML. Nothing is computed here.
"""

import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.run_profile.tables.limits_tables import limit_title
from assay.foundation.errors import AssayError
from assay.foundation.units import format_bytes, format_duration
from assay.interfaces.charts.drawing.fonts import font_files
from assay.interfaces.charts.drawing.identity import SHAPE_PATHS, shape_of, shapes_of
from assay.interfaces.web.rendering.navigation import AREAS, area_at
from assay.interfaces.web.rendering.vega import Script, versions
from assay.questions.comparisons.code_difference import difference_notes, difference_sentence, difference_tables
from assay.questions.comparisons.flame_graphs import DIFFERENCE_TEXT, WIDTH_TEXT
from assay.questions.comparisons.result_sentences import counters_text, different_jobs_text, name_of, side_sentence
from assay.questions.decisions.sentences.curve_text import curve_table
from assay.questions.decisions.sentences.decision_sentences import row_verdict, verdict_note
from assay.questions.decisions.sentences.estimate_text import basis_text
from assay.questions.decisions.sentences.option_words import compared_option, option_text
from assay.questions.runs import task_durations
from assay.questions.runs.code_profiles.code_profile import profile_basis, profile_sentence, profile_tables
from assay.text import amounts, language, layout_text, meanings, metric_text, metric_title, numbers, ratios, titles

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "otf": "font/otf",
}
_CHART_SCRIPT = "vega.js"
_CODE = re.compile(r"`([^`]+)`")


class NotFoundError(AssayError):
    """The requested address does not exist."""


class Rendering:
    """Templates, styles and scripts of a server. The constructor starts to build the chart library."""

    def __init__(self) -> None:
        self._templates = _environment()
        folder = files("assay.interfaces.web").joinpath("static")
        asset_files = sorted(
            (item for item in folder.iterdir() if _extension(item.name) in TYPES), key=lambda item: item.name
        )
        self._assets = {item.name: item.read_bytes() for item in asset_files} | font_files()  # app.css names these
        self._stamp = hashlib.sha256(b"".join(self._assets.values())).hexdigest()[:12]
        """Hash of the styles and scripts, as part of their addresses."""
        self._chart_script = Script()
        self._chart_script.prepare()

    def html(self, name: str, **values: Any) -> str:
        """Return a page, or a part of a page, from its template."""
        return self._templates.get_template(f"{name}.html.j2").render(vega=versions(), assets=self._stamp, **values)

    def assets(self) -> Mapping[str, bytes]:
        """Return the styles, scripts and fonts by name, without the chart library."""
        return self._assets

    def asset(self, stamp: str, name: str) -> tuple[bytes, str]:
        """Return content and media type of a style, script or font. Raises NotFoundError for another name or stamp.

        Files are in memory: ``name`` never reaches the file system.
        """
        if name == _CHART_SCRIPT and stamp == versions():
            return self._chart_script.text(), TYPES["js"]
        if name not in self._assets or stamp != self._stamp:
            raise NotFoundError("there is no such file")
        return self._assets[name], TYPES[_extension(name)]


def prose(text: str) -> Markup:
    """Return a message as HTML, with text between backticks as code."""
    parts = _CODE.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def _extension(name: str) -> str:
    return name.rpartition(".")[2]


def _origin_of_claims(key: str) -> str:
    """Return the badge for the origin of findings, for example ``measured, lab scale 0.05``."""
    name, _, scale = key.partition(", lab scale ")
    return titles.origin_badge(name, scale)


def _shape_path(level: str, colours: Mapping[str, str] | None = None) -> str:
    """Return the shape of a level as an SVG path; with ``colours``, the shape that charts of these levels have."""
    return SHAPE_PATHS[shapes_of(colours or {}).get(level, shape_of(level))]


def _environment() -> Environment:
    loader = PackageLoader("assay.interfaces.web")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        seconds=numbers.seconds,
        ratio=ratios.ratio,
        money=amounts.money,
        price_text=amounts.price_text,
        moment=language.moment,
        title=titles.workload_title,
        jobs=numbers.jobs_text,
        bytes=format_bytes,
        duration=format_duration,
        short=titles.run_id_text,
        first_capital=language.capitalised,
        query=urlencode,
        segment=lambda text: quote(str(text), safe=""),
        setting=titles.setting_text,
        scale=lambda text: titles.scale_text(float(text)),
        prose=prose,
    )
    environment.globals.update(
        interval=ratios.interval,
        interval_s=numbers.interval_s,
        seconds_texts=numbers.seconds_texts,
        money_texts=amounts.money_texts,
        money_interval=amounts.money_interval,
        metric_text=metric_text,
        metric_title=metric_title,
        facet_title=titles.column_title,
        level_text=titles.level_text,
        data_text=titles.data_text,
        settings_text=titles.settings_text,
        origin=titles.origin_badge,
        share=numbers.probability,
        period=language.period,
        shape=_shape_path,
        layout_text=layout_text,
        meanings=meanings,
        compared_option=compared_option,
        option_text=option_text,
        curve_table=curve_table,
        basis_text=basis_text,
        row_verdict=row_verdict,
        verdict_note=verdict_note,
        scope_text=scope_text,
        name_of=name_of,
        limit_title=limit_title,
        side_sentence=side_sentence,
        different_jobs_text=different_jobs_text,
        counters_text=counters_text,
        task_summary=task_durations.summary_text,
        task_phases=task_durations.phases_text,
        task_outliers=task_durations.outliers_text,
        profile_sentence=profile_sentence,
        profile_basis=profile_basis,
        profile_tables=profile_tables,
        difference_sentence=difference_sentence,
        difference_notes=difference_notes,
        difference_tables=difference_tables,
        flame_width_text=WIDTH_TEXT,
        flame_difference_text=DIFFERENCE_TEXT,
        plural=language.plural,
        claims_of=_origin_of_claims,
        areas=AREAS,
        area_at=area_at,
    )
    return environment
