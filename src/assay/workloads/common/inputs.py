"""Describe data that a run needs: its generator, its folder in HDFS, and its expected size."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.model import Program

ROOT = "/assay"
INPUT = f"{ROOT}/input"
OUTPUT = f"{ROOT}/output"


@dataclass(frozen=True, slots=True)
class Input:
    """Data that a run needs; made once per layout and kept at ``path``, with a manifest in the parent folder."""

    program: Program
    """The generator."""
    name: str
    data_bytes: int
    replication: int
    counters: tuple[str, ...] = ()
    """Counters of the generator that later checks need; they are kept in the manifest."""
    path: str = ""
    """Folder that the generator writes."""
    exact: bool = True
    """Whether the data has exactly ``data_bytes``; the size of random text is approximate."""
    needs: Input | None = None
    """The input that the generator needs."""
    files: int | None = None
    """Number of files of the data, if the program that reads it requires a number."""

    def path_of(self, folder: str) -> str:
        """Return ``folder`` below a path that consists of the input's name and a checksum of everything that
        determines its content."""
        identity = json.dumps(
            [
                self.program.main_class,
                self.program.arguments,
                sorted(self.program.options.items()),
                self.data_bytes,
                self.replication,
            ]
        )
        return f"{INPUT}/{self.name}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}/{folder}"

    def with_program(self, program: Program, *, path: str) -> Input:
        """Return this input with another generator and folder."""
        return replace(self, program=program, path=path)

    @property
    def manifest_path(self) -> str:
        """The path of the manifest, in the parent folder of the data."""
        return f"{self.path.rsplit('/', 1)[0]}/manifest.json"


def generated_input(
    name: str,
    generator: Callable[[str], Program],
    data_bytes: int,
    replication: int,
    *,
    counters: tuple[str, ...] = (),
    exact: bool = False,
) -> Input:
    """Return the input whose program is ``generator``, called with the folder that the program writes."""
    input_ = Input(generator(""), name, data_bytes, replication, counters, exact=exact)
    folder = input_.path_of("data")
    return input_.with_program(generator(folder), path=folder)
