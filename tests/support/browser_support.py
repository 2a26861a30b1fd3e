"""A real browser for tests: pages that are watched for requests beyond the server and for errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
DRAWN_MS = 30_000


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Yield Chromium; skip aloud where there is none."""
    if not CHROMIUM.exists():
        pytest.skip(f"SKIPPED LOUDLY: no {CHROMIUM}, so no page was opened in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


class Watched:
    """A page with what it asked for and what went wrong."""

    def __init__(self, page: Page, server: str) -> None:
        self.page, self.server = page, server
        self.foreign: list[str] = []
        self.problems: list[str] = []
        page.on(
            "request",
            lambda request: (
                self.foreign.append(request.url) if not request.url.startswith((server + "/", "data:")) else None
            ),
        )
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def open(self, address: str) -> Page:
        """Go to a page and wait for its charts."""
        self.page.goto(self.server + address)
        self.page.wait_for_selector("body[data-charts=drawn]", timeout=DRAWN_MS)
        return self.page

    def check(self) -> None:
        """Nothing was asked of another host, nothing went wrong, and the page is not wider than its window."""
        assert self.foreign == []
        assert self.problems == []
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@contextmanager
def watched_page(browser: Browser, server: str, width_px: int = 1280, **options: Any) -> Iterator[Watched]:
    """Yield a watched page of a window of its own; ``options`` are the browser context's."""
    context = browser.new_context(viewport={"width": width_px, "height": 900}, **options)
    yield Watched(context.new_page(), server)
    context.close()
