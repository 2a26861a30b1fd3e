"""Make all files of a package except its runs. With the package, others can check a report and repeat its runs.

In: a report and its document, the repository's campaigns folder, and the user's plan and price book. Out: files by
name: the report, its full tables, plans with their cluster files, the price book, versions, and a README.
"""

import json
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay.foundation.errors import SpecificationError
from assay.foundation.version import __version__
from assay.interfaces.report.output.document import ReportDocument
from assay.interfaces.report.output.html import html
from assay.interfaces.report.output.markdown import escaped
from assay.interfaces.report.tables import FOLDER as TABLES
from assay.interfaces.report.tables import table_files
from assay.model import Plan
from assay.questions.report.provenance import report_command
from assay.questions.report.request import Fact
from assay.questions.report.values import Report
from assay.specs.document import document_of
from assay.store.campaigns.journal import CLUSTER_TEXT
from assay.store.campaigns.plan_texts import PlanText, cluster_text
from assay.store.exchange.package import FOLDER
from assay.text import plural, slug

PLANS = "plans"
PRICES = "prices.yaml"
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def plan_files(campaigns: Path, plans: Sequence[PlanText], user_plan: Plan | None) -> dict[str, bytes]:
    """Return the files of the plans: for each plan, a folder with the plan and its cluster file.

    ``user_plan`` supplies a cluster file that its campaign lacks. If ``plans`` is empty, ``user_plan`` is packed
    instead; otherwise SpecificationError is raised if ``plans`` does not contain it.
    """
    files: dict[str, bytes] = {}
    if user_plan is not None and plans and user_plan.source not in {plan.text for plan in plans}:
        names = ", ".join(dict.fromkeys(plan.plan for plan in plans))
        raise SpecificationError(
            f"these runs were not made for the plan {user_plan.name}",
            hint=f"they were made for {names}; the file has changed or is another plan. Leave --plan out",
        )
    for plan in plans:
        cluster = cluster_text(campaigns, plan.campaign_id)
        if not cluster and user_plan is not None and plan.text == user_plan.source:
            cluster = user_plan.cluster_source
        _add_plan(files, plan.plan, plan.text, cluster)
    if user_plan is not None and not plans:
        _add_plan(files, user_plan.name, user_plan.source, user_plan.cluster_source)
    return files


def _add_plan(files: dict[str, bytes], name: str, text: str, cluster: str) -> None:
    """Add a plan and its cluster file to ``files``; another plan of the same name gets a number."""
    folder = base = f"{PLANS}/{slug(name)}"
    number = 1
    while (earlier_text := files.get(f"{folder}/plan.yaml")) is not None and earlier_text != text.encode():
        number += 1
        folder = f"{base}-{number}"
    files[f"{folder}/plan.yaml"] = text.encode()
    if cluster:
        files[f"{folder}/{_cluster_file(text)}"] = cluster.encode()


def _cluster_file(plan: str) -> str:
    """Return the name of a plan's cluster file; ``cluster.yaml`` if the plan states a path or no name."""
    content = document_of(plan.encode(), "plan.yaml").content
    name = str(content.get("cluster", "")) if isinstance(content, Mapping) else ""
    return name if _FILE_NAME.fullmatch(name) and name != "plan.yaml" else "cluster.yaml"


def campaign_files(campaigns: Path, plans: Sequence[PlanText]) -> dict[str, bytes]:
    """Return the campaign files that the packed repository needs to write the same report."""
    files = {}
    for plan in plans:
        for name in ("campaign.json", "plan.yaml", CLUSTER_TEXT):
            path = campaigns / plan.campaign_id / name
            if path.is_file():
                files[f"{FOLDER}/{campaigns.name}/{plan.campaign_id}/{name}"] = path.read_bytes()
    return files


def _versions(report: Report) -> bytes:
    versions = {
        "assay": __version__,
        "python": platform.python_version(),
        "runs": {fact.name: fact.text for fact in report.provenance.facts},
    }
    return json.dumps(versions, indent=2, ensure_ascii=False).encode() + b"\n"


def _command(report: Report) -> str:
    """Return the command that writes the report again, with the price book of the package."""
    request = replace(report.request, date=report.written_on, prices=PRICES if report.request.prices else None)
    return report_command(request).replace("-o report.html", "-o again.html", 1)


def _steps(report: Report, files: Mapping[str, bytes]) -> list[str]:
    command = _command(report)
    plans = [name for name in files if name.startswith(PLANS) and name.endswith("/plan.yaml")]
    run_commands = [f"assay run {name} --repository again" for name in plans]
    if not plans:
        return ["These runs were imported: `repository/bundles/*/source/` has the original files.", ""]
    lines = ["## Run it again", "", *(f"    {line}" for line in run_commands), f"    {command} --repository again", ""]
    folders = Counter(name.rpartition("/")[0] for name in files)
    plans_without_cluster = [name for name in plans if folders[name.rpartition("/")[0]] < 2]
    if plans_without_cluster:
        lines += [
            f"The campaign did not keep the cluster file of {', '.join(plans_without_cluster)}. Each run's environment "
            "describes its hosts: `assay show RUN --json --repository repository`.",
            "",
        ]
    lines += [
        "A plan names its cluster file in `cluster:`; here it is in the plan's folder. To run on your hosts, name them "
        "in that file.",
        "",
    ]
    return lines


def _readme(document: ReportDocument, report: Report, files: Mapping[str, bytes], bundles: int) -> bytes:
    file_facts = [
        Fact("report.html", "the report"),
        Fact(
            f"{TABLES}/",
            "the tables that the report shortens, in full (CSV)"
            if any(name.startswith(f"{TABLES}/") for name in files)
            else "",
        ),
        Fact(
            "repository/",
            f"the runs of the report, in {plural(bundles, 'bundle')}: configuration, times, tasks, traces, logs, "
            "environment",
        ),
        Fact(
            "plans/",
            "the plans as they were executed, with their cluster files"
            if any(name.startswith(PLANS) for name in files)
            else "",
        ),
        Fact(PRICES, "the price book" if PRICES in files else ""),
        Fact("versions.json", "versions of assay, Python and the engines"),
        Fact("SHA256SUMS", "checksums of all files"),
    ]
    lines = [
        f"# {escaped(document.title)}",
        "",
        *([escaped(document.question), ""] if document.question != document.title else []),
        escaped(" ".join((document.answer, *document.lead))),
        "",
        *(f"- `{fact.name}`: {fact.text}" for fact in file_facts if fact.text),
        "",
        "## Check it",
        "",
        "    sha256sum -c SHA256SUMS",
        "    assay verify --repository repository",
        f"    {_command(report)} --repository repository",
        "",
        "The last command writes the report again: with the same version of assay and this price book, "
        "`cmp again.html report.html` finds no difference. `assay pull FILE.tar.gz` copies the runs into your "
        "repository.",
        "",
        *_steps(report, files),
    ]
    return "\n".join(lines).encode()


def package_files(
    document: ReportDocument, report: Report, input_files: Mapping[str, bytes], bundles: int
) -> dict[str, bytes]:
    """Return all files of the package except its runs, the README first. ``input_files``: plans and price book."""
    files = dict(input_files) | table_files(document)
    return {
        "README.md": _readme(document, report, files, bundles),
        "report.html": html(document).encode(),
        **files,
        "versions.json": _versions(report),
    }
