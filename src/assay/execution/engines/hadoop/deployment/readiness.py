"""Check on every node whether a deployment's daemons can start, before starting the first.

In: a deployment and transports. Out: nothing, or an :class:`UnusableHostError` that names every unusable host and the
remedies. The check covers space and write permission of each folder that daemons use, memory against the containers'
limit, clocks, and whether HDFS is in the directories of the cluster file.
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
from assay.foundation.errors import HostError, UnusableHostError
from assay.foundation.units import format_bytes, format_duration
from assay.model import Node, Placement, Role

FREE_BYTES_MIN = 16 << 20
"""Minimum free space of a folder for configuration, logs and metadata, in bytes. Space for data is checked with the
plan."""
CLOCK_MAX_S = 60.0
"""Maximum clock difference, in seconds. Hadoop's tokens and Kerberos tolerate minutes; comparing times needs less."""
DAEMON_BYTES = 128 << 20
"""Minimum memory of a daemon, in bytes."""
CONTAINERS_MEMORY = "yarn.nodemanager.resource.memory-mb"
_TIMEOUT_S = 60.0
"""Maximum time of a check on a host, in seconds."""


@dataclass(frozen=True, slots=True)
class _NodeAnswer:
    node: Node
    content: Mapping[str, Any]
    ahead_s: float
    """Lead of the node's clock over this machine's clock, in seconds."""


async def require_ready(
    deployment: Deployment, transports: Mapping[str, Transport], folders: Mapping[str, Sequence[str]]
) -> None:
    """Raise UnusableHostError if daemons that use ``folders`` (by node) can't run; creates the folders."""
    nodes = deployment.cluster.nodes
    answers = await asyncio.gather(
        *(_ask(deployment, node, transports[node.name], folders[node.name]) for node in nodes)
    )
    recorded_directories = await _recorded_directories(deployment, transports[deployment.cluster.master.name])
    problems = [problem for answer in answers for problem in _node_problems(deployment, answer)]
    problems += _data_in_removed_directories(deployment, recorded_directories) or _directories_of_another_hdfs(
        deployment, answers
    )
    if problems:
        message = "; ".join(message for message, _ in problems)
        hints = "; ".join(dict.fromkeys(hint for _, hint in problems))
        raise UnusableHostError(f"daemons can't be started: {message}", where=deployment.cluster.name, hint=hints)


async def _ask(deployment: Deployment, node: Node, transport: Transport, folders: Sequence[str]) -> _NodeAnswer:
    source = (resources.files("assay.execution.engines.hadoop.deployment.node") / "ready.py").read_text()
    directories = [*deployment.hdfs_directories(node), *deployment.memory_directories(node)] if _is_worker(node) else []
    metadata = [*directories, *([deployment.image_directory] if Role.MASTER in node.roles else [])]
    options = {"folders": list(folders), "own": directories, "room_bytes": FREE_BYTES_MIN, "metadata": metadata}
    asked_unix_s = time.time()
    result = await transport.run(["python3", "-c", source, json.dumps(options)], timeout_s=_TIMEOUT_S)
    answer = json.loads(result.stdout)
    answered_unix_s = time.time()
    # The node read its clock between our two readings.
    offset_min_s, offset_max_s = answer["unix_s"] - answered_unix_s, answer["unix_s"] - asked_unix_s
    return _NodeAnswer(
        node, answer, 0.0 if offset_min_s <= 0 <= offset_max_s else min(offset_min_s, offset_max_s, key=abs)
    )


def _is_worker(node: Node) -> bool:
    return Role.WORKER in node.roles


def _node_problems(deployment: Deployment, answer: _NodeAnswer) -> list[tuple[str, str]]:
    """Return the problems of one node, and what to do."""
    name, content = answer.node.name, answer.content
    problems = [(f"{name}: {message}", f"on {name}: {hint}") for message, hint in content["problems"]]
    if abs(answer.ahead_s) > CLOCK_MAX_S:
        direction = "ahead of" if answer.ahead_s > 0 else "behind"
        message = f"{name}: its clock is {format_duration(abs(answer.ahead_s))} {direction} this machine's"
        problems.append((message, "synchronise both by NTP (chrony, systemd-timesyncd)"))
    daemon_count = (2 if _is_worker(answer.node) else 0) + (3 if Role.MASTER in answer.node.roles else 0)
    if content["available_bytes"] < daemon_count * DAEMON_BYTES:
        message = (
            f"{name}: {format_bytes(content['available_bytes'])} of memory are available for {daemon_count} daemons"
        )
        problems.append((message, f"on {name}: end other programs there"))
    containers_bytes = int(deployment.parameters.get(CONTAINERS_MEMORY, "0")) << 20 if _is_worker(answer.node) else 0
    # A lab's nodes have separate limits, and may together exceed the machine's memory on purpose.
    if deployment.cluster.placement is not Placement.LAB and containers_bytes > content["memory_bytes"]:
        memory_text = format_bytes(content["memory_bytes"])
        message = (
            f"{name}: containers may use {format_bytes(containers_bytes)}, but the node has {memory_text} of memory"
        )
        problems.append((message, f"lower {CONTAINERS_MEMORY} in the plan, or the memory in the cluster file"))
    return problems


def _directories_of_another_hdfs(deployment: Deployment, answers: Sequence[_NodeAnswer]) -> list[tuple[str, str]]:
    """Return a problem for each DataNode directory that belongs to another HDFS than the NameNode's."""
    hint_by_message = {}
    image_hdfs_id = next(
        (a.content["clusters"].get(deployment.image_directory) for a in answers if Role.MASTER in a.node.roles), None
    )
    for answer in answers if image_hdfs_id else []:
        for directory, hdfs_id in answer.content["clusters"].items():
            if hdfs_id != image_hdfs_id:
                hint_by_message[
                    f"{answer.node.name}: {directory} belongs to another HDFS ({hdfs_id}, not {image_hdfs_id})"
                ] = f"remove that directory on {answer.node.name} if it is not needed, or name another home"
    return list(hint_by_message.items())


def _data_in_removed_directories(
    deployment: Deployment, recorded_directories: Mapping[str, Sequence[str]]
) -> list[tuple[str, str]]:
    """Return a problem for each worker on which the cluster file no longer names directories with blocks of this
    HDFS."""
    problems = []
    for node in deployment.cluster.workers:
        current_directories = deployment.hdfs_directories(node)
        removed_directories = [
            directory for directory in recorded_directories.get(node.name, ()) if directory not in current_directories
        ]
        if removed_directories:
            message = (
                f"{node.name}: the HDFS of layout {deployment.layout.name} was made in "
                f"{', '.join(removed_directories)}, "
                f"but is now expected in {', '.join(current_directories)}"
            )
            hint = (
                f"restore the directories; or start over (inputs are generated again): remove "
                f"{deployment.directory} on {deployment.cluster.master.name}, or name another home"
            )
            problems.append((message, hint))
    return problems


def _directories_file(deployment: Deployment) -> str:
    return f"{deployment.image_directory}.places"


async def _recorded_directories(deployment: Deployment, master: Transport) -> dict[str, list[str]]:
    """Return HDFS's directories at its last start; empty if it never started."""
    result = await master.run(
        ["test", "-e", f"{deployment.image_directory}/current/VERSION"], timeout_s=20, check=False
    )
    if result.exit_status != 0:
        return {}
    try:
        return dict(json.loads(await master.read_file(_directories_file(deployment))))
    except (HostError, ValueError):  # an older version of assay recorded no directories
        return {}


async def record_directories(deployment: Deployment, master: Transport) -> None:
    """Record HDFS's directories after a successful start."""
    directories = {node.name: deployment.hdfs_directories(node) for node in deployment.cluster.workers}
    await master.write_file(_directories_file(deployment), json.dumps(directories).encode())
