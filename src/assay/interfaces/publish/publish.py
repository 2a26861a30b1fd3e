"""Publish a repository: collect the files of the site and write those that changed.

In: a repository, the selected runs, a price book. Out: a folder with pages that work from a web server and from files.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from assay.analysis.statistics import ANOMALY, NO_ANOMALY, RunTable
from assay.foundation.errors import AssayError
from assay.foundation.units import format_bytes
from assay.foundation.version import __version__
from assay.interfaces.publish.assets import asset_files
from assay.interfaces.publish.cost_page import cost_values
from assay.interfaces.publish.downloads import csv_bytes, json_bytes, package_bytes, parquet_bytes
from assay.interfaces.publish.explorer import explorer_data
from assay.interfaces.publish.relative_page import relative_values
from assay.interfaces.publish.run_pages import ConfigurationLimits, run_pages
from assay.interfaces.publish.site_folder import SiteFile, SiteSummary, check_site, newest_path, write_site
from assay.interfaces.web.rendering.rendering import Rendering
from assay.interfaces.web.rendering.shown_decisions import shown_questions_of
from assay.interfaces.web.state.answering import palette
from assay.model import LAYOUT_FACTOR, ImportedRun, PriceBook, Run, TaskAttempt, Trace
from assay.questions.commands import NO_OPTIONS
from assay.questions.comparisons.relative_times import relative_times
from assay.questions.costs.cost_effectiveness import cost_effectiveness
from assay.questions.decisions.answers import QuestionAnswer, answer_questions
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import answer_of
from assay.questions.decisions.sentences.question_sentences import view_of
from assay.questions.json_values import json_value
from assay.questions.runs.limits import limit_of_ids
from assay.questions.runs.overview import counts_of
from assay.questions.runs.private_fields import PublicRuns, private_columns, public_parts, public_runs
from assay.questions.runs.workload_limits import newest_of_configurations
from assay.questions.trust.flags import flags_in
from assay.store import Repository

DOWNLOADS: Final = (
    ("runs.csv", "All runs as a table, CSV"),
    ("runs.parquet", "All runs as a table, Parquet"),
    ("decisions.json", "The decisions, as `assay decide --json` prints them"),
    ("runs.tar.gz", "The runs with task attempts and traces, for `assay pull`"),
)
"""Files of the folder ``downloads`` with their descriptions."""
_PACKAGE: Final = "runs.tar.gz"


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What to publish, and where."""

    folder: Path
    title: str
    prices: PriceBook | None = None
    where: tuple[str, ...] = ()
    keep_private: bool = False
    """Whether private fields are published, too."""


@dataclass(frozen=True, slots=True)
class _Site:
    """The data of the pages and downloads of a site."""

    repository: Repository
    table: RunTable
    request: PublishRequest
    rendering: Rendering
    public: PublicRuns
    answers: tuple[QuestionAnswer, ...]
    traced_ids: frozenset[str]
    """Ids of runs with task attempts or a trace."""

    def page(self, name: str, path: str, **values: Any) -> bytes:
        """Return a page from its template. ``path``: its path in the site."""
        root = "../" * path.count("/")
        common_values: dict[str, Any] = {
            "root": root,
            "site_title": self.request.title,
            "version": __version__,
            "here": path,
        }
        common_values["has_cost_page"] = self.request.prices is not None
        return self.rendering.html(name, **common_values, **values).encode()

    @property
    def page_settings(self) -> str:
        """Settings of the site that every page of a run depends on, as JSON."""
        return json.dumps(
            [self.request.title, self.request.keep_private, self.request.prices is not None, sorted(self.public.names)]
        )

    def observations(self, run: Run) -> tuple[tuple[TaskAttempt, ...], Trace]:
        """Return the task attempts and the trace of a run, without private fields; both empty if it has none."""
        if run.run_id not in self.traced_ids:
            return (), Trace()
        tasks, trace = tuple(self.repository.tasks(run.run_id)), self.repository.trace(run.run_id)
        return (tasks, trace) if self.request.keep_private else public_parts(tasks, trace)


def publish_site(
    repository: Repository, table: RunTable, request: PublishRequest, progress: Callable[[int, int], None]
) -> tuple[SiteSummary, PublicRuns]:
    """Write the site of the runs in ``table``; return what was written, and the private fields that were removed.

    Raises SpecificationError if the folder holds other files, and AssayError if it can't be written.
    """
    check_site(request.folder)
    runs = repository.runs_at(table, range(len(table)))
    public = PublicRuns(tuple(runs), (), frozenset()) if request.keep_private else public_runs(runs)
    decision_request = DecisionRequest(where=request.where, prices=request.prices)
    answers = answer_questions(repository, table, decision_request)
    traced_ids = frozenset(repository.traced_runs(or_tasks=True))
    site = _Site(repository, table, request, Rendering(), public, answers, traced_ids)
    return write_site(request.folder, [*asset_files(site.rendering), *_site_files(site)], progress), public


def _site_files(site: _Site) -> Iterator[SiteFile]:
    linked_ids = frozenset(run.run_id for run in site.public.runs)
    private_names = private_columns(site.table, site.public.names) if site.public.names else []
    yield SiteFile("index.html", lambda: _decide_page(site))
    if (book := site.request.prices) is not None:
        yield SiteFile("cost.html", lambda: _cost_page(site, book))
    yield SiteFile("relative.html", lambda: _relative_page(site))
    yield SiteFile("runs.html", lambda: site.page("site_runs", "runs.html"))
    yield SiteFile("data/runs.js", lambda: explorer_data(site.repository, site.table, private_names, linked_ids))
    yield from run_pages(
        site.public.runs, _outliers(site), _configuration_limits(site), site.observations, site.page, site.page_settings
    )
    yield SiteFile("downloads/runs.csv", lambda: csv_bytes(site.public.runs))
    yield SiteFile("downloads/runs.parquet", lambda: parquet_bytes(site.public.runs), key=_key_of(site.public.runs))
    yield SiteFile("downloads/decisions.json", lambda: json_bytes(decisions_json(site.answers)))
    yield SiteFile(f"downloads/{_PACKAGE}", lambda: _package(site), key=_key_of(site.public.runs))
    yield SiteFile("data.html", lambda: _data_page(site))


def _configuration_limits(site: _Site) -> ConfigurationLimits:
    limit_of = cache(lambda run_ids: limit_of_ids(site.repository, run_ids))
    return ConfigurationLimits(newest_of_configurations(site.repository, site.table), limit_of)


def _outliers(site: _Site) -> dict[str, str]:
    """Return the kind of each run that is an outlier, by its id."""
    kinds = site.table.columns.get(ANOMALY)
    if kinds is None:
        return {}
    ids = site.repository.ids_at(site.table, range(len(site.table)))
    return {run_id: kind for row, run_id in enumerate(ids) if (kind := kinds.text(row)) not in (None, NO_ANOMALY)}


def decisions_json(answers: Sequence[QuestionAnswer]) -> dict[str, Any]:
    """Return each question's sentences and decisions: the JSON of ``assay decide`` and of ``assay decide QUESTION``."""
    return {
        "questions": [json_value(view_of(answer)) for answer in answers],
        "decisions": {
            answer.question.name: [json_value(answer_of(decision)) for decision in answer.decisions]
            for answer in answers
        },
    }


def _decide_page(site: _Site) -> bytes:
    return site.page(
        "site_decide",
        "index.html",
        counts=counts_of(site.table),
        questions=shown_questions_of(site.table, site.answers, lambda _: (), NO_OPTIONS),
        book=site.request.prices,
        where=site.request.where,
    )


def _cost_page(site: _Site, book: PriceBook) -> bytes:
    common_fields = {"book": book, "colours": palette(site.table, LAYOUT_FACTOR)}
    try:
        views = cost_effectiveness(site.repository, site.table, book, all_runs=flags_in(site.repository).table)
    except AssayError as error:
        return site.page("site_cost", "cost.html", problem=error, **common_fields)
    return site.page("site_cost", "cost.html", problem=None, **common_fields, **cost_values(views))


def _relative_page(site: _Site) -> bytes:
    return site.page("site_relative", "relative.html", **relative_values(relative_times(site.table)))


def _data_page(site: _Site) -> bytes:
    paths = {name: newest_path(site.request.folder, f"downloads/{name}") for name, _ in DOWNLOADS}
    sizes = {name: format_bytes(path.stat().st_size) for name, path in paths.items()}
    return site.page(
        "site_data",
        "data.html",
        downloads=[(name, text, sizes[name]) for name, text in DOWNLOADS],
        removed_fields=site.public.removed,
        keeps_private_fields=site.request.keep_private,
        runs=len(site.table),
    )


def _package(site: _Site) -> bytes:
    def items() -> Iterator[ImportedRun]:
        for run in site.public.runs:
            tasks, trace = site.observations(run)
            yield ImportedRun(run.run_id, run.run_id, run, tasks, trace if len(trace) else None)

    return package_bytes(site.public.runs, items)


def _key_of(runs: Sequence[Run]) -> str:
    """Return a hash of the published runs. Bundles never change, so their task attempts and traces don't either."""
    digest = hashlib.sha256(__version__.encode())
    for run in runs:
        digest.update(msgspec.json.encode(run))
    return digest.hexdigest()
