"""Define the layout of a repository's folder. ``docs/reference/repository.md`` lists its names.

In: the folder. Out: the paths in it, whether they exist or not.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARKER: Final = "repository.json"
"""File that marks a folder as a repository."""
INITIAL_FOLDERS: Final = ("bundles", "index", "partial")
"""Folders that are created with the repository, before its marker."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The paths in the repository at ``root``."""

    root: Path

    @property
    def marker(self) -> Path:
        """The file that makes the folder a repository. It has the version of the layout."""
        return self.root / MARKER

    @property
    def signers(self) -> Path:
        """Accepted signers of bundles from other repositories, added by people; see store/bundles/signatures.py."""
        return self.root / "allowed_signers"

    @property
    def bundles(self) -> Path:
        """Finished runs and imports: one folder each, which never changes."""
        return self.root / "bundles"

    @property
    def index(self) -> Path:
        """Files derived from the bundles; they can be deleted at any time."""
        return self.root / "index"

    @property
    def outdated(self) -> Path:
        """Time from which each index file is outdated, in seconds since 1970, as JSON."""
        return self.index / "outdated.json"

    @property
    def models(self) -> Path:
        """Models learned from the runs: derived like the index, and deleted with it."""
        return self.index / "models"

    @property
    def partial(self) -> Path:
        """Files in progress; see :mod:`assay.store.bundles.staging`."""
        return self.root / "partial"

    @property
    def campaigns(self) -> Path:
        """One folder per campaign, named after its id; see :mod:`assay.store.campaigns.journal`."""
        return self.root / "campaigns"

    @property
    def plans(self) -> Path:
        """Plans that a server runs, each with its cluster file and its campaign's output."""
        return self.root / "plans"

    @property
    def checks(self) -> Path:
        """Results of host checks; see :mod:`assay.store.check_reports`."""
        return self.root / "checks"

    @property
    def clusters(self) -> Path:
        """Cluster files that a server offers for plans; people put them there."""
        return self.root / "clusters"
