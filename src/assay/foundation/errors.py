"""Define the error types. The type says which part is at fault.

Every error that a user can cause or meet is an :class:`AssayError`; the command line prints it without a traceback.
``message`` says what happened and why, ``where`` says where (``file:line`` or ``host: command``), ``hint`` says what to
do next.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

_NAMES_MAX = 500
"""Maximum number of names in a folder that are compared with a misspelt one."""
_PASSWORD = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*:/{1,2}[^\s/:@]*):[^\s/]*@")


def without_password(text: str) -> str:
    """Return ``text`` without the passwords in its addresses: ``http://user:…@host``."""
    return _PASSWORD.sub(r"\1:…@", text) if "@" in text else text


class AssayError(Exception):
    """Base class of the errors that a user can cause or meet."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = without_password(message)
        self.where = without_password(where) if where else where
        self.hint = without_password(hint) if hint else hint

    def __str__(self) -> str:
        """Return ``where: message``, and the hint on a second line; absent parts are left out."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  → {self.hint}" if self.hint else text


class SpecificationError(AssayError):
    """A file or option that the user wrote is wrong: nothing was started."""

    exit_code = 2


class HostError(AssayError):
    """A host does not answer, refuses, or lacks something that assay needs."""

    exit_code = 3


class HostTimeoutError(HostError):
    """A command exceeded its time limit and was ended."""


class CommandError(HostError):
    """A command on a host ended with a status other than 0."""


class UnusableHostError(HostError):
    """A host can't be used in its present state: every attempt there fails the same way until it is repaired."""


class LabError(AssayError):
    """The lab can't be made, or a part of it broke."""

    exit_code = 4


class LabLostError(LabError):
    """The lab has lost a part that only rebuilding the lab restores."""


class EngineError(AssayError):
    """Hadoop or Spark did not install, start, become healthy, or stop."""

    exit_code = 5


class RepositoryError(AssayError):
    """A bundle or index is missing, damaged or can't be written."""

    exit_code = 6


class FormatError(AssayError):
    """A file that assay did not write does not follow its format."""

    exit_code = 7


class MissingLibraryError(AssayError):
    """An optional Python library is not installed."""


def did_you_mean(
    text: str, names: Iterable[str], synonyms: Mapping[str, str] | None = None, matches_max: int = 2
) -> str:
    """Return ``did you mean 'SSD'? ``, the start of a hint, if ``text`` or its synonym is close to one of ``names``.

    Return an empty text otherwise.
    """
    import difflib  # imported here: only messages of errors need it

    name_by_folded = {name.casefold(): name for name in names}
    close_names = [name_by_folded[text.casefold()]] if text.casefold() in name_by_folded else []
    if synonyms and synonyms.get(text.casefold(), "").casefold() in name_by_folded:
        close_names.append(name_by_folded[synonyms[text.casefold()].casefold()])
    folded_text = text.casefold()[:200]
    close_names = close_names or [
        name_by_folded[match] for match in difflib.get_close_matches(folded_text, name_by_folded, n=matches_max)
    ]
    return f"did you mean {' or '.join(map(repr, close_names))}? " if close_names else ""


def missing_path_hint(path: str | Path) -> str:
    """Return what to do about a path to read that does not exist, with similar names in its folder."""
    path = Path(path)
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), _NAMES_MAX)]
    except FileNotFoundError:
        return f"check the path: there is no folder {path.parent} either"
    except OSError:
        names = []
    start = "" if path.is_absolute() else ": it starts in the current folder"
    return f"{did_you_mean(path.name, names)}check the path{start}"
