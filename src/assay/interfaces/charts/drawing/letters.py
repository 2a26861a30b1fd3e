"""The letters of pages, reports and their charts: one font that comes with the product, the same on every machine.

Source Sans Pro, SIL Open Font License; a package has it, with its licence.
"""

from importlib.resources import files
from typing import Final

FAMILY: Final = "Source Sans Pro"
FILES: Final = {"400": "SourceSansPro-Regular.otf", "500 700": "SourceSansPro-Semibold.otf"}
"""Weights, as CSS has them, to files."""


def letters() -> dict[str, bytes]:
    """Return the font's files by name."""
    folder = files("font_source_sans_pro").joinpath("files")
    return {name: folder.joinpath(name).read_bytes() for name in FILES.values()}
