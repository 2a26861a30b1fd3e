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
SHIPPED_SCRIPT = "assets/iframe-worker-1.0.4.js"
REMOTE_REFERENCE = re.compile(
    r"""<(?:script|img|iframe|link rel="(?:stylesheet|icon|preload|preconnect)")[^>]*(?:src|href)="?(?:https?:)?//"""
)


def localise(site: Path) -> list[str]:
    """Replace the remote script by the shipped script in every page; return references to other hosts that remain."""
    remote = []
    for page in sorted(site.rglob("*.html")):
        root_path = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8").replace(SHIM, f"{root_path}{SHIPPED_SCRIPT}")
        page.write_text(text, encoding="utf-8")
        remote += [f"{page}: {match[0]}" for match in REMOTE_REFERENCE.finditer(text)]
    return remote


def main() -> int:
    """Build the site; return 0 if it is complete and self-contained."""
    result = subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=False
    )
    if result.returncode:
        return result.returncode
    remote = localise(SITE)
    sys.stderr.writelines(f"loads from another host: {page}\n" for page in remote)
    if not remote:
        sys.stdout.write(f"documentation: {SITE.relative_to(ROOT)}/index.html\n")
    return int(bool(remote))


if __name__ == "__main__":
    sys.exit(main())
