"""A report's files: one document, written by the ending of the file's name.

In: a :class:`ReportDocument` and where it goes. Out: files, each whole or not at all: ``.html``, ``.pdf``, or ``.md``
with its charts in a folder beside it; and every chart as SVG and PNG in a folder of one's own.
"""

from pathlib import Path

from assay.errors import AssayError, SpecificationError
from assay.output import write_whole
from assay.report import pictures
from assay.report.document import ReportDocument, charts_of
from assay.report.html import html
from assay.report.markdown import markdown
from assay.report.pdf import pdf

FORMS = (".html", ".md", ".pdf")


def form_of(path: Path) -> str:
    """Return the form that a file's name asks for. Raises SpecificationError when there is no such form."""
    ending = path.suffix.lower()
    ending = {".htm": ".html", ".markdown": ".md"}.get(ending, ending)
    if ending not in FORMS:
        raise SpecificationError(
            f"a report is not written as {ending or 'a file without an ending'}",
            where=str(path),
            hint=f"end its name in one of {', '.join(FORMS)}",
        )
    return ending


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(f"the charts can't be written: {error.strerror}", where=str(path)) from error
    return path


def write_charts(folder: Path, document: ReportDocument) -> int:
    """Write every chart as SVG and PNG; return how many charts there are."""
    figures = charts_of(document)
    for figure in figures if figures and _folder(folder) else ():
        for name, content in pictures.files(figure):
            write_whole(folder / name, content)
    return len(figures)


def document_bytes(document: ReportDocument, form: str, charts: str = "") -> bytes:
    """Return the document in a form; ``charts``: the folder that Markdown finds its charts in."""
    if form == ".pdf":
        return pdf(document)
    return (html(document) if form == ".html" else markdown(document, charts)).encode()


def write_document(path: Path, document: ReportDocument) -> None:
    """Write the document in the form that its name asks for; of Markdown the charts too, in ``NAME-charts/``."""
    form, folder = form_of(path), path.with_name(f"{path.stem}-charts")
    content = document_bytes(document, form, folder.name)
    if form == ".md":
        for figure in charts_of(document):
            write_whole(_folder(folder) / f"{figure.name}.svg", pictures.svg(figure).encode())
    write_whole(path, content)
