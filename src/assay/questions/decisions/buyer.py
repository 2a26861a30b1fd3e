"""The six questions of a buyer: storage, network, disks, nodes, containers, and the cheapest hardware.

Each question names the factors that answer it, as far as runs vary them. ``answers.py`` answers them in this order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.analysis.statistics import ABSENT, FACTOR_SYNONYMS, RunTable, usable
from assay.execution.engines.rules_catalogue import all_rules
from assay.model import CONTAINERS, LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR

STORAGE: Final = "storage"
NETWORK: Final = "network"
NODES: Final = "nodes"
CHEAPEST: Final = "cheapest"
_PRICED: Final = (LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR)
"""Factors that change the hourly cost of a cluster."""


class FactorSelection(Enum):
    """Which of a question's factors to decide on, among the factors that the runs vary."""

    SINGLE = "the factor"
    PER_ENGINE = "for each engine of the runs, its first factor"
    JOINT = "all factors, joined to one"


@dataclass(frozen=True, slots=True)
class BuyerQuestion:
    """One question with its factors."""

    name: str
    """Name on the command line: ``assay decide NAME``."""
    title: str
    subject: str
    """The property that must differ between runs, in words: ``network``."""
    factors: tuple[str, ...]
    """Factors that answer it. Empty: the parameters that engines declare for parallelism."""
    plan_factor: str
    """The factor that a plan varies to measure it; empty where a price book answers the question."""
    plan_levels: tuple[str, ...]
    """Levels of this factor to compare."""
    change: str
    """A change that ``assay whatif --set`` simulates; empty where none does."""
    selection: FactorSelection = FactorSelection.SINGLE
    other_levels: tuple[tuple[str, ...], ...] = ()
    """Levels for a cluster that can't run ``plan_levels``, in the order of preference."""

    def levels_to_plan(self, known_levels: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the alternatives of levels that a plan can compare, those with one of the ``known_levels`` first.

        A network of 10 Gbit/s is thus compared with a faster one, not with a slower one.
        """
        alternatives = (self.plan_levels, *self.other_levels)
        return tuple(sorted(alternatives, key=lambda levels: not set(known_levels) & set(levels)))


def varied(table: RunTable, name: str) -> bool:
    """Return whether the runs of ``table`` have several levels of a factor."""
    return len(levels_of_factor(table, name)[0]) > 1


def levels_of_factor(table: RunTable, name: str) -> tuple[tuple[str, ...], int]:
    """Return the levels of a factor, and the number of runs that record a level."""
    column = with_factors(table, [name]).columns.get(name)
    if column is None:
        return (), 0
    recorded_codes = column.codes[column.codes != ABSENT]
    return tuple(column.levels[code] for code in np.unique(recorded_codes)), len(recorded_codes)


def parallelism_factors(table: RunTable | None = None) -> tuple[str, ...]:
    """Return the factors that set the number of concurrent tasks, as the engines of the runs declare them."""
    engines = table.columns["engine"].levels if table is not None and "engine" in table.columns else None
    rules = [rules for name, rules in all_rules().items() if engines is None or name in engines]
    return tuple(dict.fromkeys(name for engine in rules for name in engine.parallelism))


def recording_factors(question: BuyerQuestion, table: RunTable) -> tuple[str, ...]:
    """Return the factors that may record a level of the question in these runs."""
    return question.factors or parallelism_factors(table)


def factors_to_decide(question: BuyerQuestion, table: RunTable) -> tuple[str, ...]:
    """Return the factors of valid runs to decide the question on; none where the runs vary none."""
    if question.selection is FactorSelection.PER_ENGINE:
        engines = table.columns["engine"].levels if "engine" in table.columns else all_rules()
        choices = [rules.parallelism for engine, rules in all_rules().items() if engine in engines]
        first = (next((name for name in names if varied(table, name)), None) for names in choices)
        return tuple(dict.fromkeys(name for name in first if name is not None))
    names = [name for name in question.factors if varied(table, name)]
    if question.selection is FactorSelection.JOINT:
        return (",".join(_recorded_together(table, names)),) if names else ()
    return tuple(names)


def factor_of_details(table: RunTable, name: str) -> str:
    """Return the factor whose options a decision details, by the name of a question or factor.

    For a buyer's question, it is the first of its factors that valid runs vary.
    """
    question = question_named(name)
    if question is None:
        return name
    varied_factors = factors_to_decide(question, table.subset(usable(table)))
    return (*varied_factors, *question.factors, name)[0]


def _recorded_together(table: RunTable, names: Sequence[str]) -> list[str]:
    """Return the factors to join: a factor is joined if most runs that record the earlier factors record it, too."""
    joined_names: list[str] = []
    is_recorded = np.ones(len(table), dtype=np.bool_)
    for name in names:
        is_recorded_in_both = is_recorded & (table.columns[name].codes != ABSENT)
        if not joined_names or 2 * np.count_nonzero(is_recorded_in_both) > np.count_nonzero(is_recorded):
            joined_names, is_recorded = [*joined_names, name], is_recorded_in_both
    return joined_names


BUYER_QUESTIONS: Final = (
    BuyerQuestion(
        name=STORAGE,
        title="SSDs or hard disks?",
        subject="storage layout",
        factors=(LAYOUT_FACTOR,),
        plan_factor=LAYOUT_FACTOR,
        plan_levels=("HD2", "SS2"),
        change="layout=SS2",
        other_levels=(("HDD", "SSD"),),
    ),
    BuyerQuestion(
        name=NETWORK,
        title="Faster network?",
        subject="network",
        factors=(NETWORK_FACTOR,),
        plan_factor=NETWORK_FACTOR,
        plan_levels=("ETH", "IB"),
        change="nic=25Gbit/s",
        other_levels=(("10Gbit/s", "25Gbit/s"), ("1Gbit/s", "10Gbit/s")),
    ),
    BuyerQuestion(
        name="disks",
        title="How many disks?",
        subject="number of disks per worker",
        factors=(DISKS,),
        plan_factor=LAYOUT_FACTOR,
        plan_levels=("HD2", "HD4"),
        change="layout=HD4",
        other_levels=(("HDD", "HD2"), ("SSD", "SS2")),
    ),
    BuyerQuestion(
        name=NODES,
        title="How many nodes?",
        subject="number of workers",
        factors=(WORKERS_FACTOR,),
        plan_factor=WORKERS_FACTOR,
        plan_levels=("3", "6"),
        change="workers.count=6",
        other_levels=(("2", "3"),),
    ),
    BuyerQuestion(
        name="containers",
        title="How many containers?",
        subject="number of containers",
        factors=(),
        plan_factor=CONTAINERS,
        plan_levels=("2", "4", "8"),
        change="containers=8",
        selection=FactorSelection.PER_ENGINE,
        other_levels=(("1", "2", "4"), ("1", "2")),
    ),
    BuyerQuestion(
        name=CHEAPEST,
        title="Which is the cheapest?",
        subject="hardware",
        factors=_PRICED,
        plan_factor="",
        plan_levels=(),
        change="",
        selection=FactorSelection.JOINT,
    ),
)


def question_synonyms() -> dict[str, str]:
    """Return words that users type, in lower case, with the question or factor that they mean."""
    synonyms = {
        STORAGE: ("ssd", "ssds", "hdd", "hard disks", "disk type"),
        NETWORK: ("infiniband", "ethernet", "bandwidth"),
        NODES: ("node", "servers", "machines"),
        "containers": ("slots", "container"),
        CHEAPEST: ("cost", "costs", "price", "prices", "cheap", "money"),
    }
    return {**FACTOR_SYNONYMS, **{word: name for name, words in synonyms.items() for word in words}}


def question_named(name: str) -> BuyerQuestion | None:
    """Return the question of this name; None where ``name`` is a factor."""
    return next((question for question in BUYER_QUESTIONS if question.name == name), None)


def question_of_factor(factor: str) -> BuyerQuestion | None:
    """Return the question that this factor alone answers; None where there is none."""
    return next((question for question in BUYER_QUESTIONS if question.factors == (factor,)), None)
