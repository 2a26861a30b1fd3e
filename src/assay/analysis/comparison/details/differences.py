"""Warn about other differences between compared runs, and about runs that the CPU limited.

In: the runs of both sides with their environments. Out: warnings. An environment is a tree of facts about the hosts. A
difference is a leaf that both sides have, with more than one value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from assay.model import TARGETS, CodedWarning, Environment, Run, WarningCode

CPU_LIMIT_SHARE = 0.85
"""Mean busy share of the workers' CPUs above which the CPU, not the disks, limited a run."""
_RELEVANT = re.compile(
    r"(?:^|\.)(?:kernel|jvm|java|java_options|assay|distribution|sysctls|limits|cpu|memory|clock_source)(?:\.|$)"
    r"|\.file_systems\..*\.(?:type|options)$"
    r"|^lab\.disks\.emulator$"
)
"""Paths of facts that can change a result. Device numbers, ports and times are excluded, because they always differ."""
_PARAMETER = re.compile(r"^parameters\.(?!.*(?:dir|path|address|port|host|classpath|uri)s?\b)")
"""Paths of effective engine parameters, except for directories, hosts, addresses and ports."""
_NAMES_MAX = 5
"""Maximum number of differing facts that warnings name."""
HostValues = Mapping[str, set[str]]
"""Path of a recorded fact in the environment, and its values."""


def _is_compared(path: str, factor: str) -> bool:
    if _PARAMETER.search(path):
        return path.removeprefix("parameters.") not in (factor, *TARGETS.get(factor, ()))
    if path.startswith("simulation."):  # only the profile is an input
        return path in ("simulation.profile", "simulation.learned")
    return bool(_RELEVANT.search(path)) and not path.startswith("parameters.")


def host_facts(environments: Iterable[Environment], factor: str) -> HostValues:
    """Return the values of each recorded fact that can change a result, except ``factor`` and the parameters that it
    sets."""
    facts: dict[str, set[str]] = {}
    is_compared: dict[str, bool] = {}
    environments_by_tree = {id(environment.tree): environment for environment in environments}
    for environment in environments_by_tree.values():
        for path, value in environment.leaves():
            if path not in is_compared:
                is_compared[path] = _is_compared(path, factor)
            if is_compared[path]:
                facts.setdefault(path, set()).add(value)
    return facts


def environment_warnings(first: HostValues, second: HostValues) -> list[CodedWarning]:
    """Return a warning for each recorded fact that differs between runs: kernel, JVM, mounts, parameters."""
    differing_paths = [path for path in first if path in second and len(first[path] | second[path]) > 1]
    sentences = []
    for path in differing_paths[:_NAMES_MAX]:
        values = [" or ".join(sorted(side[path])) for side in (first, second)]
        values_text = f"{values[0]} against {values[1]}" if values[0] != values[1] else values[0]
        sentences.append(f"{path} was not the same in all runs: {values_text}")
    if len(differing_paths) > _NAMES_MAX:
        sentences.append(f"{len(differing_paths) - _NAMES_MAX} more recorded facts about the hosts differ")
    return [CodedWarning(WarningCode.HOSTS_DIFFER, message) for message in sentences]


def differing_facts(sides: Sequence[Sequence[Run]]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return each recorded fact of the hosts that differs between runs, with the values of every side.

    A side without the fact has no values. A fact that only one side has does not count as different.
    """
    facts = [host_facts((run.recorded for run in side), "") for side in sides]
    differences = {}
    for path in dict.fromkeys(path for side in facts for path in side):
        values = tuple(tuple(sorted(side.get(path, ()))) for side in facts)
        if sum(map(bool, values)) > 1 and len({text for side in values for text in side}) > 1:
            differences[path] = values
    return differences


def cpu_limited(busy_share: float | None) -> bool:
    """Return whether a busy share shows that the CPU was the limit; an unknown share does not."""
    return busy_share is not None and busy_share > CPU_LIMIT_SHARE


def was_cpu_limited(run: Run) -> bool:
    """Return whether the run's ``cpu_busy_share`` or one of its warnings says that the CPU was the limit."""
    has_warning = any(warning.code is WarningCode.CPU_LIMIT for warning in run.warnings)
    return has_warning or cpu_limited(run.metrics.get("cpu_busy_share"))


def cpu_warnings(runs: Sequence[Run]) -> list[CodedWarning]:
    """Return a warning if the CPU was the limit in some of ``runs``, because all ratios are then closer to 1."""
    limited_count = sum(was_cpu_limited(run) for run in runs)
    if not limited_count:
        return []
    message = (
        f"CPU was the limit in {limited_count} of {len(runs)} runs: the devices' difference may be larger than the "
        "ratio shows"
    )
    return [CodedWarning(WarningCode.CPU_LIMIT, message)]
