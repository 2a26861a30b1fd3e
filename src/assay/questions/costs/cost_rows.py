"""Values of the answer to "which configuration costs least per run?": its request, rows, verdicts and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from assay.analysis.comparison.matched import CLUSTER
from assay.analysis.cost.pareto import Quadrants, quadrants
from assay.analysis.cost.rate import Price, Rate
from assay.analysis.statistics import SIZE_OPTIONS
from assay.questions.costs.cost_runs import Take
from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.decisions.decision import Decision
from assay.questions.decisions.sentences.cost_sentences import cheapest_sentence
from assay.questions.decisions.sentences.option_words import option_text, without_shared_levels
from assay.text import capitalised, joined, level_text, levels_text, money, plural


@dataclass(frozen=True, slots=True)
class CostEffectivenessRequest:
    """Which runs make up the rows, and which prices apply."""

    by: tuple[str, ...] = ()
    """Factors whose levels make a row. Empty: storage layout, network and cluster, as far as the runs vary them."""
    take: Take = "all"
    on: str | None = None
    """The day whose prices apply; None: the book's date."""
    currency: str | None = None
    seed: int = 0
    exclude_flagged: bool = False
    """Exclude runs whose times are flagged as outliers."""


class RowVerdict(StrEnum):
    """The decision's verdict on the cost of a row."""

    CHEAPEST = "cheapest"
    TIE = "not ruled out"
    """Its cost is not distinguishable from the cheapest row's."""
    DEARER = "costs more than the cheapest"
    NOT_ENOUGH_RUNS = "not enough runs"
    NOT_COMPARED = "not compared"
    """No run of the row is equal in everything else to a run of the compared rows."""


ROWS_NAMED = 3
"""Maximum number of rows named in a headline."""
VERDICT_ORDER = (
    RowVerdict.CHEAPEST,
    RowVerdict.TIE,
    RowVerdict.DEARER,
    RowVerdict.NOT_ENOUGH_RUNS,
    RowVerdict.NOT_COMPARED,
)
"""Verdicts from the cheapest row to rows without a comparison."""


@dataclass(frozen=True, slots=True)
class CostEffectivenessRow:
    """One configuration: time and cost of a run, and its rank in the decision."""

    rank: int | None
    """1 for the cheapest of its group and its ties; None without a verdict."""
    group: int | None
    """Number of the connected group: matched runs compare its rows with each other. None without a verdict."""
    verdict: RowVerdict
    levels: dict[str, str]
    configuration: dict[str, str]
    """Further levels that all runs of this row share, and that differ between rows."""
    n: int
    n_all: int
    """Valid runs of this row; ``n`` of them were selected."""
    flagged: int
    """Runs of this row whose times are flagged as outliers."""
    time_s: float
    time_low_s: float | None
    time_high_s: float | None
    rate_per_h: Decimal
    cost: Decimal
    cost_low: float | None
    cost_high: float | None
    borrowed: bool
    """Whether the intervals come from the pooled spread of similar runs, because this row has few runs."""
    on_pareto_front: bool
    """Whether no other row of its group is as fast and as cheap, and better in one. With several groups, a row without
    a group is on no front."""
    pareto_front_probability: float | None
    """Share of draws in which the row is on the Pareto front; None where the spread of times is unknown, or the row is
    on no front because it has no group."""
    rate: Rate

    @property
    def label(self) -> str:
        """The levels, separated by spaces."""
        return " ".join(self.levels.values())

    @property
    def runs(self) -> int:
        """Number of selected runs."""
        return self.n


@dataclass(frozen=True, slots=True)
class SwitchingPriceRow:
    """Prices of an item, below and above the present price, at which another configuration has the lowest mean cost of
    its group.

    None: at no price. Each group has the rows that runs compare; without groups, all rows are in one.
    """

    price: Price
    below: float | None
    below_winner: str | None
    above: float | None
    above_winner: str | None
    within_range: bool


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that one chart of time against cost compares."""

    name: str
    """The group in words: ``the 4 options on cluster m1000-01``; empty where all rows are in one chart."""
    rows: tuple[CostEffectivenessRow, ...]

    def title(self, workload: str) -> str:
        """Return the title of a chart of the group: ``TeraSort, the 4 options on cluster m1000-01``."""
        return f"{workload}, {self.name}" if self.name else workload


@dataclass(frozen=True, slots=True)
class JobCostEffectiveness:
    """The answer for one job with its rows; no rows where the price book prices none of its hardware."""

    job: dict[str, str]
    book: str
    currency: str
    date: str
    source: str
    by: tuple[str, ...]
    take: Take
    rows: tuple[CostEffectivenessRow, ...]
    switching_prices: tuple[SwitchingPriceRow, ...]
    unpriced: dict[str, str]
    """Configurations without a price in the book, and why."""
    set_apart: dict[str, str]
    """Configurations whose recorded data size is implausible, and why. Their runs do not count."""
    left_out: int
    """Runs that do not count: invalid, failed, without a time, or warm where others are cold."""
    flagged: int
    """Runs whose times are flagged as outliers."""
    includes_flagged: bool
    """Whether the flagged runs count. They do unless they are excluded."""
    draws: int
    decision: Decision | None
    """Which row costs least; None where no two rows can be compared."""
    further_decisions: tuple[Decision, ...]
    """Decisions between rows that no matched runs compare with those of ``decision``."""

    @property
    def note(self) -> str | None:
        """The limit of a lab's absolute times and costs; None for runs of full size."""
        return LAB_NOTE if self.job.get("lab_scale") else None

    @property
    def size_recorded(self) -> bool:
        """Whether the runs record their data size. Otherwise they may have different sizes."""
        sizes = "".join(level for name, level in self.job.items() if name.endswith(SIZE_OPTIONS))
        return "data_bytes" in self.job or any(letter.isdigit() for letter in sizes)

    @property
    def headline(self) -> str:
        """The row that costs least per run, in one sentence per group, and what limits this; empty without a row."""
        return " ".join((*self.answers, *self.limits))

    @property
    def answers(self) -> tuple[str, ...]:
        """The row that costs least per run: a sentence for each group of rows that matched runs compare."""
        if not self.rows:
            return ()
        if len(self.rows) == 1:
            return (f"Nothing to compare with: {levels_text(self.rows[0].levels)} is the only row with a price.",)
        sentence = cheapest_sentence(self.decision) if self.decision else None
        if sentence is None or self.decision is None:
            return ("Not compared: no two runs of different rows are equal in everything else.",)
        ranked_rows = [row for row in self.rows if row.group is not None]
        if self.further_decisions:
            groups = enumerate((self.decision, *self.further_decisions), start=1)
            return tuple(
                f"{capitalised(self.group_name(number))}: {cheapest_sentence(distinct)}"
                for number, decision in groups
                if (distinct := without_shared_levels(decision)) is not None
            )
        if len(ranked_rows) < len(self.rows) and any(row.verdict is RowVerdict.CHEAPEST for row in ranked_rows):
            sentence = f"Of {len(ranked_rows)} rows with matched runs: {sentence}"
        return (sentence,)

    @property
    def limits(self) -> tuple[str, ...]:
        """Rows that the answers don't compare, and rows with a lower mean than the cheapest of their group."""
        ranked_rows = [row for row in self.rows if row.group is not None]
        if len(self.rows) < 2 or self.decision is None or not ranked_rows:
            return ()
        sentences = []
        unranked_rows = [row for row in self.rows if row.group is None]
        if self.further_decisions:
            sentences.append(
                "The two groups can't be compared: no two of their runs have the same settings."
                if len(self.further_decisions) == 1
                else "These groups can't be compared: no two of their runs have the same settings."
            )
        if unranked_rows:
            sentences.append(
                f"{len(unranked_rows)} of {len(self.rows)} rows are not compared with these, because too few or none "
                "of their runs are equal in everything else."
            )
        first = min((row.cost for row in ranked_rows if row.rank == 1), default=Decimal(0))
        if lower_rows := [row for row in unranked_rows if row.cost < first]:
            sentences.append(f"Some of their means are lower: {self._named(lower_rows)}.")
        leaders = {row.group: row.cost for row in reversed(ranked_rows) if row.rank == 1}
        if lower_rows := [row for row in ranked_rows if row.rank != 1 and row.cost < leaders[row.group]]:
            sentences.append(f"Over runs that are not matched, the mean is lower: {self._named(lower_rows)}.")
        leader_ends = {row.group: row.cost_high for row in reversed(ranked_rows) if row.rank == 1}
        if any(
            row.verdict is RowVerdict.DEARER and float(row.cost) <= end
            for row in ranked_rows
            if (end := leader_ends[row.group]) is not None
        ):
            sentences.append(
                "A verdict compares otherwise equal runs: a row can cost more although its mean is within the interval "
                "of the cheapest."
            )
        return tuple(sentences)

    def group_name(self, number: int) -> str:
        """Return a group in words: ``the 4 options on cluster m1000-01``."""
        rows = [row for row in self.rows if row.group == number]
        other_rows = [row for row in self.rows if row.group not in (None, number)]
        levels = {
            name: level
            for name, level in rows[0].levels.items()
            if all(row.levels.get(name) == level for row in rows)
            and any(row.levels.get(name) != level for row in other_rows)
        }
        count = f"the {plural(len(rows), 'option')}"
        if CLUSTER in levels:
            return f"{count} on cluster {level_text(CLUSTER, levels[CLUSTER])}"
        texts = [option_text(name, level) for name, level in levels.items()]
        return f"{count} with {joined(texts)}" if texts else f"{count} like {levels_text(rows[0].levels)}"

    def _named(self, rows: Sequence[CostEffectivenessRow]) -> str:
        """Return the first rows with their mean costs: ``1 SSD (SSD), InfiniBand, m1000-01 ($0.61)``."""
        texts = [f"{levels_text(row.levels)} ({money(float(row.cost), self.currency)})" for row in rows[:ROWS_NAMED]]
        return "; ".join([*texts, *([f"{len(rows) - ROWS_NAMED} more"] if len(rows) > ROWS_NAMED else [])])

    @property
    def groups(self) -> tuple[RowGroup, ...]:
        """The rows of each chart: with several groups, those of each group; else all rows."""
        if not self.further_decisions:
            return (RowGroup("", self.rows),) if self.rows else ()
        numbers = range(1, len(self.further_decisions) + 2)
        return tuple(
            RowGroup(self.group_name(number), tuple(row for row in self.rows if row.group == number))
            for number in numbers
        )

    @property
    def quadrants(self) -> Quadrants | None:
        """The limits between fast and slow rows, and between economical and expensive rows.

        None with several groups, because rows of different groups can't be compared.
        """
        if self.further_decisions:
            return None
        return quadrants([row.time_s for row in self.rows], [float(row.cost) for row in self.rows])
