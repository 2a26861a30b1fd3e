"""Measure how a published site loads and filters in Chromium: bytes, time until the list is shown, time of a filter.

Takes a repository, or makes one with 10,000 drawn runs: 10 workloads, 8 layouts, 4 clusters, 2 networks and two engine
parameters. The site is opened from files. Bytes are the sizes of the files that the page loads. A filter's time is from
the click on a level to the end of the next frame; it includes the counts of all filters, the order and the list.

Run: ``.venv/bin/python benchmarks/publish_filters.py [REPOSITORY]``
"""

from __future__ import annotations

import csv
import random
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from urllib.parse import unquote, urlparse

from click.testing import CliRunner
from playwright.sync_api import Page, sync_playwright

from assay.interfaces.cli.main import assay

RUNS = 10_000
BYTES_MAX = 5_000_000
FILTER_MS_MAX = 100.0
CHROMIUM = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
TIME_OF_CLICK = """box => new Promise(done => {
    const start = performance.now();
    box.click();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""


def command(*arguments: str) -> None:
    """Run a command of assay, and stop if it fails."""
    result = CliRunner().invoke(assay, list(arguments))
    if result.exit_code:
        raise SystemExit(f"assay {' '.join(arguments)}: {result.output} {result.exception}")


def drawn_repository(folder: Path) -> Path:
    """Import 10,000 drawn runs as a table."""
    draw, path = random.Random(28), folder / "runs.csv"
    columns = ["workload", "layout", "cluster", "network", "maps", "buffer", "duration_s", "started_at"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for number in range(RUNS):
            levels = [f"workload{draw.randrange(10)}", f"HD{1 + draw.randrange(8)}", f"cluster{draw.randrange(4)}"]
            levels += [draw.choice(["ETH", "IB"]), str(2 ** draw.randrange(8)), str(4096 * 2 ** draw.randrange(6))]
            started = f"2026-01-{1 + number // 400:02}T{number // 20 % 20:02}:{number % 20:02}:00+00:00"
            writer.writerow([*levels, f"{draw.lognormvariate(5, 1):.3f}", started])
    fields = ["workload", "layout", "cluster", "level:network", "option:maps", "parameter:dfs.blocksize", *columns[-2:]]
    maps = (f"{column}={field}" for column, field in zip(columns, fields, strict=True))
    map_options = [word for pair in maps for word in ("--map", pair)]
    command(
        "import", "table", str(path), *map_options, "--origin", "measured", "--repository", str(folder / "repository")
    )
    return folder / "repository"


def measured_site(page: Page, site: Path) -> tuple[int, float, list[float]]:
    """Return the bytes that the list of runs loads, ms until it is shown, and ms of each filter."""
    loaded: set[str] = set()
    page.on("request", lambda request: loaded.add(request.url.partition("#")[0]))
    page.goto((site / "runs.html").as_uri())
    page.wait_for_selector("#runs tbody tr")
    shown_ms: float = page.evaluate("performance.now()")
    times_ms = []
    for box in page.locator("#facets input").all()[:40]:
        times_ms += [float(box.evaluate(TIME_OF_CLICK)) for _ in range(2)]  # on and off
    files = [Path(unquote(urlparse(url).path)) for url in loaded if url.startswith("file:")]
    return sum(file.stat().st_size for file in files), shown_ms, times_ms


def main() -> None:
    """Print the measurements; end with 1 if a limit is exceeded."""
    with tempfile.TemporaryDirectory(prefix="assay-benchmark-") as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        repository = Path(sys.argv[1]) if sys.argv[1:] else drawn_repository(folder)
        command("publish", str(folder / "site"), "--repository", str(repository))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        size_bytes, shown_ms, times_ms = measured_site(page, folder / "site")
        count_text = page.locator("#matching").inner_text()
        browser.close()
    print(f"{count_text}; {size_bytes:,} bytes loaded (limit {BYTES_MAX:,}); list shown after {shown_ms:.0f} ms")
    times = f"median {median(times_ms):.0f} ms, slowest {max(times_ms):.0f} ms"
    print(f"{len(times_ms)} filters: {times} (limit of the median {FILTER_MS_MAX:.0f} ms)")
    if size_bytes > BYTES_MAX or median(times_ms) > FILTER_MS_MAX:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
