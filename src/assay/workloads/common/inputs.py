"""Data that must be there before a run: who makes it, where it lies, and when it is complete."""

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
    """Data that must be there before a run; made once per layout and kept at ``place``, with a manifest beside it."""

    program: Program
    """The generator."""
    name: str
    data_bytes: int
    replication: int
    counters: tuple[str, ...] = ()
    """Counters of the generator that later checks need; they are kept in the manifest."""
    place: str = ""
    """Folder that the generator writes."""
    exact: bool = True
    """Whether the data has exactly ``data_bytes``; random text is only about as long."""
    needs: Input | None = None
    """What must be there before the generator can run."""
    files: int | None = None
    """In how many files the data lies, where the program that reads it counts on that."""

    def place_in(self, folder: str) -> str:
        """Return ``folder`` below a path made from the input's name and everything that decides its content."""
        decides = json.dumps(
            [
                self.program.main_class,
                self.program.arguments,
                sorted(self.program.options.items()),
                self.data_bytes,
                self.replication,
            ]
        )
        return f"{INPUT}/{self.name}-{hashlib.sha256(decides.encode()).hexdigest()[:10]}/{folder}"

    def with_program(self, program: Program, *, place: str) -> Input:
        """Return this input with its generator and its place."""
        return replace(self, program=program, place=place)

    @property
    def manifest_path(self) -> str:
        """Where the manifest lies: beside the data, not in it."""
        return f"{self.place.rsplit('/', 1)[0]}/manifest.json"


def generated(
    name: str,
    generator: Callable[[str], Program],
    data_bytes: int,
    replication: int,
    *,
    counters: tuple[str, ...] = (),
    exact: bool = False,
) -> Input:
    """Return the input that ``generator`` writes into the folder it is given."""
    wanted = Input(generator(""), name, data_bytes, replication, counters, exact=exact)
    place = wanted.place_in("data")
    return wanted.with_program(generator(place), place=place)
