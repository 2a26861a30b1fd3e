"""Prepare the styles, scripts and fonts of the web app for pages that are opened from files.

Browsers load no modules from files. Each script of the web app therefore becomes a plain script
in a function.
"""

import re
from collections.abc import Iterator

from assay.interfaces.publish.site_folder import SiteFile
from assay.interfaces.web.rendering.rendering import Rendering
from assay.interfaces.web.rendering.vega import versions

_MODULE_LINE = re.compile(r"^import .*\n|^export (?=async |function |const )", re.MULTILINE)
_COPIED_FILES = ("tokens.css", "app.css", "icon.svg", "theme.js")
"""Files that are published as they are."""
_SCRIPTS = {
    "site.js": ("charts.js", "page.js"),
    "explorer.js": ("explorer.js",),
    "cost.js": ("site_cost.js",),
    "relative.js": ("site_relative.js",),
}
"""Published script to the modules that it consists of."""
VEGA = "vega.js"


def asset_files(rendering: Rendering) -> Iterator[SiteFile]:
    """Yield the files of the folder ``assets``."""
    contents = rendering.assets()
    for name in (*_COPIED_FILES, *(name for name in contents if name.endswith(".otf"))):
        yield SiteFile(f"assets/{name}", lambda content=contents[name]: content)  # type: ignore[misc]
    for name, modules in _SCRIPTS.items():
        last_line = "drawAll();\n" if "charts.js" in modules else ""
        text = "".join(_MODULE_LINE.sub("", contents[module].decode()) for module in modules) + last_line
        yield SiteFile(f"assets/{name}", lambda text=text: _in_function(text.encode()))  # type: ignore[misc]
    yield SiteFile(f"assets/{VEGA}", lambda: _in_function(rendering.asset(versions(), VEGA)[0]), key=versions())


def _in_function(script: bytes) -> bytes:
    """Return a script in a function, so that its names are not global."""
    return b'(() => {\n"use strict";\n' + script + b"})();\n"
