"""Make the page of each run of a site: its facts, what limited it, and its phases, tasks and devices over time.

In: runs without private fields. Out: a file ``runs/ID.html`` for each, which a browser loads when a visitor opens it.
The size of a page is bounded: lines of a trace keep the first, last, lowest and highest point of :data:`WINDOWS_MAX`
spans of time, and numbers of charts have five digits. The page says how many lines and nodes it leaves out.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from assay.analysis.run_profile.run_detail import run_detail
from assay.analysis.run_profile.tables.limits_tables import limit_sections
from assay.analysis.run_profile.tables.run_tables import run_sections
from assay.foundation.version import __version__
from assay.interfaces.charts.single_runs.run_over_time import Span, run_over_time
from assay.interfaces.publish.site_folder import SiteFile
from assay.model import Run, TaskAttempt, Trace
from assay.questions.runs.complete_run import CompleteRun
from assay.questions.runs.limits import limits_of_complete_run, run_limit_answer
from assay.questions.runs.workload_limits import WorkloadLimit

WINDOWS_MAX = 120
"""Maximum number of spans of time whose points a published line keeps."""
DIGITS = 5
"""Number of significant digits of the numbers in a published chart."""
_SECTIONS = (
    ("time", "jobs", "stages", "stage sums", "executors", "tasks"),
    ("data", "disks", "purposes", "nodes"),
    ("configuration", "metrics", "caches", "simulation", "sources"),
)
"""Sections of a run's page, in order."""


class SitePage(Protocol):
    """Makes a page from its template."""

    def __call__(self, name: str, path: str, **values: Any) -> bytes:
        """Return the page at ``path``."""
        ...


ObservationsOf = Callable[[Run], tuple[tuple[TaskAttempt, ...], Trace]]
"""Function that returns the task attempts and the trace of a run, without private fields."""


@dataclass(frozen=True, slots=True)
class ConfigurationLimits:
    """What limits the configuration of each run."""

    newest_ids: Mapping[str, tuple[str, ...]]
    """Ids of the newest runs of a run's configuration, by run id."""
    limit_of: Callable[[tuple[str, ...]], WorkloadLimit | None]
    """Reads the traces of these runs."""


def run_pages(
    runs: tuple[Run, ...],
    outliers: Mapping[str, str],
    configurations: ConfigurationLimits,
    observations: ObservationsOf,
    page: SitePage,
    page_settings: str,
) -> Iterator[SiteFile]:
    """Yield the page of each run. ``outliers``: kind of outlier by run id. ``page_settings``: settings that every page
    depends on, as text."""
    for run in runs:
        kind, newest_ids = outliers.get(run.run_id, ""), configurations.newest_ids.get(run.run_id, ())
        settings = f"{__version__} {page_settings} {kind} {' '.join(newest_ids)} "
        digest = hashlib.sha256(settings.encode() + msgspec.json.encode(run))
        yield SiteFile(
            page_name(run),
            lambda run=run, kind=kind, ids=newest_ids: _run_page(  # type: ignore[misc]
                run, kind, configurations.limit_of(ids), observations, page
            ),
            key=digest.hexdigest(),
        )


def page_name(run: Run) -> str:
    """Return the path of a run's page in the site."""
    return f"runs/{run.run_id}.html"


def _run_page(
    run: Run, outlier: str, configuration: WorkloadLimit | None, observations: ObservationsOf, page: SitePage
) -> bytes:
    tasks, trace = observations(run)
    complete_run = CompleteRun(run, tasks, trace, run_detail(run, tasks, trace))
    limits = limits_of_complete_run(complete_run)
    chart = run_over_time(complete_run, Span(windows_max=WINDOWS_MAX), limits)
    sections = run_sections(run, complete_run.detail, {})
    return page(
        "site_run",
        page_name(run),
        run=run,
        outlier=outlier,
        over_time=rounded(chart) if chart else None,
        phases=sections.get("phases"),
        limit_sentence=run_limit_answer(limits, configuration) if limits else None,
        limits=limit_sections(limits) if limits else (),
        sections=[[sections[name] for name in names if name in sections] for names in _SECTIONS],
    )


def rounded(value: Any) -> Any:
    """Return a chart with numbers of :data:`DIGITS` significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value
