"""Render charts as SVG inside a page, in the page's colours, without a browser or a request.

In: Vega-Lite specifications. Out: SVG text. Every chart has two widths, because a chart that is only scaled down can't
be read on a phone; the page's style shows one of them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from markupsafe import Markup, escape

from assay.interfaces.charts.drawing.style import HALF_PX, NARROW_PX, VEGA_LITE_VERSION, Spec

_IDENTIFIER = re.compile(r'\bid="([\w-]+)"')


@dataclass(slots=True)
class ChartRenderer:
    """Renders charts for one page with unique identifiers."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def draw(self, make: Callable[[int], Spec], caption: str, *, wide_px: int = HALF_PX) -> Markup:
        """Return a figure with the chart of ``make`` in both widths, and a caption."""
        drawings = Markup("").join(
            Markup('<div class="chart {}" role="img" aria-label="{}">{}</div>').format(name, spec["description"], svg)
            for name, spec, svg in (
                (name, spec, self._svg(spec)) for name, spec in (("wide", make(wide_px)), ("narrow", make(NARROW_PX)))
            )
        )
        return Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(drawings, escape(caption))

    def _svg(self, spec: Spec) -> Markup:
        import vl_convert  # imported here: it carries a JavaScript engine

        svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
        svg = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", svg)  # not needed inside HTML
        for name in dict.fromkeys(_IDENTIFIER.findall(svg)):
            unique = f"c{next(self.numbers)}"
            svg = svg.replace(f'id="{name}"', f'id="{unique}"').replace(f"url(#{name})", f"url(#{unique})")
        return Markup(svg)  # noqa: S704 - Vega escapes every text, which a test checks
