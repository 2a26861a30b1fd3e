"""Settings of all tests, and the browser of those that look at pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from browser_support import Watched, opened_browser, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("assay", deadline=None)  # a busy machine is slow, and that is no failure
settings.load_profile("assay")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def watched(browser: Browser, server: str) -> Iterator[Watched]:
    """Open a page of the module's own ``server``, and check at the end that nothing went wrong on it."""
    with watched_page(browser, server) as page:
        yield page
