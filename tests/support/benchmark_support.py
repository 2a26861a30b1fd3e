"""Import the benchmarks as modules, so that tests cover their arithmetic."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from paths import ROOT


def benchmark(name: str) -> Any:
    """Return a module of ``benchmarks/``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if (folder := str(ROOT / "benchmarks")) not in sys.path:
        sys.path.append(folder)  # benchmarks import each other
    spec.loader.exec_module(module)
    return module
