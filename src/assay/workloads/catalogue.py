"""Map plan names to workloads, which are discovered in this package.

A module declares its workloads in a tuple ``WORKLOADS``. No other file lists them.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache, lru_cache

import assay.workloads
from assay.workloads.workload import Workload


def workloads() -> Mapping[str, Workload]:
    """Return name to workload, sorted by module and then in the order of each module."""
    return _declared_workloads(tuple(assay.workloads.__path__))


@lru_cache(maxsize=10_000)
def known_name(spelling: str) -> str:
    """Return the declared name of a workload from another spelling, for example ``dfsioe_write``.

    Undeclared names are returned unchanged.
    """
    name = spelling.casefold().replace("_", "-")
    return name if name in workloads() else spelling


def generates_input(name: str) -> bool:
    """Return whether a workload's runs only generate another workload's input.

    ALOJA records these runs under the benchmark's name with the prefix ``prep_`` (github Aloja/aloja,
    ``common_benchmarks.sh``).
    """
    return name.startswith("prep_")


@cache
def _declared_workloads(folders: tuple[str, ...]) -> Mapping[str, Workload]:
    """Return the workloads of the modules in ``folders``.

    Raises ValueError if a workload lacks a title or a data flow, or if two have the same name.
    """
    by_name: dict[str, Workload] = {}
    for module in sorted(pkgutil.iter_modules(folders), key=lambda module: module.name):
        for workload in getattr(importlib.import_module(f"assay.workloads.{module.name}"), "WORKLOADS", ()):
            if workload.name in by_name:
                raise ValueError(f"two workloads are called {workload.name!r}")
            if missing_parts := [part for part in ("title", "flow") if not hasattr(workload, part)]:
                raise ValueError(f"workload {workload.name!r} does not declare its {' and '.join(missing_parts)}")
            by_name[workload.name] = workload
    return by_name
