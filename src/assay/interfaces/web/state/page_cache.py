"""Cache rendered pages until the repository changes.

Once the answers of a page are cached, rendering takes most of the time. A page is cached by address and by the roles
of the reader, plain and compressed. Its content may depend only on the runs, the server's settings and these keys. The
note that newer runs are being read is inserted when the page is sent.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

from assay.interfaces.web.state.context import Context, get_roles

_MAIN_TAG: Final = b'<main id="main">\n'
_GZIP_LEVEL: Final = 4
_VARIANTS_MAX: Final = 4
"""Maximum number of encoded variants of a page: plain or compressed, with or without a note."""


class CachedPage:
    """A page without the note that newer runs are being read."""

    def __init__(self, page: Response) -> None:
        self._status = page.status_code
        self._headers = {name: text for name, text in page.headers.items() if name != "content-length"}
        self._content = bytes(page.body)
        self._variants: dict[tuple[str | None, bool], bytes] = {}

    def response(self, context: Context, outdated_as_of: str | None, *, is_compressed: bool) -> Response:
        """Return the page. ``outdated_as_of``: time for the note that newer runs are being read; None for no note."""
        headers = dict(self._headers)
        if is_compressed:
            headers |= {"content-encoding": "gzip", "vary": "Accept-Encoding"}
        content = self._variants.get((outdated_as_of, is_compressed))
        if content is None:
            content = self._content
            if outdated_as_of:
                note = context.rendering.html("outdated", outdated_as_of=outdated_as_of).encode()
                content = content.replace(_MAIN_TAG, _MAIN_TAG + note, 1)
            if is_compressed:
                content = gzip.compress(content, _GZIP_LEVEL, mtime=0)
            if len(self._variants) >= _VARIANTS_MAX:
                self._variants.clear()
            self._variants[outdated_as_of, is_compressed] = content
        return Response(content, self._status, headers)


def cached_page(
    page: Callable[..., Response], extra_key: Callable[[Context], Hashable] = lambda _: None
) -> Callable[..., Response]:
    """Return a handler that renders each page once per snapshot of the repository.

    ``page``: handler that takes ``request`` and ``context`` by name. ``extra_key``: returns another part of the key.
    """

    @wraps(page)
    def handler(*, request: Request, context: Context, **parameters: Any) -> Response:
        def render(_: object) -> CachedPage:
            outdated_as_of, request.state.outdated_as_of = request.state.outdated_as_of, None
            try:
                return CachedPage(page(request=request, context=context, **parameters))
            finally:
                request.state.outdated_as_of = outdated_as_of

        url, outdated_as_of = request.url, request.state.outdated_as_of
        key = ("page", url.path, url.query, get_roles(request), extra_key(context))
        stored_page = context.store.answer(key, render)
        is_compressed = "gzip" in request.headers.get("accept-encoding", "")
        return stored_page.response(context, outdated_as_of, is_compressed=is_compressed)

    return handler
