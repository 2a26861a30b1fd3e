"""Write a document to files. The file extension selects the format.

In: a :class:`ReportDocument` and a path. Out: a ``.html``, ``.pdf`` or ``.md`` file; for ``.md``, charts are SVG files
in a folder next to it. On request, a folder with every chart as SVG and PNG. Each file is written completely or not at
all.
"""

from pathlib import Path

from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.output import write_output
from assay.interfaces.report.output import pictures
from assay.interfaces.report.output.document import ReportDocument, charts_of
from assay.interfaces.report.output.html import html
from assay.interfaces.report.output.markdown import markdown
from assay.interfaces.report.output.pdf import pdf

FORMS = (".html", ".md", ".pdf")


def form_of(path: Path) -> str:
    """Return the format of a file by its extension. Raises SpecificationError for an unknown extension."""
    ending = path.suffix.lower()
    ending = {".htm": ".html", ".markdown": ".md"}.get(ending, ending)
    if ending not in FORMS:
        raise SpecificationError(
            f"no report format {ending}" if ending else "the file name has no ending",
            where=str(path),
            hint=f"end the name in one of {', '.join(FORMS)}",
        )
    return ending


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(f"the charts can't be written: {error.strerror}", where=str(path)) from error
    return path


def write_charts(folder: Path, document: ReportDocument) -> int:
    """Write every chart as SVG and PNG to ``folder``; return the number of charts."""
    figures = charts_of(document)
    for figure in figures if figures and _folder(folder) else ():
        for name, content in pictures.files(figure):
            write_output(folder / name, content)
    return len(figures)


def document_bytes(document: ReportDocument, form: str, charts: str = "") -> bytes:
    """Return the document in a format. ``form``: file extension. ``charts``: folder that links in Markdown name."""
    if form == ".pdf":
        return pdf(document)
    return (html(document) if form == ".html" else markdown(document, charts)).encode()


def write_document(path: Path, document: ReportDocument) -> None:
    """Write the document in the format of the file extension; charts of Markdown go to ``NAME-charts/``."""
    form, folder = form_of(path), path.with_name(f"{path.stem}-charts")
    content = document_bytes(document, form, folder.name)
    if form == ".md":
        for figure in charts_of(document):
            write_output(_folder(folder) / f"{figure.name}.svg", pictures.svg(figure).encode())
    write_output(path, content)
