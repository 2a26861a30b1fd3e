"""Vega, Vega-Lite and Vega-Embed as one script that a browser loads from here.

It comes out of vl-convert, which carries the libraries; nothing of them is part of this project. Making it takes
seconds, so it is made once, in the background, and its address has the versions in it so that a browser keeps it.

Vega's own way to evaluate expressions makes functions from text, which the Content-Security-Policy forbids; the pages
use its interpreter instead (``ast`` of Vega-Embed).
"""

import hashlib
import threading
from functools import cache
from importlib.metadata import version

from assay.interfaces.charts.drawing.style import VEGA_LITE_VERSION


@cache
def versions() -> str:
    """Return what the script holds, for its address: it changes when that does."""
    parts = (version("vl-convert-python"), VEGA_LITE_VERSION)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


class Script:
    """The script, made when it is first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: bytes | None = None

    def text(self) -> bytes:
        """Return it; the first caller makes it, others wait."""
        with self._lock:
            if self._text is None:
                import vl_convert  # imported here: it carries a JavaScript engine

                bundle: str = vl_convert.javascript_bundle(vl_version=VEGA_LITE_VERSION)  # type: ignore[call-arg]
                self._text = bundle.encode()
            return self._text

    def prepare(self) -> None:
        """Begin to make it in the background."""
        threading.Thread(target=self.text, daemon=True).start()
