"""Describe a repository of another version: newer, older or unknown."""

from pathlib import Path

from assay.foundation.errors import RepositoryError


def other_version(version: object, supported: int, marker: Path) -> RepositoryError:
    """Return the error for a repository whose ``marker`` file has another version than the ``supported`` one."""
    number = version if isinstance(version, int) and not isinstance(version, bool) else None
    if number is not None and number > supported:
        age, hint = "a newer", "update assay"
    elif number is not None:
        age, hint = (
            "an older",
            "export its runs with the version of assay that made it, and import them into a new repository",
        )
    else:
        age, hint = "another", f"the marker file {marker.name} should have the version {supported}"
    text = f"{age} version of assay made this repository: version {version!r}; this assay reads {supported}"
    return RepositoryError(text, where=str(marker.parent), hint=hint)
