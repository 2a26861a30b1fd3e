"""Define the navigation: the areas Decide, Explore, Forecast and Trust, and their pages.

In: the path of an address. Out: the area and the page to highlight.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page in the navigation."""

    address: str
    title: str
    has_filter_bar: bool = False
    """Whether the page shows only the runs that match the filter bar."""


@dataclass(frozen=True, slots=True)
class Area:
    """An area of the navigation with its pages."""

    title: str
    pages: tuple[PageLink, ...]
    detail_prefixes: tuple[str, ...] = ()
    """Path prefixes of pages that belong to this area but are not in the navigation."""
    answer_address: str = ""
    """Address that leads to the page which has an answer for these runs; empty: the link opens the first page."""

    def page_at(self, path: str) -> PageLink | None:
        """Return the page of this area at ``path``; the first page for a page of details; None for other areas."""
        exact_page = next((page for page in self.pages if path == page.address), None)
        prefixes = (*(page.address for page in self.pages if page.address != "/"), *self.detail_prefixes)
        prefix = next((address for address in prefixes if path.startswith(f"{address}/")), None)
        if exact_page or prefix is None:
            return exact_page
        return next((page for page in self.pages if page.address == prefix), self.pages[0])


AREAS: Final = (
    Area(
        "Decide",
        (
            PageLink("/", "Answers", has_filter_bar=True),
            PageLink("/speedup", "Speedup", has_filter_bar=True),
            PageLink("/cost", "Cost", has_filter_bar=True),
            PageLink("/plan", "Plan runs"),
        ),
    ),
    Area(
        "Explore",
        (
            PageLink("/runs", "Runs", has_filter_bar=True),
            PageLink("/compare", "Compare"),
            PageLink("/scatter", "Scatter", has_filter_bar=True),
        ),
        ("/clusters", "/configurations", "/campaigns", "/tuning"),
    ),
    Area(
        "Forecast",
        (
            PageLink("/whatif", "What if my cluster changes"),
            PageLink("/predict", "Predict from my runs"),
            PageLink("/recommend", "Hardware within my budget"),
            PageLink("/size", "Size from a log"),
            PageLink("/instances", "Instance types"),
        ),
        answer_address="/forecast",
    ),
    Area(
        "Trust",
        (
            PageLink("/quality", "Quality", has_filter_bar=True),
            PageLink("/changes", "Changes", has_filter_bar=True),
            PageLink("/gate", "Regressions", has_filter_bar=True),
            PageLink("/hosts", "Hosts"),
        ),
    ),
)


def area_at(path: str) -> Area | None:
    """Return the area of the page at ``path``; None for pages outside the navigation, such as the sign-in page."""
    return next((area for area in AREAS if area.page_at(path)), None)
