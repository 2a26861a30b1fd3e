"""Render charts as SVG inside a page, in the page's colours, without a browser or network requests.

In: Vega-Lite specifications. Out: HTML with SVG. Every chart is drawn in two widths, because a wide chart scaled down
is illegible on a phone, and a chart as wide as the page in a third one for paper. The page's style sheet shows one of
them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from markupsafe import Markup, escape

from assay.interfaces.charts.drawing.style import FULL_PX, HALF_PX, NARROW_PX, PAPER_PX, VEGA_LITE_VERSION, Spec

_IDENTIFIER = re.compile(r'\bid="([\w-]+)"')


@dataclass(slots=True)
class ChartRenderer:
    """Renders the charts of a page, with SVG ids that are unique in the page."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def draw(self, make: Callable[[int], Spec], caption: str, *, wide_px: int = HALF_PX) -> Markup:
        """Return an HTML figure with a caption and the chart in all its widths.

        ``make``: returns the specification for a width in pixels. ``wide_px``: the larger width.
        """
        widths_px = {"wide": wide_px, "narrow": NARROW_PX}
        if wide_px == FULL_PX:
            widths_px = {"wide screen": wide_px, "narrow": NARROW_PX, "paper": PAPER_PX}
        drawings = Markup("").join(
            Markup('<div class="chart {}" role="img" aria-label="{}">{}</div>').format(name, spec["description"], svg)
            for name, spec, svg in (
                (name, spec, self.svg(spec)) for name, spec in ((name, make(px)) for name, px in widths_px.items())
            )
        )
        return Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(drawings, escape(caption))

    def svg(self, spec: Spec) -> Markup:
        """Return one chart as SVG for HTML."""
        import vl_convert  # imported here: it contains a JavaScript engine and loads slowly

        svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
        svg = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", svg)  # not needed inside HTML
        for name in dict.fromkeys(_IDENTIFIER.findall(svg)):
            unique_id = f"c{next(self.numbers)}"
            svg = svg.replace(f'id="{name}"', f'id="{unique_id}"').replace(f"url(#{name})", f"url(#{unique_id})")
        return Markup(svg)  # noqa: S704 - Vega escapes every text, which a test checks
