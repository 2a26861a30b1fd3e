"""What goes with a report's runs so that somebody else can check it and run it again.

In: a report as a document, its frame, the repository's folder of campaigns, and files of the user. Out: names and
contents of files for a package: the report, the plans with their cluster files, the price book, versions, and a README.
"""

import json
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay import __version__
from assay.campaign.journal import CLUSTER_TEXT
from assay.campaign.plan_texts import PlanText, cluster_text
from assay.errors import SpecificationError
from assay.model import Plan
from assay.questions.report_frame import ReportFrame, report_command
from assay.questions.report_parts import Fact
from assay.report.document import ReportDocument
from assay.report.html import html
from assay.report.markdown import escaped
from assay.repository.package import FOLDER
from assay.spec.document import document_of
from assay.wording import slug

PLANS = "plans"
PRICES = "prices.yaml"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def plan_files(campaigns: Path, plans: Sequence[PlanText], given: Plan | None) -> dict[str, bytes]:
    """Return the plans with their cluster files, a folder for each; ``given`` takes the place of the same campaign's.

    Raises SpecificationError when ``given`` is a plan that none of the runs was made for.
    """
    files: dict[str, bytes] = {}
    if given is not None and plans and given.source not in {plan.text for plan in plans}:
        theirs = ", ".join(dict.fromkeys(plan.plan for plan in plans))
        raise SpecificationError(
            f"the plan {given.name} is not the one that these runs were made for",
            hint=f"theirs is {theirs}: the file was changed since, or is another one; leave --plan out",
        )
    for plan in plans:
        cluster = cluster_text(campaigns, plan.campaign_id)
        if not cluster and given is not None and plan.text == given.source:
            cluster = given.cluster_source
        _add(files, plan.plan, plan.text, cluster)
    if given is not None and not plans:
        _add(files, given.name, given.source, given.cluster_source)
    return files


def _add(files: dict[str, bytes], name: str, text: str, cluster: str) -> None:
    """Add a plan under a name of its own, unless it is there with a cluster file already."""
    folder = base = f"{PLANS}/{slug(name)}"
    number = 1
    while (there := files.get(f"{folder}/plan.yaml")) is not None and there != text.encode():
        number += 1
        folder = f"{base}-{number}"
    files[f"{folder}/plan.yaml"] = text.encode()
    if cluster:
        files[f"{folder}/{_cluster_file(text)}"] = cluster.encode()


def _cluster_file(plan: str) -> str:
    """Return what a plan calls its cluster file, if that is a plain name."""
    content = document_of(plan.encode(), "plan.yaml").content
    name = str(content.get("cluster", "")) if isinstance(content, Mapping) else ""
    return name if _PLAIN.fullmatch(name) and name != "plan.yaml" else "cluster.yaml"


def campaign_files(campaigns: Path, plans: Sequence[PlanText]) -> dict[str, bytes]:
    """Return what the packed repository needs of its campaigns to tell its plans, so that it gives the same report."""
    files = {}
    for plan in plans:
        for name in ("campaign.json", "plan.yaml", CLUSTER_TEXT):
            path = campaigns / plan.campaign_id / name
            if path.is_file():
                files[f"{FOLDER}/{campaigns.name}/{plan.campaign_id}/{name}"] = path.read_bytes()
    return files


def _versions(frame: ReportFrame) -> bytes:
    told = {
        "assay": __version__,
        "python": platform.python_version(),
        "runs": {fact.name: fact.text for fact in frame.provenance},
    }
    return json.dumps(told, indent=2, ensure_ascii=False).encode() + b"\n"


def _command(frame: ReportFrame) -> str:
    """Return the report's command with the price book by the name that it has in the package."""
    told = report_command(replace(frame.asked, prices=PRICES if frame.asked.prices else None))
    return told.replace("-o report.html", "-o again.html", 1)


def _steps(frame: ReportFrame, files: Mapping[str, bytes]) -> list[str]:
    report = _command(frame)
    plans = [name for name in files if name.startswith(PLANS) and name.endswith("/plan.yaml")]
    again = [f"assay run {name} --repository again" for name in plans]
    if not plans:
        return ["These runs were imported: `repository/bundles/*/source/` has the files as they were given.", ""]
    lines = ["## Run it again", "", *(f"    {line}" for line in again), f"    {report} --repository again", ""]
    folders = Counter(name.rpartition("/")[0] for name in files)
    lacking = [name for name in plans if folders[name.rpartition("/")[0]] < 2]
    if lacking:
        lines += [
            f"The cluster file of {', '.join(lacking)} was not kept with its campaign. Each run's environment "
            "says what its hosts were: `assay show RUN --json --repository repository`.",
            "",
        ]
    lines += [
        "A plan names its cluster file in `cluster:`; here it lies beside the plan. On hosts of your own, name "
        "them there.",
        "",
    ]
    return lines


def _readme(document: ReportDocument, frame: ReportFrame, files: Mapping[str, bytes], bundles: int) -> bytes:
    listed = [
        Fact("report.html", "the report as it was written"),
        Fact(
            "repository/",
            f"the runs it shows, in {bundles} bundle{'' if bundles == 1 else 's'}: what was run, "
            "times, tasks, traces, logs, the hosts as they were found",
        ),
        Fact(
            "plans/",
            "the plans as they were carried out, with their cluster files"
            if any(name.startswith(PLANS) for name in files)
            else "",
        ),
        Fact(PRICES, "the price book" if PRICES in files else ""),
        Fact("versions.json", "what made the runs and this file"),
        Fact("SHA256SUMS", "checksums of all of it"),
    ]
    lines = [
        f"# {escaped(document.title)}",
        "",
        escaped(document.question),
        "",
        escaped(f"{document.answer} {document.detail}"),
        "",
        *(f"- `{fact.name}`: {fact.text}" for fact in listed if fact.text),
        "",
        "## Check it",
        "",
        "    sha256sum -c SHA256SUMS",
        "    assay verify --repository repository",
        f"    {_command(frame)} --repository repository",
        "",
        "The last command writes the report from the runs anew: with the same version of assay and a price book of "
        "this name, `cmp again.html report.html` finds no difference. `assay pull FILE.tar.gz` takes the runs into a "
        "repository of your own.",
        "",
        *_steps(frame, files),
    ]
    return "\n".join(lines).encode()


def package_files(
    document: ReportDocument, frame: ReportFrame, plans: Mapping[str, bytes], prices: bytes | None, bundles: int
) -> dict[str, bytes]:
    """Return all that goes into the package beside its runs. The README comes first."""
    files = dict(plans) | ({PRICES: prices} if prices is not None else {})
    return {
        "README.md": _readme(document, frame, files, bundles),
        "report.html": html(document).encode(),
        **files,
        "versions.json": _versions(frame),
    }
