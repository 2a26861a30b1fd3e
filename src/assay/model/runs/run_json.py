"""Read runs from JSON of any version of assay, in a bundle or in exported JSON lines."""

import msgspec

from assay.model.runs import warning
from assay.model.runs.run import Run


def run_of_json(encoded: bytes | str) -> Run:
    """Return the run. Raises ValueError, MsgspecError or RecursionError for anything else.

    Warnings of schema 1 are texts without codes; this function derives their codes.
    """
    try:
        return msgspec.json.decode(encoded, type=Run)
    except msgspec.ValidationError:
        value = msgspec.json.decode(encoded)
        warnings = value.get("warnings") if isinstance(value, dict) else None
        if not isinstance(warnings, list) or not any(isinstance(message, str) for message in warnings):
            raise
        coded_warnings = [
            warning.coded_warning(message) if isinstance(message, str) else message for message in warnings
        ]
        return msgspec.convert(value | {"warnings": coded_warnings}, type=Run)
