"""What a plan sets beside the layout: engine parameters, and four words that stand for more than one of them.

``network`` and ``workers`` choose a part of the cluster. ``containers`` (tasks that a node runs at once) and
``compression`` (of map output) become engine parameters. All of them, and any engine parameters, can be a factor each,
be joined under one factor's level, or hold for all runs. In: text as written. Out: a :class:`Configuration`'s parts;
mistakes with their places.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.model import containers
from assay.model.cluster import Cluster, Placement
from assay.model.layout import Layout
from assay.model.plan import (
    COMPRESSION,
    CONTAINERS,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    NETWORK_FACTOR,
    TARGETS,
    WORKERS_FACTOR,
    Configuration,
    Factor,
)
from assay.spec.document import Location, Problems
from assay.spec.fields import COUNT, DOTTED, unknown
from assay.units import format_bytes, parse_bit_rate

WORDS = (NETWORK_FACTOR, WORKERS_FACTOR, CONTAINERS, COMPRESSION)
_CODEC = "org.apache.hadoop.io.compress"
CODECS: dict[str, str | None] = {
    "none": None,
    "snappy": f"{_CODEC}.SnappyCodec",
    "gzip": f"{_CODEC}.GzipCodec",
    "bzip2": f"{_CODEC}.BZip2Codec",
}
"""Those that work without native libraries: Hadoop's own Java code, and snappy-java, which comes with it."""
Place = tuple[Location, str, str]
"""Where something is set, its name, and its value as text."""


def places(parameters: Mapping[str, str], factors: Sequence[Factor]) -> list[Place]:
    """Return everything that a plan sets, in the file's order, with its place; layouts and workloads' options too."""
    found: list[Place] = [(("parameters", name), name, value) for name, value in parameters.items()]
    for factor in factors:
        at: Location = ("factors", factor.name)
        if not factor.settings:
            found += [((*at, index), factor.name, level) for index, level in enumerate(factor.levels)]
        for level, settings in factor.settings.items():
            found += [((*at, level, name), name, value) for name, value in settings.items()]
    return found


def configured(levels: Mapping[str, str], layout: Layout, settings: Mapping[str, str]) -> Configuration:
    """Return the configuration in which ``settings`` hold, words resolved into engine parameters."""
    parameters = {name: value for name, value in settings.items() if name not in WORDS}
    codec = CODECS.get(settings.get(COMPRESSION, "none"))
    if COMPRESSION in settings:
        parameters |= {MAP_OUTPUT_COMPRESS: "true" if codec else "false"} | ({MAP_OUTPUT_CODEC: codec} if codec else {})
    if CONTAINERS in settings:
        parameters |= containers.parameters_for(int(settings[CONTAINERS]), parameters)
    workers = int(settings[WORKERS_FACTOR]) if WORKERS_FACTOR in settings else None
    return Configuration(dict(levels), layout, parameters, settings.get(NETWORK_FACTOR), workers)


def check_settings(
    parameters: Mapping[str, str], factors: Sequence[Factor], cluster: Cluster, problems: Problems
) -> None:
    """Note unknown names, values that can't be, and what is set twice."""
    given = places(parameters, factors)
    names = {name for _, name, _ in given}
    for at, name, value in given:
        joined = at[0] == "factors" and isinstance(at[-1], str)
        if joined and name not in WORDS and not re.fullmatch(DOTTED, name):
            words = unknown("setting", name, WORDS)
            problems.add(at, f"{words}, or an engine parameter such as dfs.blocksize")
        mistake = _mistake(name, value, cluster)
        if mistake:
            problems.add(at, f"{name}: {mistake}")
        word = next((word for word, targets in TARGETS.items() if name in targets and word in names), None)
        if word:
            problems.add(at, f"{name} is what {word!r} sets; write one of the two")
    _check_once(factors, problems)


def _check_once(factors: Sequence[Factor], problems: Problems) -> None:
    owner: dict[str, str] = {}
    for factor in factors:
        settings = dict.fromkeys(name for level in factor.settings.values() for name in level)
        for name in settings if factor.settings else [factor.name]:
            if name in owner:
                problems.add(("factors", factor.name), f"{name} is set by the factor {owner[name]!r} already")
            owner.setdefault(name, factor.name)


def _mistake(name: str, value: str, cluster: Cluster) -> str | None:
    """Return what is wrong with the value of a word; None for what is right, and for any other name."""
    match name:
        case "network":
            return _network_mistake(value, cluster)
        case "workers":
            most = len(cluster.workers)
            if not re.fullmatch(r"[1-9][0-9]{0,8}", value) or int(value) > most:
                return f"{value[:20]!r} is not a number of workers from 1 to {most}, which the cluster has"
        case "containers":
            try:
                COUNT.parse(value)
            except ValueError as error:
                return str(error)
        case "compression" if value not in CODECS:
            return (
                f"{unknown('compression', value, CODECS)} (lz4 and zstd need libraries that Hadoop does not bring: "
                f"where the hosts have them, set {MAP_OUTPUT_COMPRESS} and {MAP_OUTPUT_CODEC})"
            )
    return None


def _network_mistake(value: str, cluster: Cluster) -> str | None:
    if value in cluster.networks:
        return None
    if cluster.placement is Placement.LOCAL:
        return "this machine alone has no network to choose"
    if cluster.placement is Placement.LAB:
        try:
            return None if parse_bit_rate(value) > 0 else "a link's rate must be more than 0"
        except ValueError as error:
            return f"{error}; or name one of the cluster's networks: {', '.join(cluster.networks) or 'it has none'}"
    return f"{unknown('network', value, cluster.networks)}; the cluster file describes them under 'networks'"


def check_configurations(
    configurations: Sequence[Configuration], given: Sequence[Place], cluster: Cluster, problems: Problems
) -> None:
    """Note what would fail, or wait for ever, once the engine has all of a configuration's parameters."""
    node_bytes = min(_memory_bytes(cluster, node.type.memory_bytes) for node in cluster.workers)
    for configuration in configurations:
        workers = configuration.workers or len(cluster.workers)
        found = itertools.chain(
            _copies(configuration, workers),
            _overfull(configuration, given, cluster, node_bytes),
            containers.mistakes(configuration.parameters, workers),
        )
        for names, words in found:
            problems.add(_place(names, configuration, given), f"{words} ({configuration.key})")
            return


def _copies(configuration: Configuration, workers: int) -> Iterator[tuple[tuple[str, ...], str]]:
    copies = configuration.parameters.get("dfs.replication", "1")
    if int(copies) > workers:
        yield ("dfs.replication",), f"dfs.replication: {copies} copies need as many workers, and {workers} are used"


def _memory_bytes(cluster: Cluster, described_bytes: int) -> int:
    floor = cluster.lab.memory_floor_bytes if cluster.lab else 0
    return max(floor, int(described_bytes * cluster.scale))


def _overfull(
    configuration: Configuration, given: Sequence[Place], cluster: Cluster, node_bytes: int
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield that the containers of a node get more memory than it has, whatever says how much they get.

    What assay sets by itself is made for a lab's nodes, so it is held against the machines of other clusters only.
    """
    parameters = configuration.parameters
    if cluster.lab is not None and containers.NODE_MEMORY not in parameters:
        return
    wanted = containers.node_memory_mb(parameters) * 2**20
    if wanted <= node_bytes:
        return
    if any(name == CONTAINERS for _, name, _ in given):
        what, instead = "containers: they want", f"fewer, less {containers.MAP_MEMORY} and {containers.REDUCE_MEMORY}"
    else:
        what, instead = f"{containers.NODE_MEMORY}: containers get", "less of it, or 'containers: N', which sets it"
    words = f"{what} {format_bytes(wanted)}, a worker has {format_bytes(node_bytes)}; {instead}"
    yield (containers.NODE_MEMORY,), f"{words}, or in a lab more memory_floor"


def _place(names: Sequence[str], configuration: Configuration, given: Sequence[Place]) -> Location:
    """Return where the first of ``names`` is set for this configuration; what a word sets is where the word is."""
    for name in names:
        asked = [name, *(word for word, targets in TARGETS.items() if name in targets)]
        here = [place for place in given if place[1] in asked and _holds(place, configuration)]
        if here:
            return here[-1][0]
    return ("factors",)


def _holds(place: Place, configuration: Configuration) -> bool:
    at, _, value = place
    if at[0] == "parameters":
        return True
    level = configuration.levels.get(str(at[1]))
    return level == (at[2] if isinstance(at[2], str) else value)
