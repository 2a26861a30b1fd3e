"""Shorten the starts of the tests' JVMs with class archives.

One archive is for Hadoop's clients, ApplicationMasters and tasks, one for Spark. The script
``tests/support/java/bin/java`` records the classes of the first JVM of each kind, and uses the archive when it exists.
The archives are in assay's cache next to the archive of the daemons. The name of that archive's folder depends on the
versions of Java and Hadoop.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.execution.engines.hadoop.deployment.class_archive import ClassArchive
from assay.foundation.installation import cache_directory

KINDS = {"hadoop-*/lib": ("Client", "MRAppMaster", "YarnChild"), "spark-*/jars": ("Executor", "SparkSubmit")}
"""Jars below the cache directory, and the kinds of JVM that an archive of their classes needs."""
SMALL_JVM = {"JDK_JAVA_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
"""Environment in which each Java, such as Maven's, starts with the options of a small machine."""
_COMPLETE_S = 30
"""Time without a new class after which a list counts as complete, in seconds."""
_LOST_S = 3600
"""Age of an empty list after which its JVM counts as killed, in seconds."""


def make_class_archives() -> None:
    """Make each archive whose classes are recorded; else prepare the recording.

    Without an archive of the daemons, do nothing.
    """
    cache = cache_directory()
    of_daemons = max(
        cache.glob("classes-????????????/daemons.jsa"), key=lambda path: path.stat().st_mtime, default=None
    )
    if of_daemons is None:
        return
    for jars, kinds in KINDS.items():
        for folder in cache.glob(jars):
            home = folder.parent
            recorded = cache / f"tests-{of_daemons.parent.name}-{home.name}"
            archive = ClassArchive(recorded, "java", f"{folder}/*", "")
            if archive.must_be_made:
                _make(archive, kinds)


def _make(archive: ClassArchive, kinds: tuple[str, ...]) -> None:
    try:
        archive.folder.mkdir(exist_ok=True)
        lock = (archive.folder / "lock").open("w")
    except OSError:  # another user's cache
        return
    with lock, contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _recorded(archive.folder, kinds) and archive.must_be_made:
            with ThreadPoolExecutor(1) as thread:  # the caller may have a running event loop
                thread.submit(asyncio.run, archive.make(print)).result()


def _recorded(folder: Path, kinds: tuple[str, ...]) -> bool:
    """Return whether there is a complete list of each kind; remove lists of JVMs that were killed."""
    complete = set()
    for path in folder.glob("*.classes"):
        listed = path.stat()
        age_s = time.time() - listed.st_mtime
        if listed.st_size and age_s > _COMPLETE_S:
            complete.add(path.stem)
        elif not listed.st_size and age_s > _LOST_S:
            path.unlink(missing_ok=True)
    return complete.issuperset(kinds)
