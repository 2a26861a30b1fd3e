"""What people read for a name: of a workload, a lab's scale, an origin, a version."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model.run import Origin, Run
from assay.wording.numbers import NOTHING
from assay.workloads.catalogue import workloads


def workload_titles() -> dict[str, str]:
    """Return name to title of assay's workloads."""
    return {name: workload.title for name, workload in workloads().items()}


def workload_title(name: str, context: str = "") -> str:
    """Return a workload's title, with what sets it apart from others of its name.

    One that is not assay's is called what its plan or its source called it.
    """
    declared = workloads().get(name)
    title = declared.title if declared else name
    return f"{title} ({context})" if context else title


def scale_text(scale: float) -> str:
    """Return a lab's scale as people write it: ``1/20``."""
    return f"1/{1 / scale:g}" if scale < 1 else "1"


def origin_text(origin: Origin, lab_scale: float | None) -> str:
    """Return where a number comes from: ``measured in a lab at scale 1/20``."""
    return f"{origin.value} in a lab at scale {scale_text(lab_scale)}" if lab_scale is not None else origin.value


def origins_text(pairs: Iterable[tuple[Origin, float | None]]) -> str:
    """Return every distinct origin, joined."""
    return "; ".join(dict.fromkeys(origin_text(origin, scale) for origin, scale in pairs)) or NOTHING


def assay_version(run: Run) -> str:
    """Return the version of assay that made the run, or a dash when it is not recorded."""
    found = run.environment.get("assay")
    return str(found.get("version", NOTHING) if isinstance(found, dict) else found or NOTHING)
