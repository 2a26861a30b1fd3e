"""Options of a decision in words: ``2 SSDs per worker (SS2)``, ``InfiniBand``, ``24 map slots per worker``."""

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.model import CONTAINERS, LAYOUT_FACTOR, WORKERS_FACTOR, Meaning, counted_resources, parameters_that
from assay.text import column_title, level_text, meanings, plural

_CLASSES = {
    DeviceClass.HARD_DISKS: "hard disks",
    DeviceClass.SSD: "SSDs",
    DeviceClass.NVME: "NVMe drives",
    DeviceClass.HYBRID: "hybrid storage",
    DeviceClass.REMOTE: "remote volumes",
}
COUNTED = {DISKS: "disk", WORKERS_FACTOR: "worker", CONTAINERS: "container", **counted_resources()}
"""Factors that count resources: the counted noun."""
_PER_WORKER = (DISKS, CONTAINERS, *parameters_that(Meaning.TASKS_PER_WORKER))


def option_text(factor: str, level: str) -> str:
    """Return an option in words first, with its code second: ``2 SSDs per worker (SS2)``."""
    if " + " in factor:
        parts = zip(factor.split(" + "), level.split(" + "), strict=True)
        return " with ".join(option_text(*part) for part in parts)
    if factor == DEVICE_CLASS:
        return _CLASSES[DeviceClass(level)]
    meaning = meanings([level]).get(level)
    if factor == LAYOUT_FACTOR:
        return f"{meaning} ({level})" if meaning else level
    if factor == "network":
        return meaning or level
    if factor in COUNTED and level.isdecimal():
        return plural(int(level), COUNTED[factor]) + (" per worker" if factor in _PER_WORKER else "")
    return f"{column_title(factor)} {level_text(factor, level)}"


def option_verb(factor: str, level: str) -> str:
    """Return the verb that follows an option: ``are`` after a plural."""
    if factor == DEVICE_CLASS:
        return "is" if level == DeviceClass.HYBRID else "are"
    if factor in COUNTED:
        return "is" if level == "1" else "are"
    meaning = meanings([level]).get(level, "1 ")
    return "is" if factor != LAYOUT_FACTOR or meaning.startswith("1 ") else "are"
