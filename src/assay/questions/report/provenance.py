"""Return the provenance of a report's numbers: configuration, hosts, imports, plans, and the commands to repeat it.

In: the runs as a table, some of them loaded, the repository's plans, and the request. Out: :class:`Provenance`.
"""

import shlex
from collections.abc import Iterable, Sequence

import numpy as np

from assay.analysis.statistics import RunTable
from assay.model import NodeFacts, Run
from assay.questions.clusters.hosts import CheckedCluster
from assay.questions.report.request import DetailLevel, Fact, ReportRequest
from assay.questions.report.values import FactorLevels, Provenance
from assay.questions.runs.runs import levels_in
from assay.store.campaigns.plan_texts import PlanText
from assay.store.exchange.imports import ImportFacts
from assay.text import size

NAMES_MAX = 8
"""Maximum number of named campaigns, and of named files of one import."""
_NOT_SETTINGS = ("origin", "lab_scale")


def provenance_of(
    table: RunTable,
    example_runs: Sequence[Run],
    request: ReportRequest,
    *,
    plans: Sequence[PlanText] = (),
    imports: Sequence[ImportFacts] = (),
    checked: Sequence[CheckedCluster] = (),
    assay_version: str = "",
) -> Provenance:
    """Return the provenance of the runs of ``table``.

    ``example_runs``: runs with their environments, all or one of each kind.
    ``request`` has the date and the baseline of the report, so that the recorded command reproduces the report.
    """
    campaigns = levels_in(table, "campaign_id")
    clusters = levels_in(table, "cluster")
    plans_of_runs = tuple(plan for plan in plans if plan.campaign_id in campaigns)
    return Provenance(
        settings=settings_of(table),
        hosts=_hosts(example_runs),
        checked=tuple(cluster for cluster in checked if cluster.report.cluster in clusters),
        facts=_facts(example_runs, imports, assay_version),
        plans=plans_of_runs,
        commands=_commands(request, plans_of_runs, imports),
    )


def settings_of(table: RunTable) -> tuple[FactorLevels, ...]:
    """Return the factors of the runs' configurations; those that vary come first."""
    settings, workloads = [], levels_in(table, "workload")
    for name in table.factors:
        column = table.columns[name]
        if name in _NOT_SETTINGS:
            continue
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        levels = [(level, int(counts[code])) for code, level in enumerate(column.levels) if counts[code]]
        if levels:
            levels.sort(key=lambda item: -item[1])
            is_of_one_workload = name.partition(".")[0] in workloads  # other workloads can't have this option
            absent_count = 0 if is_of_one_workload else int((column.codes < 0).sum())
            settings.append(FactorLevels(name, tuple(levels), absent_count))
    return tuple(sorted(settings, key=lambda setting: not setting.varies))


def report_command(request: ReportRequest) -> str:
    """Return the command that writes the report."""
    options = ["--by", request.factor]
    for name in ("baseline", "workload", "prices", "title", "question", "author", "date"):
        value = getattr(request, name)
        options += [f"--{name}", value] if value else []
    options += [part for condition in request.conditions for part in ("--where", condition)]
    options += [part for change in request.changes for part in ("--set", change)]
    if request.details is not None:
        options.append("--single" if request.details is DetailLevel.CONFIGURATIONS else "--matched")
    return shlex.join(["assay", "report", "-o", "report.html", *options])


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


def _hosts(runs: Sequence[Run]) -> tuple[Fact, ...]:
    """Return the recorded hosts of each cluster; equal nodes share a fact."""
    facts = []
    for cluster in dict.fromkeys(run.cluster for run in runs):
        nodes: dict[str, list[str]] = {}
        for run in runs:
            for name, node in run.recorded.nodes.items() if run.cluster == cluster else ():
                if text := _node_text(node):
                    names = nodes.setdefault(text, [])
                    names += [] if name in names else [name]
        facts += [Fact(f"{cluster}: {', '.join(names)}", f"{text}.") for text, names in nodes.items()]
    return tuple(facts)


def _distinct_text(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def _facts(runs: Sequence[Run], imports: Sequence[ImportFacts], assay_version: str) -> tuple[Fact, ...]:
    engines = dict.fromkeys(f"{run.engine} {run.engine_version}".strip() for run in runs)
    sources = dict.fromkeys(f"{name}: {source}" for run in runs for name, source in run.sources.items())
    versions = _distinct_text(run.recorded.assay_version for run in runs)
    campaigns = list(dict.fromkeys(run.campaign_id for run in runs if run.campaign_id))
    facts = [
        Fact("Engines", ", ".join(engines)),
        Fact("assay", f"Report written by {assay_version}{f'; runs made by {versions}' if versions else ''}."),
        Fact("Python of assay", _distinct_text(run.recorded.assay_python for run in runs)),
        Fact("Campaigns", ", ".join(campaigns[:NAMES_MAX]) if not imports else ""),
        *(Fact(f"Import {source.import_id[:8]}", f"{source.format}: {_files(source)}.") for source in imports),
        Fact("Sources of numbers", "; ".join(sources)),
    ]
    return tuple(fact for fact in facts if fact.text)


def _files(source: ImportFacts) -> str:
    names = [f"{name} (SHA-256 {digest[:16]}…)" for name, digest in source.files[:NAMES_MAX]]
    more_count = len(source.files) - len(names)
    return ", ".join([*names, *([f"{more_count:,} more files"] if more_count else [])])


def _commands(request: ReportRequest, plans: Sequence[PlanText], imports: Sequence[ImportFacts]) -> tuple[str, ...]:
    runs = [f"assay run {shlex.quote(plan)}.yaml" for plan in dict.fromkeys(plan.plan for plan in plans)]
    runs += [shlex.join(["assay", "import", *(name for name, _ in source.files[:NAMES_MAX])]) for source in imports]
    return (*(runs or ["assay run PLAN"]), "assay verify", report_command(request))
