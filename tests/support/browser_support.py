"""Drive a real browser and record errors and requests to other hosts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path(os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or "/usr/bin/chromium")
"""The browser. Chromium without the parts of a window needs 40 % less CPU time than with them."""
DRAWN_MS = 30_000
HIDDEN_LINKS = """() => [...document.querySelectorAll('.top nav a')].filter(link => {
    const box = link.getBoundingClientRect(), bar = link.parentElement.getBoundingClientRect();
    const on = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return box.width === 0 || box.right > innerWidth || box.right > bar.right + 1 || !link.contains(on);
}).map(link => link.textContent)"""
CUT_UNSAID = """() => [...document.querySelectorAll('.scroll')].filter(box =>
    box.checkVisibility({ contentVisibilityAuto: true }) &&
    box.scrollWidth - box.clientWidth > 2 && !box.classList.contains('more')).map(box => box.ariaLabel)"""
LABELS_OUTSIDE = """() => [...document.querySelectorAll('.cards td[data-label]')].filter(cell => {
    const label = getComputedStyle(cell, '::before');
    return cell.checkVisibility({ contentVisibilityAuto: true }) && label.float === 'left' &&
        label.display !== 'none' && parseFloat(getComputedStyle(cell).paddingLeft) + parseFloat(label.marginLeft) < 0;
}).map(cell => cell.dataset.label)"""
"""Labels of cells that are left of their card, where they can't be seen."""
OVERPRINTED = """id => {
    const texts = [...document.querySelectorAll(`#${id} svg text`)]
        .filter(one => one.textContent && one.checkVisibility());
    const boxes = texts.map(one => one.getBoundingClientRect());
    const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    return texts.flatMap((one, i) => texts.slice(0, i).filter((_, j) => overlap(boxes[i], boxes[j]))
        .map(other => [other.textContent, one.textContent]));
}"""
"""Pairs of texts in a chart that overlap."""
CHART_TEXTS = """() => {
    const wrong = [];
    for (const svg of document.querySelectorAll('.drawing svg')) {
        if (!svg.checkVisibility({ contentVisibilityAuto: true })) continue;
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim() && one.checkVisibility());
        const boxes = texts.map(one => one.getBoundingClientRect());
        boxes.forEach((box, i) => {
            const said = texts[i].textContent;
            if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
                || box.bottom > frame.bottom + 1) wrong.push(['cut', said]);
            if (said.includes('…')) wrong.push(['shortened', said]);
            boxes.slice(0, i).forEach((other, j) => {
                if (Math.min(box.right, other.right) - Math.max(box.left, other.left) > 2
                    && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 3)
                    wrong.push(['overlap', texts[j].textContent, said]);
            });
        });
        const lines = [...svg.querySelectorAll('.mark-rule.role-mark line')]
            .filter(one => parseFloat(getComputedStyle(one).strokeWidth) < 4)  // thicker lines carry their number
            .map(one => one.getBoundingClientRect());
        for (const name of svg.querySelectorAll('.mark-text.role-mark text')) {
            const box = name.getBoundingClientRect();
            if (name.textContent.trim() && name.checkVisibility() && lines.some(line =>
                Math.min(box.right, line.right) - Math.max(box.left, line.left) > -1
                && Math.min(box.bottom, line.bottom) - Math.max(box.top, line.top) > -1
                && line.top < box.bottom - 4 && line.bottom > box.top + 4
                && line.left < box.right - 2 && line.right > box.left + 2))
                wrong.push(['covers a line', name.textContent]);
        }
    }
    return wrong;
}"""
"""Texts of charts that are cut, shortened, or overlap another text or a line of their chart."""
TEXTS_OUTSIDE = """() => {
    const wrong = [], lines = [], range = document.createRange();
    const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement, said = walker.currentNode.textContent.trim();
        if (!said || element.closest('svg, script, select, textarea, .hidden, .flame, .cursor-layer, .log')
            || element.closest('pre') && !matchMedia('print').matches  // scrolls on a screen
            || !element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue;
        const around = element.closest('td, th, .badge, button, .button, li, dd, .card, fieldset, main');
        const box = around.getBoundingClientRect();
        range.selectNodeContents(walker.currentNode);
        for (const line of range.getClientRects()) {
            const list = element.closest('.facet ul')?.getBoundingClientRect();  // scrolls up and down
            if (!line.width || list && (line.bottom > list.bottom || line.top < list.top)) continue;
            lines.push([line, said]);
            if (line.right > box.right + 2 || line.left < box.left - 2) wrong.push(['outside', said.slice(0, 60)]);
        }
        const { overflowX } = getComputedStyle(element);
        if ((overflowX === 'hidden' || overflowX === 'clip') && element.scrollWidth > element.clientWidth + 1)
            wrong.push(['cut', said.slice(0, 60)]);
    }
    lines.sort(([a], [b]) => a.top - b.top);
    lines.forEach(([a, said], i) => {
        for (let j = i + 1; j < lines.length && lines[j][0].top < a.bottom - 4; j++) {
            const [b, other] = lines[j];
            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - b.top > 4)
                wrong.push(['overlap', said.slice(0, 40), other.slice(0, 40)]);
        }
    });
    return wrong;
}"""
"""Texts outside of their cell or card, cut at its edge, or on top of another text."""
OPEN_ALL = """() => {
    for (const part of document.querySelectorAll('main details')) part.open = true;
    return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""Opens all that a click opens."""
UNEVEN = """() => {
    const wrong = [];
    for (const bar of document.querySelectorAll('form.bar')) {
        const heights = [...bar.querySelectorAll('select, .button, input:not([type=checkbox], [type=hidden])')]
            .filter(one => one.checkVisibility()).map(one => Math.round(one.getBoundingClientRect().height));
        if (Math.max(...heights) - Math.min(...heights) > 2) wrong.push(heights);
    }
    return wrong;
}"""
"""Heights of controls of a form that differ."""
TALLER_THAN_PAPER = """() => [...document.querySelectorAll('.drawing svg')].filter(svg => svg.checkVisibility())
    .map(svg => Math.round(svg.getBoundingClientRect().height)).filter(height => height > 1000)"""
"""Heights of figures that do not fit on one sheet."""
CUT_ON_PAPER = """() => [...document.querySelectorAll('.drawing svg, .scroll, .log')].filter(part => {
    const box = part.getBoundingClientRect();
    return part.checkVisibility({ contentVisibilityAuto: true }) &&
        (box.right > innerWidth + 1 || part.scrollWidth > part.clientWidth + 2
        || part.scrollHeight > part.clientHeight + 2 && getComputedStyle(part).overflowY !== 'visible');
}).map(part => part.ariaLabel || part.className.baseVal || part.className)"""
PAPER_PX = 703
"""A4 less the browser's margins of 1 cm, at 96 px an inch."""


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Yield Chromium; skip aloud where there is none."""
    if not CHROMIUM.exists():
        pytest.skip(f"NOT tested: no {CHROMIUM}, so no page was opened in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


class ObservedRun:
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
        """Go to a page and wait for its charts.

        Tests on labs run at the same time, and add and remove network interfaces. Chromium then ends the request of a
        page with ERR_NETWORK_CHANGED, as it does when a laptop changes its network. The page is asked for again.
        """
        from playwright.sync_api import Error

        try:
            self.page.goto(self.server + address)
        except Error as error:
            if "ERR_NETWORK_CHANGED" not in str(error):
                raise
            self.page.goto(self.server + address)
        self.page.wait_for_selector("body[data-charts=drawn]", timeout=DRAWN_MS)
        return self.page

    def check(self) -> None:
        """Nothing was asked of another host, nothing went wrong, and the page is not wider than its window."""
        assert self.foreign == []
        assert self.problems == []
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@contextmanager
def watched_page(browser: Browser, server: str, width_px: int = 1280, **options: Any) -> Iterator[ObservedRun]:
    """Yield a watched page in a new window; ``options`` are the browser context's."""
    context = browser.new_context(viewport={"width": width_px, "height": 900}, **options)
    yield ObservedRun(context.new_page(), server)
    context.close()


def misfits(page: Page) -> dict[str, Any]:
    """Return what of a page does not fit its window, with all its parts open; empty where all does."""
    page.evaluate(OPEN_ALL)
    wrong = {
        "wider by px": page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)"),
        "pages hidden": page.evaluate(HIDDEN_LINKS),
        "tables cut unsaid": page.evaluate(CUT_UNSAID),
        "labels outside of cards": page.evaluate(LABELS_OUTSIDE),
        "texts": page.evaluate(TEXTS_OUTSIDE),
        "texts of charts": page.evaluate(CHART_TEXTS),
        "heights of controls": page.evaluate(UNEVEN),
    }
    return {name: what for name, what in wrong.items() if what}


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    """Return the serious and critical findings of axe on a page, with the HTML of three elements each.

    The page's context needs ``bypass_csp``, as axe is a script of another source. Skips the test without axe.
    """
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="NOT tested: no axe, pages were not checked"
    )
    violations = axe.Axe().run(page).response["violations"]
    return [
        (item["id"], [node["html"][:160] for node in item["nodes"][:3]])
        for item in violations
        if item["impact"] in ("serious", "critical")
    ]


def cut_on_paper(page: Page) -> list[str]:
    """Return what of a page a sheet would cut, or print outside or on top of each other.

    The page's window is as it was afterwards.
    """
    before = page.viewport_size
    assert before is not None
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER_PX, "height": 1000})  # as a sheet comes: without a new drawing
    checks = (CUT_ON_PAPER, TALLER_THAN_PAPER, TEXTS_OUTSIDE, CHART_TEXTS)
    cuts = [str(cut) for check in checks for cut in page.evaluate(check)]
    page.emulate_media(media="screen")
    page.set_viewport_size(before)
    return cuts
