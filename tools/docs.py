"""Build the documentation as a site that works without a network: ``make docs``.

In: ``zensical.toml`` and ``docs/``. Out: ``build/docs/``, which opens from a file or from any web server. The exit code
is not 0 if a link or an anchor leads nowhere, or if a page would load anything from another host.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build/docs"
SHIM = "https://unpkg.com/iframe-worker/shim"
"""Search from ``file://`` needs this script; zensical's offline mode would load it from a host."""
SHIPPED = "assets/iframe-worker-1.0.4.js"
LOADED = re.compile(
    r"""<(?:script|img|iframe|link rel="(?:stylesheet|icon|preload|preconnect)")[^>]*(?:src|href)="?(?:https?:)?//"""
)


def localise(site: Path) -> list[str]:
    """Replace the remote script by the shipped one in every page; return the pages that still load from a host."""
    remote = []
    for page in sorted(site.rglob("*.html")):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8").replace(SHIM, f"{up}{SHIPPED}")
        page.write_text(text, encoding="utf-8")
        remote += [f"{page}: {match[0]}" for match in LOADED.finditer(text)]
    return remote


def main() -> int:
    """Build the site; return 0 if it is complete and self-contained."""
    built = subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=False
    )
    if built.returncode:
        return built.returncode
    remote = localise(SITE)
    sys.stderr.writelines(f"loads from another host: {page}\n" for page in remote)
    if not remote:
        sys.stdout.write(f"documentation: {SITE.relative_to(ROOT)}/index.html\n")
    return int(bool(remote))


if __name__ == "__main__":
    sys.exit(main())
