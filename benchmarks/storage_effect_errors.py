"""Measure how often ``assay decide`` states that an effect depends on the storage, with and without a true difference.

Draws tables of runs with Ethernet and InfiniBand on storage classes whose true effects are known, asks ``assay decide``
for the network, and counts tables with a difference between classes. A run scatters by 5 %. Where a configuration is
given several times, its gain scatters by 5 % around that of its class, except in rows of fewer than five groups: a
statement is then about the tested configurations, so their gains are equal.

- *equal*: InfiniBand is 1.2 times as fast with every class. Any statement of a difference is wrong;
- *1.1*, *1.3*: InfiniBand gains that much with the last class only, and nothing with the others;
- *wrong class*: of the tables with a difference, those in which a class without gain has the largest effect;
- *order* class, option: every class, or every option of every class, is measured on another day. All runs of a day
  are faster or slower by the same amount, which scatters by 5 %;
- *order* crossed, pauses: one campaign without a pause of four hours, in which the cluster drifts by 6 % (correlated
  over six hours). *Crossed*: the first class with Ethernet, the other with InfiniBand, then the reverse, so that only
  all classes together alternate between the networks. *Pauses*: runs of the first class in turns, each followed by
  five hours of runs of another class, so that the first class alone has pauses that end a session;
- *held*: the share of 95 % intervals of the effect of a class that hold its true effect, in the row *1.1*.

Run it with ``python benchmarks/storage_effect_errors.py``; it prints a Markdown table.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
from statement_errors import SCATTER, Array, Rng, table_of_rows

from assay.analysis.comparison.matched import session_spread
from assay.analysis.statistics.runs.run_table import RunTable
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import DecisionRequest, StorageEffects
from assay.questions.decisions.effects.storage_effects import storage_effects_of

LAYOUTS = ("HD2", "SS2", "NV2")
CLASSES = ("hard disks", "SSD", "NVMe")
WORKLOADS = ("sort", "terasort", "wordcount")
APART = 0.05
"""Standard deviation of log gains between the configurations of a class."""
DAY_S = 86_400
FEW_GROUPS = 5
"""Minimum number of groups for an interval about similar configurations."""


@dataclass(frozen=True, slots=True)
class Design:
    """The runs: ``groups`` configurations with each class and workload, each network ``runs`` times in turn."""

    classes: int
    workloads: int
    groups: int
    runs: int
    day_for: str = ""
    """Each ``class`` or each ``option`` of a class is measured on another day; ``crossed``, ``pauses``: a drift; empty:
    all on one day."""


DESIGNS = (
    Design(2, 1, 1, 3),
    Design(2, 1, 1, 5),
    Design(2, 1, 3, 3),
    Design(2, 1, 8, 3),
    Design(2, 3, 1, 5),
    Design(2, 3, 8, 1),
    Design(3, 1, 1, 5),
    Design(3, 3, 3, 3),
    Design(3, 3, 8, 3),
    Design(2, 3, 3, 3, "class"),
    Design(3, 3, 8, 3, "class"),
    Design(2, 1, 1, 5, "option"),
    Design(2, 3, 3, 3, "option"),
    Design(3, 3, 8, 3, "option"),
    Design(2, 1, 8, 1, "crossed"),
    Design(2, 3, 8, 1, "crossed"),
    Design(2, 1, 1, 5, "pauses"),
    Design(2, 1, 8, 1, "pauses"),
)
DRIFT = 0.06
"""Standard deviation of the drift of a cluster, which is correlated over :data:`DRIFT_H` hours."""
DRIFT_H = 6.0


def drawn_table(rng: Rng, design: Design, gains: tuple[float, ...]) -> RunTable:
    """Return one table; ``gains``: true speedup of InfiniBand over Ethernet by class."""
    rows: list[dict[str, str]] = []
    logs: list[float] = []
    days: list[int] = []
    gain_spread = APART if design.groups >= FEW_GROUPS else 0.0
    by_day = design.day_for in ("class", "option")
    day_effect = rng.normal(0, SCATTER if by_day else 0.0, (design.classes, 2))
    for storage, gain in enumerate(gains):
        for workload in WORKLOADS[: design.workloads]:
            for group in range(design.groups):
                base = 6 + rng.normal(0, 0.3)
                log_gain = np.log(gain) + rng.normal(0, gain_spread)
                for number in range(design.runs):
                    for infiniband in (number % 2, 1 - number % 2):
                        levels = {"layout": LAYOUTS[storage], "network": "IB" if infiniband else "ETH"}
                        rows.append(levels | {"maps": str(group), "workload": workload})
                        day = infiniband if design.day_for == "option" else 0
                        days.append(2 * storage + day if by_day else 0)
                        logs.append(base - infiniband * log_gain + day_effect[storage, day] + rng.normal(0, SCATTER))
    if design.day_for in ("crossed", "pauses"):
        return _drifting(rng, design, rows, np.array(logs))
    table = table_of_rows(rows, np.exp(logs))
    started = table.values["started_unix_s"] + DAY_S * np.array(days)
    return replace(table, values={**table.values, "started_unix_s": started})


def _drifting(rng: Rng, design: Design, rows: list[dict[str, str]], logs: Array) -> RunTable:
    """Return the runs in the order of the design, on a cluster that drifts."""
    storage = np.array([LAYOUTS.index(row["layout"]) for row in rows])
    network = np.array([row["network"] == "IB" for row in rows])
    started_h = np.empty(len(rows))
    if design.day_for == "crossed":
        quarter = np.where(storage == 0, network * 2, np.where(network, 1, 3))
        started_h[np.argsort(quarter, kind="stable")] = np.arange(len(rows)) / 4
    else:  # a run of the first class, then five hours of the other
        for code in range(design.classes):
            started_h[storage == code] = 5 * np.arange(np.count_nonzero(storage == code)) + code / 4
    order = np.argsort(started_h)
    drift = np.empty(len(rows))
    level, previous_h = rng.normal(0, DRIFT), started_h[order[0]]
    for row in order:
        correlation = np.exp((previous_h - started_h[row]) / DRIFT_H)
        level, previous_h = correlation * level + rng.normal(0, DRIFT * np.sqrt(1 - correlation**2)), started_h[row]
        drift[row] = level
    table = table_of_rows(rows, np.exp(logs + drift))
    return replace(table, values={**table.values, "started_unix_s": 3600 * started_h})


def effects_in(table: RunTable) -> StorageEffects | None:
    """Return the effects by class that ``assay decide`` has for the network; None with an effect of one class."""
    decisions = decide(table, DecisionRequest("network"))
    return storage_effects_of(table, decisions[0], session_spread(table)) if decisions else None


def rates(design: Design, gains: tuple[float, ...], *, tables: int, seed: int) -> tuple[float, float, float]:
    """Return the share of tables with a difference, of these the share whose largest effect is of another class, and
    the share of intervals that hold the true effect of their class."""
    rng = np.random.default_rng(seed)
    answers = [effects for _ in range(tables) if (effects := effects_in(drawn_table(rng, design, gains))) is not None]
    stated_effects = [effects for effects in answers if effects.differs_on]
    last_class = CLASSES[design.classes - 1]
    is_wrong = [effects.effects[0].storage != last_class for effects in stated_effects]
    truth = dict(zip(CLASSES, gains, strict=False))
    holds_truth = [
        effect.time.low <= truth[effect.storage] <= effect.time.high
        for effects in answers
        for effect in effects.effects
        if (not effect.workload or effects.workloads == 1) and effect.time.low and effect.time.high
    ]
    return len(stated_effects) / tables, float(np.mean(is_wrong)) if is_wrong else 0.0, float(np.mean(holds_truth))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=1000)
    tables = parser.parse_args().tables
    names = (
        "classes",
        "workloads",
        "groups each",
        "runs a side",
        "order",
        "equal",
        "1.1",
        "1.3",
        "wrong class",
        "held",
    )
    print(f"| {' | '.join(names)} |")
    print("|---" * 10 + "|")
    for design in DESIGNS:
        count = design.classes
        equal, _, _ = rates(design, (1.2,) * count, tables=tables, seed=7)
        small, wrong, held = rates(design, (1.0,) * (count - 1) + (1.1,), tables=tables, seed=8)
        large, _, _ = rates(design, (1.0,) * (count - 1) + (1.3,), tables=tables, seed=9)
        cells = [count, design.workloads, design.groups, design.runs, design.day_for or "–"]
        shares = [f"{share:.1%}" for share in (equal, small, large, wrong, held)]
        print("| " + " | ".join(map(str, [*cells, *shares])) + " |", flush=True)


if __name__ == "__main__":
    main()
