"""Charts as SVG that stands in a page: rendered without a browser, without a request, and in the page's own colours.

In: Vega-Lite specifications. Out: SVG text. Every chart comes in two widths, because a chart that is merely shrunk to a
phone can't be read; the page's style shows one of them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from markupsafe import Markup, escape

from assay.charts.style import HALF_PX, NARROW_PX, VEGA_LITE_VERSION, Spec

_IDENTIFIER = re.compile(r'\bid="([\w-]+)"')


@dataclass(slots=True)
class Drawer:
    """Renders charts for one page and keeps the identifiers inside them apart."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def draw(self, make: Callable[[int], Spec], caption: str, *, wide_px: int = HALF_PX) -> Markup:
        """Return a figure with the chart that ``make`` gives for a width in pixels, wide and narrow, and a caption."""
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
        svg = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", svg)  # HTML knows what an svg element is
        for name in dict.fromkeys(_IDENTIFIER.findall(svg)):
            own = f"c{next(self.numbers)}"
            svg = svg.replace(f'id="{name}"', f'id="{own}"').replace(f"url(#{name})", f"url(#{own})")
        return Markup(svg)  # noqa: S704 - Vega escapes every text that it draws, and a test holds it to that
