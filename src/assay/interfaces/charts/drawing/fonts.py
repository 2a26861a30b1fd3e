"""Load the font of pages, reports and charts: Source Sans Pro, under the SIL Open Font License.

The font comes with assay, so text has the same size on every machine. The font's package includes the licence.
"""

from importlib.resources import files
from typing import Final

FAMILY: Final = "Source Sans Pro"
FILES: Final = {"400": "SourceSansPro-Regular.otf", "500 700": "SourceSansPro-Semibold.otf"}
"""CSS weight to font file."""


def font_files() -> dict[str, bytes]:
    """Return the content of each font file, by file name."""
    folder = files("font_source_sans_pro").joinpath("files")
    return {name: folder.joinpath(name).read_bytes() for name in FILES.values()}
