"""Configure all tests: markers, fast tests, and one browser for the tests of pages."""

from __future__ import annotations

import gc
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import settings

from browser_support import ObservedRun, opened_browser, watched_page
from effort import FAST_COPIES, NOT_FAST, examples
from selection import SET_MARKS, may_match, set_marks_named

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MARKED_BY_FIXTURE = {"browser": "browser", "sshd": "daemon"}
MEMORY = Path("/dev/shm")
MEMORY_MIN_BYTES = 4 << 30
"""Minimum free space of the file system in memory for the temporary folders of tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help=f"without tests marked {', '.join(NOT_FAST)}, and with a tenth of the damaged copies and examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as assay does; NumPy reads it when it is imported
    if config.getoption("--fast") or os.environ.get("ASSAY_IN_MEMORY") == "1":
        _use_memory_for_temporary_folders()
    if config.getoption("--fast"):
        os.environ.setdefault("ASSAY_FUZZ", str(FAST_COPIES))
    # A busy machine is slow, and that is no failure. What is tried is the same each time, so that what decides on a
    # change decides by the change; ASSAY_SEARCH=1 looks for what was never tried.
    search = os.environ.get("ASSAY_SEARCH") == "1"
    settings.register_profile("assay", deadline=None, max_examples=examples(100), derandomize=not search)
    settings.load_profile("assay")


def _use_memory_for_temporary_folders() -> None:
    """Make the folders of ``tmp_path`` where writing and flushing need a tenth less CPU time of all tests."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_MIN_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude modules and collected tests, which stay alive, from garbage collection."""
    from assay.interfaces.cli.main import GC_THRESHOLD

    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD)
        gc.enable()


def pytest_unconfigure() -> None:
    """Collect modules again: nanobind reports objects that exist when Python ends."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _no_terminal_width() -> None:
    """Remove COLUMNS, which pytest-xdist sets in its workers and which tables honour."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def _shared_duckdb() -> Iterator[None]:
    """Start DuckDB once, and not with each repository that a test opens, which takes 12 ms of CPU."""
    from assay.store.index.tables import DuckDBReader

    with mock.patch("assay.store.repository.DuckDBReader", return_value=DuckDBReader()):
        yield


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules before import: for fast tests those without one, and those that name no marker of ``-m``."""
    if not collection_path.match("test_*.py"):
        return None
    if not may_match(collection_path, config.option.markexpr):
        return True
    if not config.getoption("--fast"):
        return None
    marks = re.findall(
        r"^pytestmark = \[?pytest\.mark\.(\w+)", collection_path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return True if set(marks) & set(NOT_FAST) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures that they use, and leave out what is not fast where that is asked for.

    Modules that use the browser come last: while it is open, its event loop is the thread's, and no other can run.
    """
    for item in items:
        for name in MARKED_BY_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKED_BY_FIXTURE[name])
        if unnamed := {mark.name for mark in item.iter_markers()} & SET_MARKS - set_marks_named(item.path):
            raise pytest.UsageError(f"{item.nodeid} has {unnamed}, which its module does not name: `-m` would miss it")
        if _marked(item, "root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root: NOT tested"))
        if _marked(item, "long") and os.environ.get("ASSAY_LONG") != "1":
            item.add_marker(pytest.mark.skip(reason="takes minutes: NOT tested here; `make test-long` does"))
    if config.getoption("--fast"):
        left_out = [item for item in items if _marked(item, *NOT_FAST)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not _marked(item, *NOT_FAST)]
    with_browser = {item.path for item in items if _marked(item, "browser")}
    items.sort(key=lambda item: item.path in with_browser)


def _marked(item: pytest.Item, *names: str) -> bool:
    return any(item.get_closest_marker(name) for name in names)


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """Yield a temporary folder that is never in memory, as ``tmp_path`` may be."""
    with tempfile.TemporaryDirectory(prefix="assay-test-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield one Chromium for all modules that use it; they come last."""
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def watched(browser: Browser, server: str) -> Iterator[ObservedRun]:
    """Open a page of the module's own ``server``, and check at the end that nothing went wrong on it."""
    with watched_page(browser, server) as page:
        yield page
