"""Name the files of a profile in a bundle. This module defines the format of these names.

A bundle's logs have these files for each recorded JVM:

- ``profiles/RECORDING.jfr``, the recording as the JVM wrote it;
- ``profiles/RECORDING.PART.collapsed``, the stacks of one part of it as collapsed text (:mod:`.stacks`);
- ``profiles/RECORDING.PART.seconds``, when these stacks were sampled (:mod:`.seconds`). Profiles of ``alloc`` and
  ``lock`` have none, nor do bundles of assay before 0.3.0.

RECORDING is the id of a task attempt of MapReduce, ``executor-ID`` of a Spark executor, ``driver`` of a Spark driver,
``datanode-NODE`` or ``nodemanager-NODE`` of a daemon, or the name of an imported file. PART is a named part of the
JVM's time:

- ``map``, ``shuffle``, ``merge`` or ``reduce``, the phases of a MapReduce attempt;
- ``datanode`` or ``nodemanager``, a daemon while the job runs;
- ``stage-3``, while tasks of this Spark stage run on the executor, or on any executor for the driver;
- ``stage-3+4``, while several stages run;
- ``no-stage``, while no stage runs: JVM start, gaps between stages, JVM end;
- ``other-stages``, short stages of a program with very many stages;
- ``whole``, an imported file without parts;
- ``unknown``, samples that belong to no other part.

RECORDING may have dots, PART has none.
"""

import re
from collections.abc import Collection

FOLDER, RECORDED, STACKS, TIMES = "profiles/", ".jfr", ".collapsed", ".seconds"
"""Folder of the files, and the endings of their names: of recordings, of stacks and of the times of stacks."""
DRIVER, EXECUTOR = "driver", "executor-"
DAEMONS = ("datanode", "nodemanager")
"""The daemons that can be profiled, as parts of their recordings."""
JOB = "job"
NO_STAGE, OTHER_STAGES, WHOLE, UNKNOWN = "no-stage", "other-stages", "whole", "unknown"
_PART = re.compile(
    rf"map|shuffle|merge|reduce|{'|'.join(DAEMONS)}|stage-[0-9]+(\+[0-9]+)*|{NO_STAGE}|{OTHER_STAGES}|{WHOLE}|{UNKNOWN}"
)
_STAGES = re.compile(r"stage-([0-9]+(?:\+[0-9]+)*)")


def stacks_file(recording: str, part: str) -> str:
    """Return the name of the file with the stacks of one part of a recording."""
    return f"{FOLDER}{recording}.{part}{STACKS}"


def times_file(recording: str, part: str) -> str:
    """Return the name of the file with the times of one part of a recording."""
    return f"{FOLDER}{recording}.{part}{TIMES}"


def recording_and_part(name: str) -> tuple[str, str] | None:
    """Return the recording and the part of a file of stacks; None for other files."""
    if not (name.startswith(FOLDER) and name.endswith(STACKS)):
        return None
    recording, _, part = name.removeprefix(FOLDER).removesuffix(STACKS).rpartition(".")
    return recording, part


def stage_part(stages: Collection[int]) -> str:
    """Return the part while these stages run."""
    return f"stage-{'+'.join(map(str, sorted(stages)))}" if stages else NO_STAGE


def stages_of(part: str) -> frozenset[int]:
    """Return the stages of a part; empty for parts without stages."""
    match = _STAGES.fullmatch(part)
    return frozenset(map(int, match[1].split("+"))) if match else frozenset()


def daemon_recording(daemon: str, node: str) -> str:
    """Return the name of the recording of a daemon on a node."""
    return f"{daemon}-{node}"


def process_of(part: str) -> str:
    """Return the kind of process that a part belongs to: a daemon, or ``job`` for tasks, executors and drivers."""
    return part if part in DAEMONS else JOB


def is_part(name: str) -> bool:
    """Return whether ``name`` is a part that this format defines."""
    return _PART.fullmatch(name) is not None
