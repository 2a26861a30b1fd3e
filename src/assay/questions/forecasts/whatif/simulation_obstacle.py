"""Say why measured runs can't be simulated, and which answers are nearest to a what-if question on them.

In: a repository, its runs, and the changes of the question. Out: :class:`SimulationObstacle`, for terminal and page.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from assay.analysis.statistics import RunTable
from assay.execution.planning.plan_files.changed_plan import Change
from assay.foundation.installation import installation
from assay.model import NETWORK_FACTOR, WORKERS_FACTOR, Run
from assay.questions.clusters.common_levels import common_levels
from assay.questions.decisions.sentences.option_words import change_text, option_text
from assay.questions.forecasts.measured import fitting_examples, from_here
from assay.questions.forecasts.prediction import can_learn
from assay.store import Repository
from assay.text import capitalised, joined

_FACTORS = {"nic": NETWORK_FACTOR, "workers.count": WORKERS_FACTOR}
"""The factor of a change of another name."""
_USUAL = (("nic", "network", ""), ("workers.count", "number of workers", ""))
"""Changes that are described without a question: name, in words, and no value."""
_EXAMPLE_FILES = ("catalogue", "prices")


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
    conditions: tuple[str, ...]
    """Conditions of a prediction from these runs: a workload, and measured levels. Empty with too few runs."""

    @property
    def sentence(self) -> str:
        """Why these runs can't be simulated."""
        return f"these runs can't be simulated: they lack {joined(self.missing)}"


def simulation_obstacle(
    repository: Repository, table: RunTable, runs: Sequence[Run], changes: Sequence[Change]
) -> SimulationObstacle:
    """Return why ``runs``, which have no cluster file, can't be simulated."""
    subjects = [(name, change_text(name, value), value) for name, value in changes]
    missing = ["a cluster file with their nodes and disks"]
    if not any(run.data_bytes for run in runs):
        missing.append("the size of their data")
    clusters = fitting_examples(repository, runs)
    measured, levels = [], {}
    for name, subject, value in subjects or _USUAL:
        factor = _FACTORS.get(name, name)
        if recorded := _levels_of(table, factor):
            levels[factor] = value if value in recorded else recorded[-1]
        known = recorded or common_levels(repository, table, factor)[0]
        texts = joined([option_text(factor, level) for level in known])
        if len(known) > 1:
            measured.append(f"{capitalised(subject)}: the measured levels are {texts}.")
        else:
            measured.append(f"{capitalised(subject)}: {f'the runs have {texts}' if known else 'no run records it'}.")
    return SimulationObstacle(tuple(missing), clusters, tuple(measured), _conditions(table, runs, levels))


def _conditions(table: RunTable, runs: Sequence[Run], levels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the workload of most runs, with measured levels of the changed factors."""
    if not can_learn(table):
        return ()
    workload = Counter(run.workload for run in runs).most_common(1)[0][0]
    return (f"workload={workload}", *(f"{name}={level}" for name, level in levels.items()))


def _levels_of(table: RunTable, factor: str) -> list[str]:
    column = table.columns.get(factor)
    return [] if column is None else sorted(str(level) for level in column.levels if level is not None)


@dataclass(frozen=True, slots=True)
class NearAnswer:
    """A command that answers a part of the question, what it does, and the page that does the same."""

    command: str
    effect: str
    address: str = ""
    """Address of the page; empty for a command alone."""


def near_answers(repository: Repository, why: SimulationObstacle) -> tuple[NearAnswer, ...]:
    """Return the commands that answer as far as possible, as they can be run."""
    answers = []
    if why.conditions:
        root = str(repository.root)
        where = "" if root == "repository" else f" --repository {shlex.quote(root)}"
        conditions = shlex.quote(",".join(why.conditions))
        query = urlencode([("where", condition) for condition in why.conditions])
        answers.append(
            NearAnswer(
                f"assay predict{where} --where {conditions}",
                "predicts measured levels from these runs",
                f"/predict?{query}",
            )
        )
    if len(why.missing) == 1:
        answers.append(
            NearAnswer(
                "assay whatif --cluster FILE",
                "simulates the runs from a cluster file that you write; no example fits these runs",
            )
        )
    if (folder := installation().examples) is not None:
        catalogue, prices = (shlex.quote(from_here(folder / "hardware" / f"{name}.yaml")) for name in _EXAMPLE_FILES)
        answers.append(
            NearAnswer(
                f"assay recommend --catalogue {catalogue} --prices {prices}",
                "simulates new hardware without runs, at example prices",
                "/recommend",
            )
        )
    discover = "writes the cluster file of your hosts; runs that are measured with it can be simulated"
    return (*answers, NearAnswer("assay discover --help", discover))


def hint_of(repository: Repository, why: SimulationObstacle) -> str:
    """Return what was measured of the changes, and the commands that answer as far as possible."""
    if why.clusters:
        return f"add --cluster {shlex.quote(why.clusters[0])}: it has the scale, disks and network of these runs"
    lines = [f"{near.command}\n        {near.effect}" for near in near_answers(repository, why)]
    return "\n    ".join([*why.measured, "These commands answer as far as possible:", *lines])
