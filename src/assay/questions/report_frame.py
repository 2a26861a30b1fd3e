"""What every report says around its results: the question, the findings, the configuration, where it all comes from.

In: the runs as a table, some of them whole, the repository's plans, and what was asked. Out: a :class:`ReportFrame`,
which is the same for a report on single comparisons and one over matched sets.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from assay.campaign.plan_texts import PlanText
from assay.model import NodeFacts, Run
from assay.questions.findings import FindingsView
from assay.questions.hardware import HardwareView
from assay.questions.hosts import CheckedCluster
from assay.questions.report_parts import Fact, ReportQuestion
from assay.questions.whatif import WhatIf
from assay.repository.imports import ImportFacts
from assay.statistics import RunTable
from assay.wording import joined, plural, size, workload_title

LEVELS_SHOWN = 8
"""A factor with more levels than this is told by the first of them and their number."""
WORKLOADS_NAMED = 4
OTHERS_NAMED = 4
_NO_SETTINGS = ("origin", "lab_scale")


@dataclass(frozen=True, slots=True)
class LeveledFactor:
    """One thing that makes a configuration, with its levels and how many runs have each."""

    name: str
    levels: tuple[tuple[str, int], ...]
    absent: int
    """Runs that do not have it, or do not tell; 0 for an option of one workload, which no other can have."""

    @property
    def varies(self) -> bool:
        """Return whether runs differ in it."""
        return len(self.levels) > 1


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """What stands around the results."""

    asked: ReportQuestion
    question: str
    findings: FindingsView
    """The claims of the published studies, tested on these runs."""
    settings: tuple[LeveledFactor, ...]
    hardware: HardwareView
    hosts: tuple[Fact, ...]
    checked: tuple[CheckedCluster, ...]
    """The newest check of the hosts of each of the runs' clusters, where one was kept."""
    provenance: tuple[Fact, ...]
    plans: tuple[PlanText, ...]
    commands: tuple[str, ...]
    written_on: str
    """The day, as people write it."""
    whatif: tuple[WhatIf, ...] = ()
    """What the measured runs would take with what was asked set otherwise: simulated, each with its origin."""


def present(table: RunTable, name: str) -> list[str]:
    """Return the levels of a column that some run of the table has."""
    column = table.columns.get(name)
    return [] if column is None else [column.levels[code] for code in np.unique(column.codes[column.codes >= 0])]


def question_of(factor: str, baseline: str, levels: Sequence[str], titles: Sequence[str], *, priced: bool) -> str:
    """Return the question that a plan with these levels and workloads asks."""
    others = [level for level in levels if level != baseline]
    factor = joined(factor.split(","))
    few = len(titles) <= WORKLOADS_NAMED
    what = (joined(titles) or "the workloads") if few else plural(len(titles), "workload")
    if not others or len(others) > OTHERS_NAMED:
        asked = f"How does the time of {what} change with {factor}, against {baseline}"
    else:
        verb = "are" if len(titles) > 1 else "is"
        asked = f"How much faster {verb} {what} with {factor} {joined(others, 'or')} than with {baseline}"
    return f"{asked}, and what does a job cost on each?" if priced else f"{asked}?"


def settings_of(table: RunTable) -> tuple[LeveledFactor, ...]:
    """Return what the runs' configurations are made of; what differs comes first."""
    found, workloads = [], present(table, "workload")
    for name in table.factors:
        column = table.columns[name]
        if name in _NO_SETTINGS:
            continue
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        levels = [(level, int(counts[code])) for code, level in enumerate(column.levels) if counts[code]]
        if levels:
            levels.sort(key=lambda item: -item[1])
            own = name.partition(".")[0] in workloads  # an option of one workload: no other can have it
            found.append(LeveledFactor(name, tuple(levels), 0 if own else int((column.codes < 0).sum())))
    return tuple(sorted(found, key=lambda setting: not setting.varies))


def _node_text(node: NodeFacts) -> str:
    parts = [
        node.cpu,
        f"{node.cores} cores" if node.cores else "",
        f"{size(float(node.memory_bytes))} of memory" if node.memory_bytes is not None else "",
        node.distribution,
        f"kernel {node.kernel}" if node.kernel else "",
        f"Java {node.java}" if node.java else "",
    ]
    return ", ".join(part for part in parts if part)


def _hosts(examples: Sequence[Run]) -> tuple[Fact, ...]:
    """Return what was found on the hosts of each cluster: like nodes together."""
    facts = []
    for cluster in dict.fromkeys(run.cluster for run in examples):
        nodes: dict[str, list[str]] = {}
        for run in examples:
            for name, node in run.recorded.nodes.items() if run.cluster == cluster else ():
                if text := _node_text(node):
                    names = nodes.setdefault(text, [])
                    names += [] if name in names else [name]
        facts += [Fact(f"{cluster}: {', '.join(names)}", f"{text}.") for text, names in nodes.items()]
    return tuple(facts)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def _provenance(examples: Sequence[Run], imports: Sequence[ImportFacts], assay_version: str) -> tuple[Fact, ...]:
    engines = dict.fromkeys(f"{run.engine} {run.engine_version}".strip() for run in examples)
    sources = dict.fromkeys(f"{name}: {source}" for run in examples for name, source in run.sources.items())
    made = _listed(run.recorded.assay_version for run in examples)
    campaigns = dict.fromkeys(run.campaign_id for run in examples if run.campaign_id)
    facts = [
        Fact("Engines", ", ".join(engines)),
        Fact("assay", f"{assay_version} wrote this report{f'; {made} made the runs' if made else ''}."),
        Fact("Python of assay", _listed(run.recorded.assay_python for run in examples)),
        Fact("Campaigns", ", ".join(list(campaigns)[:LEVELS_SHOWN]) if not imports else ""),
        *(Fact(f"Import {one.import_id[:8]}", f"{one.format}: {_files(one)}.") for one in imports),
        Fact("Sources of numbers", "; ".join(sources)),
    ]
    return tuple(fact for fact in facts if fact.text)


def _files(facts: ImportFacts) -> str:
    return ", ".join(f"{name} (SHA-256 {digest[:16]}…)" for name, digest in facts.files)


def report_command(asked: ReportQuestion) -> str:
    """Return the command that writes the report."""
    options = ["--by", asked.factor, "--baseline", asked.baseline]
    for name in ("workload", "prices", "title", "question", "author", "date"):
        value = getattr(asked, name)
        options += [f"--{name}", value] if value else []
    options += [part for change in asked.changes for part in ("--set", change)]
    return shlex.join(["assay", "report", "-o", "report.html", *options])


def _commands(asked: ReportQuestion, plans: Sequence[PlanText], imports: Sequence[ImportFacts]) -> tuple[str, ...]:
    again = [f"assay run {shlex.quote(plan)}.yaml" for plan in dict.fromkeys(plan.plan for plan in plans)]
    taken = [shlex.join(["assay", "import", *(name for name, _ in one.files)]) for one in imports]
    made = [*again, *taken] or ["assay run PLAN"]
    return (*made, "assay verify", report_command(asked))


def frame_of(
    table: RunTable,
    examples: Sequence[Run],
    asked: ReportQuestion,
    claims: FindingsView,
    *,
    levels: Sequence[str],
    plans: Sequence[PlanText] = (),
    imports: Sequence[ImportFacts] = (),
    assay_version: str = "",
    hardware: HardwareView | None = None,
    checked: Sequence[CheckedCluster] = (),
    whatif: Sequence[WhatIf] = (),
) -> ReportFrame:
    """Return the frame. ``examples``: runs with their environments, all of them or one of each kind; ``claims``: what
    the runs say to the studies' claims.
    """
    day = asked.date or datetime.now(UTC).date().isoformat()
    campaigns = present(table, "campaign_id")
    shown = tuple(plan for plan in plans if plan.campaign_id in campaigns)
    titles = [workload_title(name) for name in present(table, "workload")]
    question = asked.question or question_of(
        asked.factor, asked.baseline, levels, titles, priced=asked.prices is not None
    )
    return ReportFrame(
        asked=asked,
        question=question,
        findings=claims,
        settings=settings_of(table),
        hardware=hardware or HardwareView((), (), ()),
        hosts=_hosts(examples),
        checked=tuple(one for one in checked if one.fitness.cluster in present(table, "cluster")),
        provenance=_provenance(examples, imports, assay_version),
        plans=shown,
        commands=_commands(replace(asked, date=day), shown, imports),
        written_on=day,
        whatif=tuple(whatif),
    )
