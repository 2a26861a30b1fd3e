"""Test in Chromium that every chart can be downloaded as PNG, SVG and CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from browser_support import ObservedRun, watched_page
from builders import make_run
from web_support import filled, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def downloaded(watched: ObservedRun, figure: int, form: str) -> tuple[str, bytes]:
    """Press the button of a chart; return the name and the content of the file."""
    button = watched.page.locator("figure.chart").nth(figure).get_by_role("button", name=f"as {form}")
    with watched.page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_each_chart_is_downloaded_in_three_formats(browser: Browser, tmp_path: Path) -> None:
    root = filled(tmp_path / "repository").root
    with served(create_app(root)) as url, watched_page(browser, url) as watched:
        for address in ("/speedup?by=layout", f"/runs/{make_run(0).run_id}"):
            page = watched.open(address)
            charts = page.locator("figure.chart").count()
            assert charts > 0
            assert page.locator("figure.chart .downloads").count() == charts
            for figure in range(charts):
                name, image = downloaded(watched, figure, "PNG")
                assert name.endswith(".png")
                assert image.startswith(b"\x89PNG\r\n")
                name, drawing = downloaded(watched, figure, "SVG")
                assert name.endswith(".svg")
                assert drawing.startswith(b"<svg")
                name, table = downloaded(watched, figure, "CSV")
                assert name.endswith(".csv")
                rows = list(csv.reader(io.StringIO(table.decode())))
                assert len(rows) > 1
                assert {len(row) for row in rows} == {len(rows[0])}
        page = watched.open("/speedup?by=layout")
        speedups = next(csv.DictReader(io.StringIO(downloaded(watched, 0, "CSV")[1].decode())))
        assert float(speedups["low"]) <= float(speedups["ratio"]) <= float(speedups["high"])
        watched.check()
