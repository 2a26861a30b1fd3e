"""A chart as wide as the page has a drawing for paper, whose text is as large as the document's."""

import re

import pytest

from assay.interfaces.charts.drawing.style import FULL_PX, HALF_PX, PAPER_PX
from assay.interfaces.report.output.drawing import ChartRenderer


@pytest.mark.parametrize(
    ("wide_px", "classes"), [(FULL_PX, ["wide screen", "narrow", "paper"]), (HALF_PX, ["wide", "narrow"])]
)
def test_only_a_chart_as_wide_as_the_page_has_a_drawing_for_paper(wide_px: int, classes: list[str]) -> None:
    widths_px = []

    def make(width_px: int) -> dict[str, object]:
        widths_px.append(width_px)
        return {"description": "a bar", "width": width_px, "mark": "bar", "data": {"values": [{"a": 1}]}}

    html = ChartRenderer().draw(make, "caption", wide_px=wide_px)
    assert re.findall(r'<div class="chart ([a-z ]+)"', html) == classes
    assert (PAPER_PX in widths_px) is ("paper" in classes)
