"""Serve cluster files, assemble plans from their parts, and start plans as campaigns.

Starting a campaign requires a server with ``--campaigns``, a token with the role ``run``, and a cluster file that is
stored on the server. A cluster file names hosts and the programs that run there, so a request cannot supply its own.
A campaign runs in a separate process (``assay run``) and continues after the server stops.
"""

import hashlib
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field, StringConstraints

from assay.execution.campaign.preview import Preview, preview
from assay.execution.planning.expansion import expand
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import plan_of_texts
from assay.execution.planning.plan_files.plan_text import CLUSTER_FILE, PLAN_FILE
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.units import parse_bytes
from assay.interfaces.web.api.models import Model, ShortText
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.server.security import AccessRole
from assay.interfaces.web.state.context import (
    PROBLEMS,
    READERS,
    Context,
    ContextOf,
    DeniedError,
    StartedCampaign,
    require_role,
)
from assay.model import LAYOUT_FACTOR, Plan, Run
from assay.model.runs.environment import entries_of
from assay.questions.runs.campaigns import CLUSTER_BYTES_MAX, LISTED_MAX, campaigns, newest_on
from assay.questions.runs.campaigns import cluster_files as stored_cluster_files
from assay.specs.document import Value, document_of
from assay.specs.redaction import redacted_plan

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, tags=["plans"])

RUNS_MAX = 5_000
"""Maximum number of runs in a plan: expanding more takes long."""
LOG_END_BYTES = 4_000
"""Size of the end of a log that is read, in bytes."""
LOG_LINES = 12
"""Maximum number of lines of a log in an answer."""
Texts = Annotated[list[ShortText], Field(max_length=50)]


class ClusterText(Model):
    """One cluster file of the server."""

    name: str
    text: str


class PlannedWorkload(Model):
    """One workload of a plan."""

    name: ShortText
    data: ShortText = Field(description="At full scale, such as 2GB.")
    per_node: bool = Field(False, description="Whether the data is per worker.")
    options: dict[ShortText, ShortText] = Field(default_factory=dict, max_length=20)


class PlanQuestion(Model):
    """A plan in parts. ``cluster`` names a file of the server; ``cluster_text`` contains one."""

    name: ShortText = "plan"
    engine: ShortText = Field("", description="Empty: hadoop.")
    cluster: ShortText | None = None
    cluster_text: Annotated[str, StringConstraints(max_length=CLUSTER_BYTES_MAX)] | None = None
    workloads: list[PlannedWorkload] = Field(min_length=1, max_length=20)
    layouts: Texts = Field(min_length=1)
    levels: dict[ShortText, Texts] = Field(default_factory=dict, max_length=10)
    parameters: dict[ShortText, ShortText] = Field(default_factory=dict, max_length=100)
    repetitions: int = Field(3, ge=1, le=1000)
    seed: int = Field(1, ge=0, le=2**31)


class Started(Model):
    """A campaign that was started."""

    plan: str
    pid: int
    runs: int


class StartedStatus(Model):
    """The state of a campaign that this server started."""

    plan: str
    pid: int
    running: bool
    exit_status: int | None
    last_lines: list[str]
    """Last lines of the campaign's output."""


def cluster_files(context: Context) -> dict[str, str]:
    """Return the text of each cluster file on the server, by name. Requests use names, never paths."""
    return stored_cluster_files(context.store.repository, context.cluster_folders)


def content_of(question: PlanQuestion) -> dict[str, Value]:
    """Return the content of the plan file for a request."""
    factors = {"layout": question.layouts, **question.levels} if len(question.layouts) > 1 else question.levels
    content: dict[str, Value] = {
        "plan": question.name,
        "cluster": CLUSTER_FILE,
        "engine": question.engine,
        "parameters": {**question.parameters},
        "workloads": [
            {workload.name: {"data_per_node" if workload.per_node else "data": workload.data, **workload.options}}
            for workload in question.workloads
        ],
        "factors": {name: [*levels] for name, levels in factors.items()},
        "layout": question.layouts[0] if len(question.layouts) == 1 else "",
        "repetitions": str(question.repetitions),
        "seed": str(question.seed),
    }
    return {key: value for key, value in content.items() if value}


def runs_of(question: PlanQuestion) -> int:
    """Return the number of runs of a plan, before they are expanded."""
    levels = math.prod(map(len, question.levels.values()))
    return len(question.workloads) * len(question.layouts) * levels * question.repetitions


def plan_of(question: PlanQuestion, cluster_text: str) -> Plan:
    """Return the plan for a request and the text of its cluster file.

    Raises :class:`SpecificationError` with the line of an error in the plan or the cluster file. Also raises it for a
    plan with more than :data:`RUNS_MAX` runs, before the runs are expanded.
    """
    count = runs_of(question)
    if count > RUNS_MAX:
        raise SpecificationError(
            f"the plan has {count:,} runs, and the server accepts at most {RUNS_MAX:,}",
            where="the plan",
            hint="use fewer levels or repetitions; `assay run` accepts larger plans",
        )
    return plan_of_texts(content_of(question), cluster_text)


def cluster_text_of(context: Context, question: PlanQuestion) -> str:
    """Return the text of the requested cluster file. Raises NotFoundError if the server has no file of this name."""
    if question.cluster_text is not None:
        return question.cluster_text
    files = cluster_files(context)
    if question.cluster is None or question.cluster not in files:
        raise NotFoundError(
            f"this server has no cluster file {question.cluster!r}",
            hint=f"it has: {', '.join(files) or 'none'}; or send the text of one",
        )
    return files[question.cluster]


@router.get("/clusters", dependencies=READERS)
def clusters(context: ContextOf) -> list[ClusterText]:
    """List the cluster files for plans."""
    return [ClusterText(name=name, text=text) for name, text in cluster_files(context).items()]


@router.post("/plan", dependencies=READERS)
def plan(context: ContextOf, question: PlanQuestion) -> Preview:
    """Assemble a plan: its YAML, its runs, and their expected duration. Nothing is stored, and nothing runs."""

    def history(cluster: str) -> Sequence[Run]:
        repository = context.store.repository
        return context.store.answer(("history", cluster), lambda table: newest_on(repository, table, cluster))

    return preview(
        plan_of(question, cluster_text_of(context, question)), context.store.repository, history, time.time()
    )


@router.post("/plan/start", dependencies=[Depends(require_role(AccessRole.RUN))])
def start(context: ContextOf, question: PlanQuestion) -> Started:
    """Start the plan as a campaign, if the server permits it and the token has the role run; one campaign at a time."""
    if not context.campaigns:
        raise DeniedError(403, "this server starts no campaigns", "start it with `assay serve --campaigns`")
    if question.cluster_text is not None:
        raise DeniedError(
            403,
            "a campaign needs a cluster file of the server",
            "put the file into the folder of `assay serve --clusters`",
        )
    cluster_text = cluster_text_of(context, question)
    checked_plan = plan_of(question, cluster_text)
    folders = context.store.repository.folders
    running_campaigns = [
        campaign for campaign in campaigns(context.store.repository, time.time(), LISTED_MAX) if campaign.running
    ]
    with context.start_lock:
        last_campaign = context.started_campaigns[-1] if context.started_campaigns else None
        if running_campaigns or (last_campaign is not None and last_campaign.process.poll() is None):
            name = running_campaigns[0].plan if running_campaigns else checked_plan.name
            raise RepositoryError(f"a campaign is running: {name}", hint="wait for its end, or run it elsewhere")
        stamp = hashlib.sha256(f"{checked_plan.source}{cluster_text}".encode()).hexdigest()[:12]
        folder = folders.plans.resolve() / stamp
        process = _run(write_plan(folder, checked_plan), folders.root.resolve(), folder / "log")
        context.started_campaigns.append(StartedCampaign(checked_plan.name, process, folder / "log"))
    return Started(plan=checked_plan.name, pid=process.pid, runs=len(schedule(checked_plan, expand(checked_plan))))


def write_plan(folder: Path, plan: Plan) -> Path:
    """Write the plan and its cluster into ``folder``, and return the plan's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CLUSTER_FILE).write_text(plan.cluster_source, encoding="utf-8")
    (folder / PLAN_FILE).write_text(plan.source, encoding="utf-8")
    return folder / PLAN_FILE


def _run(path: Path, root: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as log_file:
        return subprocess.Popen(
            [sys.executable, "-m", "assay", "run", str(path), "--repository", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=path.parent,
        )


def fields_of_plan(text: str) -> list[tuple[str, str]]:
    """Return the fields of a form for a plan file without its secrets: what :func:`question_of_form` reads."""
    content = document_of(redacted_plan(text).encode(), PLAN_FILE).content
    factors = {name: _levels(levels) for name, levels in entries_of(content.get("factors")).items()}
    layouts = factors.pop(LAYOUT_FACTOR, None) or str(content.get(LAYOUT_FACTOR, ""))
    fields = [
        ("name", str(content["plan"])),
        ("engine", str(content.get("engine", ""))),
        ("layouts", layouts),
        ("levels", "\n".join(f"{name}: {levels}" for name, levels in factors.items())),
        ("parameters", "\n".join(f"{name}: {value}" for name, value in entries_of(content.get("parameters")).items())),
        ("repetitions", str(content.get("repetitions", ""))),
    ]
    for workload in content["workloads"]:
        for name, option_entries in entries_of(workload).items():
            options = dict(entries_of(option_entries))
            per_node, total_data = options.pop("data_per_node", ""), options.pop("data", "")
            data = f"{parse_bytes(per_node or total_data) / 1e9:g}GB" if per_node or total_data else ""
            fields += [
                ("workload", name),
                ("data", f"{data}/node" if per_node else data),
                ("options", " ".join(f"{key}={value}" for key, value in options.items())),
            ]
    return [(name, value) for name, value in fields if value or name == "options"]


def _levels(levels: object) -> str:
    """Return the levels of a factor with commas; a named level of several parameters by its name."""
    return ", ".join(map(str, levels if isinstance(levels, list) else entries_of(levels)))


def question_of_form(form: dict[str, list[str]]) -> PlanQuestion:
    """Return the request for a form. Its fields contain rows of workloads, and lines of levels and parameters."""

    def field_text(name: str, default: str = "") -> str:
        return form.get(name, [default])[0].strip() or default

    def lines(name: str) -> dict[str, str]:
        pairs = {}
        for line in filter(str.strip, field_text(name).splitlines()):
            key, colon, value = line.partition(":")
            if not colon or not value.strip():
                raise SpecificationError(f"{line.strip()[:80]!r} is not of the form NAME: VALUE", where=name)
            pairs[key.strip()] = value.strip()
        return pairs

    rows = zip(*(form.get(name, []) for name in ("workload", "data", "options")), strict=False)
    workloads = [
        {
            "name": name,
            "data": data.strip().removesuffix("/node").strip(),
            "per_node": data.strip().endswith("/node"),
            "options": dict(_option_in(pair) for pair in options.replace(",", " ").split()),
        }
        for name, data, options in rows
        if name and data.strip()
    ]
    if not workloads:
        raise SpecificationError("choose a workload and its data size", where="workloads")
    values = {
        "name": field_text("name", "plan"),
        "engine": field_text("engine"),
        "workloads": workloads,
        "layouts": _items_in(field_text("layouts")),
        "levels": {name: _items_in(text) for name, text in lines("levels").items()},
        "parameters": lines("parameters"),
        "repetitions": field_text("repetitions", "3"),
        "seed": field_text("seed", "1"),
    }
    cluster_text = form.get("cluster_text", [""])[0].replace("\r\n", "\n")
    if not values["layouts"]:
        raise SpecificationError("name a layout, such as HD2", where="layouts", hint="several with commas")
    cluster = {"cluster_text": cluster_text} if cluster_text.strip() else {"cluster": field_text("cluster")}
    return PlanQuestion.model_validate({**values, **cluster})


def _items_in(text: str) -> list[str]:
    return [part.strip() for part in text.strip("[] ").split(",") if part.strip()]


def _option_in(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise SpecificationError(f"{text[:80]!r} is not of the form NAME=VALUE", where="options of a workload")
    return name, value


@router.get("/plan/started", dependencies=READERS)
def list_started(context: ContextOf) -> list[StartedStatus]:
    """List the campaigns that this server process started, with the last lines of their output."""
    return [
        StartedStatus(
            plan=campaign.plan,
            pid=campaign.process.pid,
            running=campaign.process.poll() is None,
            exit_status=campaign.process.returncode,
            last_lines=_last_lines(campaign.log),
        )
        for campaign in context.started_campaigns
    ]


def _last_lines(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_END_BYTES))
            return file.read().decode(errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        return []
