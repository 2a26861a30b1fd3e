"""Store a profile that was recorded outside assay, as a bundle next to the bundle of its run.

A run's bundle never changes. The profile is an import without runs, whose id is made from the run's id::

    import.json, runs.parquet, source/   as in :mod:`.imports`; runs.parquet is empty
    profile.json                         the run's id, and the facts about the profile
    logs/profiles/                       stacks and times, named by :mod:`assay.analysis.code_profile.files`
    SHA256SUMS                           checksums of all other files
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec

from assay.analysis.code_profile.recorded import ProfileKind
from assay.foundation.errors import RepositoryError
from assay.store.bundles.bundle import file_in, write_log, write_sums
from assay.store.bundles.content_ids import uuid8
from assay.store.exchange.imports import Batch, SourceFile, write_import

FORMAT = "profile"
"""Name of the format in ``import.json``."""
PROFILE_FILE = "profile.json"

ProfileSource = Literal["imported JFR recording", "imported pprof profile", "imported collapsed stacks"]


class AttachedFacts(msgspec.Struct, frozen=True):
    """Facts about an attached profile: its run, what was sampled, and the format of its files."""

    run_id: str
    kind: ProfileKind
    method: ProfileSource
    interval_ms: Annotated[float, msgspec.Meta(gt=0)] | None
    """Time between two samples; None if counts are not samples, or if the files do not state it."""
    recordings: int

    @classmethod
    def of(cls, bundle: Path) -> Self | None:
        """Return the facts in a bundle; None if it does not exist. Raises RepositoryError if they are damaged."""
        try:
            return msgspec.json.decode((bundle / PROFILE_FILE).read_bytes(), type=cls)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise RepositoryError(
                f"the attached profile is damaged: {error}",
                where=str(bundle / PROFILE_FILE),
                hint="`assay verify` lists all damage; restore the bundle from a copy",
            ) from error


@dataclass(frozen=True, slots=True)
class AttachedProfile:
    """A profile to store: facts, and logs by name."""

    facts: AttachedFacts
    logs: Mapping[str, bytes]


def profile_bundle(bundles: Path, run_id: str) -> Path:
    """Return the path of the bundle with the attached profile of a run, which may not exist."""
    return bundles / uuid8("profile", run_id)


def write_profile(
    folder: Path, name: str, profile: AttachedProfile, sources: Sequence[SourceFile], assay_version: str
) -> None:
    """Write the bundle ``name`` to the empty ``folder``, checksums last. Raises OSError if the disk fails or is
    full."""
    write_import(folder, Batch(name, FORMAT, [], [], [], [], [], [], sources), assay_version)
    (folder / PROFILE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(profile.facts), indent=2) + b"\n")
    for log_name, content in profile.logs.items():
        write_log(file_in(folder / "logs", f"{log_name}.gz"), content)
    write_sums(folder)
