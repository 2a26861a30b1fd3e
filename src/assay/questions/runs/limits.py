"""Find what limited a run, and how much faster it could be at most, from its traces and task attempts.

In: a repository and a run. Out: :class:`~assay.analysis.run_profile.limits.run_limits.Limits`, and sentences that begin
with the limit of the newest runs of its configuration: one run alone can differ from its repetitions.
"""

from collections.abc import Sequence

from assay.analysis.run_profile.limits.run_limits import Limits, limits_of
from assay.analysis.run_profile.tables.limits_tables import bound_sentence, limit_clause, limit_sentence
from assay.analysis.statistics import RunTable
from assay.foundation.errors import RepositoryError
from assay.foundation.units import format_percent
from assay.questions.runs.complete_run import CompleteRun, read_complete_run
from assay.questions.runs.workload_limits import WorkloadLimit, limit_of_runs, limits_verb, newest_of_configurations
from assay.store import Repository
from assay.text import capitalised


def limits_of_run(repository: Repository, run_id: str) -> Limits:
    """Return the limits of the run whose id begins with ``run_id``. Raises RepositoryError for a run without traces."""
    complete_run = read_complete_run(repository, repository.run(run_id))
    limits = limits_of_complete_run(complete_run)
    if limits is None:
        raise RepositoryError(
            "the limits of this run are unknown: it has no traces of its workers",
            where=f"run {complete_run.run.run_id}",
            hint="runs that assay executes have traces; imported runs have them if samples were imported too",
        )
    return limits


def limits_of_complete_run(complete_run: CompleteRun) -> Limits | None:
    """Return the limits of a loaded run; None without traces of its workers."""
    return limits_of(complete_run.run, complete_run.tasks, complete_run.trace)


def configuration_limit(repository: Repository, table: RunTable, run_id: str) -> WorkloadLimit | None:
    """Return what limited the newest runs of a run's configuration; None unless it is valid, measured and traced."""
    return limit_of_ids(repository, newest_of_configurations(repository, table).get(run_id, ()))


def limit_of_ids(repository: Repository, run_ids: Sequence[str]) -> WorkloadLimit | None:
    """Return what limited these runs of one configuration; None without any."""
    return limit_of_runs(repository, [repository.run(run_id) for run_id in run_ids])


def run_limit_sentence(limits: Limits, configuration: WorkloadLimit | None) -> str:
    """Return the limit of the run's configuration if it has several runs, and the limit of this run.

    ``No clear limit over 3 runs of this configuration (CPU 31 %, fixed costs 27 % of the run time). In this run, the
    CPU limited 5.2 of 15.5 s.``
    """
    if configuration is None or configuration.runs < 2:
        return limit_sentence(limits)
    if configuration.is_clear:
        limit = capitalised(limits_verb(configuration.limit))
        share = format_percent(configuration.time_share)
        first = f"{limit} this configuration ({share} of the run time, {configuration.runs} runs)"
    else:
        first = f"No clear limit over {configuration.runs} runs of this configuration ({configuration.longest})"
    is_clear_here = limits.rival is None
    return f"{first}. In this run, {'' if is_clear_here else 'no limit is clear: '}{limit_clause(limits)}."


def run_limit_answer(limits: Limits, configuration: WorkloadLimit | None) -> str:
    """Return :func:`run_limit_sentence`, and how much faster the run could be at most without its limit."""
    return " ".join(filter(None, (run_limit_sentence(limits, configuration), bound_sentence(limits))))


def listed_limits(repository: Repository, table: RunTable, run_ids: Sequence[str]) -> dict[str, str]:
    """Return the limit of each run in a sentence; runs without a trace are omitted."""
    traced_ids = repository.traced_runs()
    newest_ids = newest_of_configurations(repository, table)
    ids_of_run = {run_id: newest_ids.get(run_id, ()) for run_id in run_ids if run_id in traced_ids}
    limit_by_ids = {ids: limit_of_ids(repository, ids) for ids in set(ids_of_run.values())}
    sentences = {}
    for run_id, ids in ids_of_run.items():
        limits = limits_of_complete_run(read_complete_run(repository, repository.run(run_id)))
        if limits is not None:
            sentences[run_id] = run_limit_sentence(limits, limit_by_ids[ids])
    return sentences
