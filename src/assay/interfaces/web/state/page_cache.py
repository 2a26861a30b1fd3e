"""Pages that are kept as they were sent, as long as the repository stays as it is: for those that show nothing else.

A page's text takes longer to make than what it tells, once that is known. It is kept beside it, for each address and
whoever may do the same, compressed too. What may be added to any page, that more runs are being read, is put in as it
is sent.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

from assay.interfaces.web.state.context import Context, get_roles

Page = Callable[..., Response]
_BEGINS: Final = b'<main id="main">\n'
_LEVEL: Final = 4
_VARIANTS_MAX: Final = 4


class _KeptPage:
    """A page without what is only true as it is sent."""

    def __init__(self, made: Response) -> None:
        self._status = made.status_code
        self._headers = {name: text for name, text in made.headers.items() if name != "content-length"}
        self._plain = bytes(made.body)
        self._sent: dict[tuple[str | None, bool], bytes] = {}

    def answer(self, context: Context, behind: str | None, *, compressed: bool) -> Response:
        """Return the page, with the note that it is of runs as of ``behind`` where that is given."""
        headers = dict(self._headers)
        if compressed:
            headers |= {"content-encoding": "gzip", "vary": "Accept-Encoding"}
        content = self._sent.get((behind, compressed))
        if content is None:
            content = self._plain
            if behind:
                note = context.rendering.html("behind", behind=behind).encode()
                content = content.replace(_BEGINS, _BEGINS + note, 1)
            if compressed:
                content = gzip.compress(content, _LEVEL, mtime=0)
            if len(self._sent) >= _VARIANTS_MAX:
                self._sent.clear()
            self._sent[behind, compressed] = content
        return Response(content, self._status, headers)


def kept_page(
    page: Callable[..., Response], also: Callable[[Context], Hashable] = lambda _: None
) -> Callable[..., Response]:
    """Return a page's handler that makes each page once for a state of the repository.

    ``page`` takes ``request`` and ``context`` among what it is asked, and may show nothing that is not of the
    repository's runs, of the server's own settings or of its address; ``also`` tells what else it depends on.
    """

    @wraps(page)
    def answered(*, request: Request, context: Context, **asked: Any) -> Response:
        def make(_: object) -> _KeptPage:
            before, request.state.behind = request.state.behind, None
            try:
                return _KeptPage(page(request=request, context=context, **asked))
            finally:
                request.state.behind = before

        url, behind = request.url, request.state.behind
        key = ("page", url.path, url.query, get_roles(request), also(context))
        kept = context.store.answer(key, make)
        takes = "gzip" in request.headers.get("accept-encoding", "")
        return kept.answer(context, behind, compressed=takes)

    return answered
