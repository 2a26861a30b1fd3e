"""Collect the ids of finished runs, and send the runs as spans when a campaign ends.

In: the address of a receiver and the repository's folder. Out: spans, and a line of text on the result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.foundation.errors import AssayError, MissingLibraryError
from assay.store import Repository
from assay.text import plural


@contextmanager
def spans_sent(url: str | None, root: Path, report: Callable[[str], None]) -> Iterator[list[str]]:
    """Yield a list for the ids of finished runs; at the end of the block, also after an error, send their spans.

    ``url``: address of the receiver; None sends nothing. ``report`` receives the result as text. Raises
    MissingLibraryError and SpecificationError before the block. A receiver that does not answer is only reported,
    because the runs are kept.
    """
    finished_ids: list[str] = []
    if url is None:
        yield finished_ids
        return
    try:
        from assay.interfaces.telemetry.spans import receiver_address, send_spans
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        hint = "pip install 'assay[otlp]'"
        raise MissingLibraryError("sending spans needs OpenTelemetry's SDK and exporter", hint=hint) from error
    address = receiver_address(url)
    try:
        yield finished_ids
    finally:
        if finished_ids:
            try:
                count = send_spans(Repository.open(root), finished_ids, address)
                report(f"{plural(count, 'span')} sent to {address}")
            except AssayError as error:
                report(f"note: no spans are at {address}: {error.message}; the runs are kept")
