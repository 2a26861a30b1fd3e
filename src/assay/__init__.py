"""assay measures which storage, network and configuration a Hadoop or Spark cluster should have, and at what cost.

In a program or a notebook::

    import assay

    repository = assay.open("results")
    print(repository.decide("storage"))

Importing the package loads nothing else: each name is imported when it is first used.
"""

import importlib
import typing

from assay.foundation.version import __version__

if typing.TYPE_CHECKING:
    from assay.foundation.errors import (
        AssayError,
        EngineError,
        FormatError,
        HostError,
        LabError,
        MissingLibraryError,
        RepositoryError,
        SpecificationError,
    )
    from assay.interfaces.python.answer import Answer, AnswerChart
    from assay.interfaces.python.repository import OpenedRepository
    from assay.interfaces.python.repository import open_repository as open  # noqa: A004 - it is named assay.open
    from assay.interfaces.python.run import run_plan as run
    from assay.interfaces.python.size import size_from_logs as size

_ERRORS = "assay.foundation.errors"
_PUBLIC = {
    "Answer": ("assay.interfaces.python.answer", "Answer"),
    "AnswerChart": ("assay.interfaces.python.answer", "AnswerChart"),
    "AssayError": (_ERRORS, "AssayError"),
    "EngineError": (_ERRORS, "EngineError"),
    "FormatError": (_ERRORS, "FormatError"),
    "HostError": (_ERRORS, "HostError"),
    "LabError": (_ERRORS, "LabError"),
    "MissingLibraryError": (_ERRORS, "MissingLibraryError"),
    "OpenedRepository": ("assay.interfaces.python.repository", "OpenedRepository"),
    "RepositoryError": (_ERRORS, "RepositoryError"),
    "SpecificationError": (_ERRORS, "SpecificationError"),
    "open": ("assay.interfaces.python.repository", "open_repository"),
    "run": ("assay.interfaces.python.run", "run_plan"),
    "size": ("assay.interfaces.python.size", "size_from_logs"),
}
"""Each public name with the module that defines it, and its name there."""

__all__ = [
    "Answer",
    "AnswerChart",
    "AssayError",
    "EngineError",
    "FormatError",
    "HostError",
    "LabError",
    "MissingLibraryError",
    "OpenedRepository",
    "RepositoryError",
    "SpecificationError",
    "__version__",
    "open",
    "run",
    "size",
]


def __getattr__(name: str) -> typing.Any:
    """Import a public name when it is first used. Raises AttributeError for another name."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'assay' has no attribute {name!r}; it has {', '.join(__all__)}")
    module, attribute = _PUBLIC[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
