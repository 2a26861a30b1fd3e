"""Whether a deployment's daemons can be started at all: asked of every node before the first is.

In: a deployment and transports. Out: nothing, or an :class:`UnfitError` that names every host and what to do there: a
wait of minutes for daemons that can't come up says less. What is asked: room and write permission of each folder that
daemons use, memory against what containers may take, clocks, and whether HDFS lies where the cluster file says.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from assay.execution.engines.hadoop.settings.configuration import Deployment
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import HostError, UnfitError
from assay.foundation.units import format_bytes, format_duration
from assay.model import Node, Placement, Role

ROOM_BYTES = 16 << 20
"""For configuration, logs and metadata; data are the plan's business."""
CLOCK_MAX_S = 60.0
"""Hadoop's tokens and Kerberos bear some minutes; times of different hosts that are compared bear less."""
DAEMON_BYTES = 128 << 20
"""What a daemon needs at the very least to come up."""
CONTAINERS_MEMORY = "yarn.nodemanager.resource.memory-mb"
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class _NodeAnswer:
    node: Node
    content: Mapping[str, Any]
    ahead_s: float
    """By how much its clock is ahead of ours."""


async def require_ready(
    deployment: Deployment, transports: Mapping[str, Transport], folders: Mapping[str, Sequence[str]]
) -> None:
    """Raise UnfitError where daemons that use ``folders`` (by node) can't run; the folders are made."""
    nodes = deployment.cluster.nodes
    answers = await asyncio.gather(
        *(_ask(deployment, node, transports[node.name], folders[node.name]) for node in nodes)
    )
    known_directories = await _places_before(deployment, transports[deployment.cluster.master.name])
    problems = [problem for answer in answers for problem in _troubles(deployment, answer)]
    problems += _elsewhere(deployment, known_directories) or _foreign(deployment, answers)
    if problems:
        words, hints = "; ".join(words for words, _ in problems), "; ".join(dict.fromkeys(hint for _, hint in problems))
        raise UnfitError(f"daemons can't be started: {words}", where=deployment.cluster.name, hint=hints)


async def _ask(deployment: Deployment, node: Node, transport: Transport, folders: Sequence[str]) -> _NodeAnswer:
    source = (resources.files("assay.execution.engines.hadoop.deployment.node") / "ready.py").read_text()
    directories = [*deployment.hdfs_directories(node), *deployment.memory_directories(node)] if _works(node) else []
    metadata = [*directories, *([deployment.image_directory] if Role.MASTER in node.roles else [])]
    options = {"folders": list(folders), "own": directories, "room_bytes": ROOM_BYTES, "metadata": metadata}
    began = time.time()
    done = await transport.run(["python3", "-c", source, json.dumps(options)], timeout_s=_TIMEOUT_S)
    answer = json.loads(done.stdout)
    now = time.time()
    # The node read its clock somewhere between our two readings.
    early, late = answer["unix_s"] - now, answer["unix_s"] - began
    return _NodeAnswer(node, answer, 0.0 if early <= 0 <= late else min(early, late, key=abs))


def _works(node: Node) -> bool:
    return Role.WORKER in node.roles


def _troubles(deployment: Deployment, answer: _NodeAnswer) -> list[tuple[str, str]]:
    """Return what is wrong with a node by itself, and what to do about it."""
    name, answers = answer.node.name, answer.content
    problems = [(f"{name}: {words}", f"on {name}: {hint}") for words, hint in answers["troubles"]]
    if abs(answer.ahead_s) > CLOCK_MAX_S:
        direction = "ahead of" if answer.ahead_s > 0 else "behind"
        words = f"{name}: its clock is {format_duration(abs(answer.ahead_s))} {direction} this machine's"
        problems.append((words, "set both by NTP (chrony, systemd-timesyncd)"))
    daemons = (2 if _works(answer.node) else 0) + (3 if Role.MASTER in answer.node.roles else 0)
    if answers["available_bytes"] < daemons * DAEMON_BYTES:
        words = f"{name}: {format_bytes(answers['available_bytes'])} of memory are available for {daemons} daemons"
        problems.append((words, f"on {name}: end what else runs there"))
    containers_bytes = int(deployment.parameters.get(CONTAINERS_MEMORY, "0")) << 20 if _works(answer.node) else 0
    # A lab's nodes have limits of their own, and promise more than the machine has on purpose.
    if deployment.cluster.placement is not Placement.LAB and containers_bytes > answers["memory_bytes"]:
        has = format_bytes(answers["memory_bytes"])
        words = f"{name}: containers may take {format_bytes(containers_bytes)}, and it has {has} of memory"
        problems.append((words, f"lower {CONTAINERS_MEMORY} in the plan, or the memory in the cluster file"))
    return problems


def _foreign(deployment: Deployment, answers: Sequence[_NodeAnswer]) -> list[tuple[str, str]]:
    """Return the DataNodes' directories that belong to another HDFS than the NameNode's."""
    clusters = {}
    image = next(
        (a.content["clusters"].get(deployment.image_directory) for a in answers if Role.MASTER in a.node.roles), None
    )
    for answer in answers if image else []:
        for directory, cluster in answer.content["clusters"].items():
            if cluster != image:
                clusters[f"{answer.node.name}: {directory} belongs to another HDFS ({cluster}, not {image})"] = (
                    f"remove that directory on {answer.node.name} if nobody needs it, or name another home"
                )
    return list(clusters.items())


def _elsewhere(deployment: Deployment, before: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return that HDFS was made in directories that the cluster file no longer names: blocks are there."""
    problems = []
    for node in deployment.cluster.workers:
        now = deployment.hdfs_directories(node)
        lost = [directory for directory in before.get(node.name, ()) if directory not in now]
        if lost:
            words = (
                f"{node.name}: the HDFS of layout {deployment.layout.name} was made in {', '.join(lost)}, "
                f"and is now to lie in {', '.join(now)}"
            )
            hint = (
                f"put the directories back; or begin anew (input is made again): remove {deployment.directory} on "
                f"{deployment.cluster.master.name}, or name another home"
            )
            problems.append((words, hint))
    return problems


def _record(deployment: Deployment) -> str:
    return f"{deployment.image_directory}.places"


async def _places_before(deployment: Deployment, master: Transport) -> dict[str, list[str]]:
    """Return where HDFS's directories were when it last came up; nothing where it never did."""
    result = await master.run(
        ["test", "-e", f"{deployment.image_directory}/current/VERSION"], timeout_s=20, check=False
    )
    if result.exit_status != 0:
        return {}
    try:
        return dict(json.loads(await master.read_file(_record(deployment))))
    except (HostError, ValueError):  # made by an assay that kept none
        return {}


async def note_places(deployment: Deployment, master: Transport) -> None:
    """Keep where HDFS's directories are, now that it has come up there."""
    directories = {node.name: deployment.hdfs_directories(node) for node in deployment.cluster.workers}
    await master.write_file(_record(deployment), json.dumps(directories).encode())
