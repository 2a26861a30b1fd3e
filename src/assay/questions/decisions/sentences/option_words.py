"""Options of a decision in words: ``2 SSDs per worker (SS2)``, ``InfiniBand``, ``24 map slots per worker``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.execution.planning.plan_files.changed_plan import WORKERS_COUNT
from assay.execution.planning.plan_files.rented_workers import WORKER_TYPE
from assay.model import (
    CONTAINERS,
    LAYOUT_FACTOR,
    NETWORK_FACTOR,
    WORKERS_FACTOR,
    Meaning,
    counted_resources,
    parameters_with,
)
from assay.questions.decisions.decision import Decision
from assay.text import column_title, data_text, disk_noun, joined, level_text, meanings, plural, workload_title

_CLASSES = {
    DeviceClass.HARD_DISKS: "hard disks",
    DeviceClass.SSD: "SSDs",
    DeviceClass.NVME: "NVMe drives",
    DeviceClass.HYBRID: "hybrid storage",
    DeviceClass.REMOTE: "remote volumes",
}
COUNTED = {DISKS: "disk", WORKERS_FACTOR: "worker", CONTAINERS: "container", **counted_resources()}
"""Factor that counts a resource, and the noun for the resource."""
_CHANGE_TEXTS = {
    "nic": "{} per node",
    "data": "{} of data",
    "files": "{} files",
    "maps": "{} map tasks",
    "reduces": "{} reduce tasks",
    "worker.cores": "{} cores per worker",
    "worker.memory": "{} of memory per worker",
    "worker.cpu.speed": "core speed {}",
}
"""Changes of a cluster or a workload in words; ``{}`` stands for the value."""
_DEVICE = re.compile(r"worker\.devices\.(\w+)\.(count|read|write|capacity)")
"""A change of a group of disks, and its property."""
_DISK_KINDS = ("hdd", "ssd", "nvme")
_DEVICE_TEXTS = {
    "count": "{2} per worker",
    "read": "{0} read rate per {1}",
    "write": "{0} write rate per {1}",
    "capacity": "{0} per {1}",
}
"""Changes of disks in words: value, noun of one disk, and the counted noun."""
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_CLEAR_WITHOUT_NAME = ("data_bytes", "origin", "cluster")
"""Factors whose levels are clear without the name of the factor."""
_COMPRESSION_SWITCHES = parameters_with(Meaning.COMPRESSION_SWITCH)
_PER_WORKER = (DISKS, CONTAINERS, *parameters_with(Meaning.TASKS_PER_WORKER))


def option_text(factor: str, level: str) -> str:
    """Return an option in words first, with its code second: ``2 SSDs per worker (SS2)``.

    Levels of several factors: ``2 SSDs per worker (SS2) with InfiniBand and 4 containers per worker on cluster a``.
    """
    if " + " in factor:
        parts = dict(zip(factor.split(" + "), level.split(" + "), strict=True))
        cluster = parts.pop("cluster", None)
        texts = [option_text(*part) for part in parts.items()]
        text = " with ".join([*texts[:1], *([joined(texts[1:])] if texts[1:] else [])])
        return text if cluster is None else f"{text} on cluster {cluster}"
    if factor == DEVICE_CLASS:
        return _CLASSES[DeviceClass(level)]
    meaning = meanings([level]).get(level)
    if factor == LAYOUT_FACTOR:
        return f"{meaning} ({level})" if meaning else level
    if factor == "network":
        return meaning or _with_spaced_unit(level)
    if factor in COUNTED and level.isdecimal():
        return plural(int(level), COUNTED[factor]) + (" per worker" if factor in _PER_WORKER else "")
    return f"{column_title(factor)} {level_text(factor, level)}"


def compared_option(decision: Decision, level: str) -> str:
    """Return an option of a decision in words; a number of disks names the disks if all are of one kind: ``2 SSDs``."""
    kinds = decision.disks.compared if decision.disks else ()
    nouns = {disk_noun(disks.kind) for disks in kinds}
    if len(nouns) == 1 and level.isdecimal():
        return f"{plural(int(level), nouns.pop())} per worker"
    return option_text(decision.factor, level)


def option_with_rate(decision: Decision, level: str) -> str:
    """Return an option of a decision in words, with the rate of a network if it is known: ``Ethernet (1 Gbit/s)``."""
    name, rate = compared_option(decision, level), decision.link_rates.get(level)
    return f"{name} ({rate})" if rate else name


def without_shared_levels(decision: Decision) -> Decision:
    """Return a decision on several factors without the factors in which its options are equal: names get shorter."""
    factors = decision.factor.split(" + ")
    names = [decision.baseline, *(option.option for option in decision.options)]
    levels = [name.split(" + ") for name in names]
    kept_numbers = [number for number in range(len(factors)) if len({level[number] for level in levels}) > 1]
    if not kept_numbers or len(kept_numbers) == len(factors):
        return decision

    def shortened(name: str) -> str:
        return " + ".join(name.split(" + ")[number] for number in kept_numbers)

    cheapest = decision.cheapest
    return replace(
        decision,
        factor=" + ".join(factors[number] for number in kept_numbers),
        baseline=shortened(decision.baseline),
        leader=shortened(decision.leader),
        ties=tuple(map(shortened, decision.ties)),
        options=tuple(replace(option, option=shortened(option.option)) for option in decision.options),
        results=tuple(replace(result, option=shortened(result.option)) for result in decision.results),
        cheapest=cheapest
        and replace(
            cheapest,
            option=shortened(cheapest.option),
            ties=tuple(map(shortened, cheapest.ties)),
            rivals=tuple(replace(rival, option=shortened(rival.option)) for rival in cheapest.rivals),
        ),
    )


def baseline_text(factor: str, level: str) -> str:
    """Return a baseline for the head of a table: ``Ethernet``, ``1 hard disk (HDD) + InfiniBand``."""
    pairs = zip(factor.split(" + "), level.split(" + "), strict=True) if " + " in factor else [(factor, level)]
    return " + ".join(level_text(*pair) for pair in pairs)


def options_text(factor: str, levels: Sequence[str]) -> str:
    """Return options as a list in a sentence: ``Ethernet and InfiniBand``, ``2, 4 and 8 containers per worker``."""
    *first_levels, last = levels
    texts = first_levels if factor in COUNTED else [option_text(factor, level) for level in first_levels]
    return joined([*texts, option_text(factor, last)])


def change_text(name: str, value: str) -> str:
    """Return a change of a what-if question in words: ``2 SSDs per worker (SS2)``, ``25 Gbit/s per node``."""
    if name == WORKER_TYPE:
        return f"{value} workers"
    if name in _CHANGE_TEXTS:
        return _CHANGE_TEXTS[name].format(_with_spaced_unit(value))
    if device := _DEVICE.fullmatch(name):
        noun = disk_noun(device[1]) if device[1] in _DISK_KINDS else f"{device[1]} disk"
        count_text = plural(int(value), noun) if value.isdecimal() else value
        return _DEVICE_TEXTS[device[2]].format(_with_spaced_unit(value), noun, count_text)
    if name == WORKERS_COUNT:
        return option_text(WORKERS_FACTOR, value)
    if name in (LAYOUT_FACTOR, NETWORK_FACTOR, CONTAINERS):
        return option_text(name, value)
    return f"{column_title(name)} {level_text(name, value)}" if column_title(name) != name else f"{name}={value}"


def _with_spaced_unit(value: str) -> str:
    """Return a quantity with a space before its unit: ``25 Gbit/s``."""
    return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", value)


def context_text(levels: Mapping[str, str]) -> str:
    """Return the levels that distinguish groups of runs: ``200 MB, Ethernet``; unrecorded levels are left out.

    Data of a lab whose scale is a level is at full scale first: ``4 GB (200 MB in the lab, 1/20), Ethernet``.
    """
    recorded_levels = {name: level for name, level in levels.items() if level != str(None)}
    texts = {name: _plain_level(name, level) for name, level in recorded_levels.items()}
    if recorded_levels.get("data_bytes", "").isdecimal() and _NUMBER.fullmatch(recorded_levels.get("lab_scale", "")):
        texts["data_bytes"] = data_text(int(recorded_levels["data_bytes"]), float(recorded_levels["lab_scale"]))
        del texts["lab_scale"]
    return ", ".join(texts.values())


def context_of(text: str) -> dict[str, str]:
    """Return the levels of a context, ``data_bytes=200000000, network=ETH``."""
    return {name: level for name, _, level in (part.partition("=") for part in text.split(", ")) if level}


def workload_in_context(workload: str, context: str) -> str:
    """Return a workload with what distinguishes its group: ``TeraSort, 200 MB, Ethernet``."""
    setting = context_text(context_of(context))
    return f"{workload_title(workload)}, {setting}" if setting else workload_title(workload, context)


def _plain_level(name: str, level: str) -> str:
    """Return an option without the name of its factor where the level is clear without it."""
    return level_text(name, level) if name in _CLEAR_WITHOUT_NAME else option_text(name, level)


def parameter_text(factor: str, level: str) -> str:
    """Return a setting in words: ``12 map slots per worker``, ``sort factor 10``, ``map output not compressed``."""
    text = option_text(factor, level)
    if factor in _COMPRESSION_SWITCHES:
        negation = "" if level == "true" else "not "
        text = column_title(factor).replace(" compressed", f" {negation}compressed")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def option_verb(factor: str, level: str) -> str:
    """Return the verb that follows an option: ``are`` after a plural. Levels of several factors: that of the first."""
    if " + " in factor:
        first, *_ = zip(factor.split(" + "), level.split(" + "), strict=True)
        return option_verb(*first)
    if factor == DEVICE_CLASS:
        return "is" if level == DeviceClass.HYBRID else "are"
    if factor in COUNTED:
        return "is" if level == "1" else "are"
    meaning = meanings([level]).get(level, "1 ")
    return "is" if factor != LAYOUT_FACTOR or meaning.startswith("1 ") else "are"
