"""Serve Vega, Vega-Lite and Vega-Embed to browsers as one script.

The package vl-convert contains the libraries. Building the script takes seconds, so it is built once, in the
background. Its address contains a hash of the versions, so browsers can cache it.

By default, Vega compiles expressions to functions, which the Content-Security-Policy forbids. The pages therefore use
Vega's interpreter (option ``ast`` of Vega-Embed).
"""

import hashlib
import threading
from functools import cache
from importlib.metadata import version

from assay.interfaces.charts.drawing.style import VEGA_LITE_VERSION


@cache
def versions() -> str:
    """Return a hash of the library versions, for the script's address."""
    parts = (version("vl-convert-python"), VEGA_LITE_VERSION)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


class Script:
    """The script, built by :meth:`prepare` or at the first request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: bytes | None = None

    def text(self) -> bytes:
        """Return the script. The first caller builds it; concurrent callers wait."""
        with self._lock:
            if self._text is None:
                import vl_convert  # imported here: it carries a JavaScript engine

                bundle: str = vl_convert.javascript_bundle(vl_version=VEGA_LITE_VERSION)  # type: ignore[call-arg]
                self._text = bundle.encode()
            return self._text

    def prepare(self) -> None:
        """Start to build the script in the background."""
        threading.Thread(target=self.text, daemon=True).start()
