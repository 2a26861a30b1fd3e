"""Say why measured runs can't be simulated, and which answers are nearest to a what-if question on them.

In: a repository, its runs, and the changes of the question. Out: :class:`SimulationObstacle`, for terminal and page.
"""

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.analysis.statistics import RunTable
from assay.estimation.prediction.features import number_of
from assay.execution.planning.plan_files.changed_plan import Change
from assay.foundation.units import parse_bytes
from assay.model import NETWORK_FACTOR, WORKERS_FACTOR, Run
from assay.questions.clusters.common_levels import common_levels
from assay.questions.commands import NO_OPTIONS, CommandOptions, command, from_here, recommend_example
from assay.questions.decisions.buyer import NETWORK, NODES
from assay.questions.decisions.sentences.option_words import change_text, option_text
from assay.questions.forecasts.measured import fitting_examples
from assay.questions.forecasts.prediction import why_not_learnable
from assay.store import Repository
from assay.text import capitalised, joined

_FACTORS = {"nic": NETWORK_FACTOR, "workers.count": WORKERS_FACTOR}
"""Factor of a plan by the name of the change, where the two names differ."""
_DEFAULT_CHANGES = (("nic", "network"), ("workers.count", "number of workers"))
"""Changes that are described if the question has none: name, and in words."""
_QUESTIONS = {NETWORK_FACTOR: NETWORK, WORKERS_FACTOR: NODES}
"""The question of ``assay decide`` that compares the levels of a factor."""
_FIT_REASON = "it has the scale, disks and network of these runs"
"""Why a cluster file fits runs."""


@dataclass(frozen=True, slots=True)
class SimulationObstacle:
    """Why runs can't be simulated, and what answers instead."""

    missing: tuple[str, ...]
    """What the runs lack for a simulation."""
    clusters: tuple[str, ...]
    """Paths of example cluster files that fit the runs: with one of them, they can be simulated."""
    measured: tuple[str, ...]
    """For each change, the measured levels of its factor in words, or that the runs have no such factor. Without
    changes, the same of the network and the number of workers."""
    compared: tuple[str, ...]
    """Questions of ``assay decide`` that compare measured levels of the changed factors."""
    unpredictable: str
    """Why no time can be predicted from these runs; empty if one can."""
    prediction: tuple[str, ...]
    """Conditions of ``assay predict`` with the changes; empty if the runs predict no time with them."""
    changes: tuple[str, ...]
    """The changes in words."""
    workload: str
    """The workload with the most runs."""
    folder: str
    """Folder of the repository whose cluster files the page What if lists."""

    @property
    def sentence(self) -> str:
        """Why these runs can't be simulated."""
        return f"these runs can't be simulated: they lack {joined(self.missing)}"

    @property
    def remedy(self) -> str:
        """What to add where, so that these runs can be simulated."""
        if len(self.missing) > 1:
            return "Runs that assay measures have both. The size of the data can't be added to stored runs."
        if self.clusters:
            copy_text = f"Copy it to {self.folder}, and the page What if lists it"
            return f"The file {self.clusters[0]} fits: {_FIT_REASON}. {copy_text}."
        return (
            f"Describe the cluster of these runs in a cluster file. Copy it to {self.folder}, and the page What if "
            "lists it if it fits the runs."
        )


def simulation_obstacle(
    repository: Repository, table: RunTable, runs: Sequence[Run], changes: Sequence[Change]
) -> SimulationObstacle:
    """Return why ``runs``, which have no cluster file, can't be simulated."""
    subjects = [(name, change_text(name, value)) for name, value in changes]
    missing_facts = ["a cluster file with their nodes and disks"]
    if not any(run.data_bytes for run in runs):
        missing_facts.insert(0, "the size of their data")
    clusters = fitting_examples(repository, runs)
    workload = Counter(run.workload for run in runs).most_common(1)[0][0]
    unpredictable = why_not_learnable(table)
    measured_texts, compared_questions = [], []
    for name, subject in subjects or _DEFAULT_CHANGES:
        factor = _FACTORS.get(name, name)
        recorded_levels = _levels_of(table, factor)
        if len(recorded_levels) > 1 and factor in _QUESTIONS:
            compared_questions.append(_QUESTIONS[factor])
        known_levels = recorded_levels or common_levels(repository, table, factor)[0]
        texts = joined([option_text(factor, level) for level in known_levels])
        if len(known_levels) > 1:
            measured_texts.append(f"{capitalised(subject)}: the measured levels are {texts}.")
        else:
            measured_texts.append(
                f"{capitalised(subject)}: {f'the runs have {texts}' if known_levels else 'no run records it'}."
            )
    return SimulationObstacle(
        missing=tuple(missing_facts),
        clusters=clusters,
        measured=tuple(measured_texts),
        compared=tuple(compared_questions),
        unpredictable=unpredictable,
        prediction=() if unpredictable else _prediction(table, workload, changes),
        changes=tuple(text for _, text in subjects),
        workload=workload,
        folder=_clusters_folder(repository),
    )


def _clusters_folder(repository: Repository) -> str:
    """Return the repository's folder of cluster files from the current folder, else from the repository's parent.

    Pages show it, so it is no path from the root of the server.
    """
    path = repository.folders.clusters.resolve()
    folder = from_here(path)
    return f"{path.parent.name}/{path.name}" if Path(folder).is_absolute() else folder


def _levels_of(table: RunTable, factor: str) -> list[str]:
    column = table.columns.get(factor)
    levels = [] if column is None else sorted(str(level) for level in column.levels if level is not None)
    return levels if any(math.isnan(number_of(level)) for level in levels) else sorted(levels, key=number_of)


def _prediction(table: RunTable, workload: str, changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the conditions that predict a time with all changes; empty if the runs do not show the effect of each."""
    conditions = [f"workload={workload}"]
    for name, value in changes:
        factor = _FACTORS.get(name, name)
        levels = _levels_of(table, factor)
        is_level = any(_same_level(level, value) for level in levels) or not math.isnan(number_of(value))
        if len(levels) < 2 or not is_level:
            return ()
        conditions.append(f"{factor}={value}")
    return tuple(conditions)


def _same_level(level: str, value: str) -> bool:
    if level.casefold() == value.casefold():
        return True
    try:
        return number_of(level) == parse_bytes(value)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class NearAnswer:
    """A command that answers a part of the question, what it does, and the page that does the same."""

    command: str
    effect: str
    address: str = ""
    """Address of the page; empty for a command alone."""


def near_answers(obstacle: SimulationObstacle, options: CommandOptions) -> tuple[NearAnswer, ...]:
    """Return the commands that answer as far as possible, as they can be run. ``options``: those of the question."""
    answers = list(_answers_from_runs(obstacle, options))
    if len(obstacle.missing) == 1 and not obstacle.clusters:
        simulate = command("whatif", options=replace(options, cluster="FILE"))
        effect = "simulates the runs from a cluster file that you write; no example fits these runs"
        answers.append(NearAnswer(simulate, effect))
    if example := recommend_example(NO_OPTIONS):
        answers.append(NearAnswer(example, "simulates new hardware without runs, at example prices", "/recommend"))
    measured = joined(list(obstacle.changes)) or "the cluster as it is, or changed"
    return (
        *answers,
        NearAnswer("assay size --help", "simulates a job on other clusters from its job history or event log"),
        NearAnswer("assay discover --help", "writes the cluster file of your hosts, which a plan needs"),
        NearAnswer("assay run --help", f"runs a plan that measures {measured}; its runs can be simulated", "/plan"),
    )


def _answers_from_runs(obstacle: SimulationObstacle, options: CommandOptions) -> Iterator[NearAnswer]:
    """Yield the commands that answer from the stored runs."""
    if obstacle.clusters:
        simulate = command("whatif", options=replace(options, cluster=obstacle.clusters[0]))
        yield NearAnswer(simulate, f"simulates these runs with a shipped cluster file: {_FIT_REASON}")
    if obstacle.prediction:
        predict = command("predict", "--where", ",".join(obstacle.prediction), options=options)
        effect = f"predicts the time with {joined(list(obstacle.changes))}" if obstacle.changes else "predicts times"
        yield NearAnswer(predict, f"{effect} from these runs", "/predict")
    for name in obstacle.compared:
        yield NearAnswer(command("decide", name, options=options), "compares the measured levels")


def hint_of(obstacle: SimulationObstacle, options: CommandOptions) -> str:
    """Return what was measured of the changes, and the commands that answer as far as possible."""
    if obstacle.clusters:
        return f"add --cluster {shlex.quote(obstacle.clusters[0])}: {_FIT_REASON}"
    lines = [f"{near_answer.command}\n        {near_answer.effect}" for near_answer in near_answers(obstacle, options)]
    lead = (
        "These commands answer as far as possible:"
        if any(_answers_from_runs(obstacle, options))
        else "No command answers this from these runs. Simulate other hardware, or measure it:"
    )
    return "\n    ".join([*obstacle.measured, lead, *lines])
