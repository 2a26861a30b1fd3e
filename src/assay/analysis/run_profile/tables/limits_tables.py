"""Lay out the limits of a run as tables of text for the terminal, the page and the report. Nothing is computed."""

from assay.analysis.run_profile.limits.bounds import RESOURCES_OF_BOUND
from assay.analysis.run_profile.limits.loads import DISKS, Resource
from assay.analysis.run_profile.limits.run_limits import Limits, disks_as_one
from assay.text import TextTable, capitalised, share, tenths

LIMIT_TITLES = {
    Resource.CPU: "CPU",
    Resource.DISK_HDFS: "HDFS disks",
    Resource.DISK_INTERMEDIATE: "intermediate disks",
    Resource.DISK_SHARED: "disks (HDFS and intermediate)",
    Resource.DISK: "disks",
    Resource.NETWORK: "network",
    Resource.MEMORY: "memory",
    Resource.CONTAINERS: "waiting for containers",
    Resource.FIXED: "fixed costs",
    Resource.NO_TASK: "node idle",
    Resource.NONE: "no bottleneck found",
}
LIMIT_SUBJECTS = {
    **LIMIT_TITLES,
    Resource.CPU: "the CPU",
    Resource.DISK_HDFS: "the HDFS disks",
    Resource.DISK_INTERMEDIATE: "the intermediate disks",
    Resource.DISK_SHARED: "the disks (HDFS and intermediate)",
    Resource.DISK: "the disks",
    Resource.NETWORK: "the network",
    Resource.FIXED: "fixed costs of jobs",
    Resource.NO_TASK: "idle nodes",
    Resource.NONE: "no busy resource",
}
"""The limits as subjects of a sentence."""
_BOUND_TITLES = {"disks": "disks cost no time", "network": "the network cost no time", "cpu": "the CPUs cost no time"}
_BUSY_TITLES = {"disks": "disks were", "network": "the network was", "cpu": "the CPUs were"}


def limit_title(limit: str) -> str:
    """Return the words for a limiting resource; other texts are returned unchanged."""
    return next((title for resource, title in LIMIT_TITLES.items() if resource == limit), limit)


def limit_sections(limits: Limits) -> tuple[TextTable, TextTable]:
    """Return which resource was the limit in each phase, and how much faster the run could be at most."""
    rows: list[tuple[str, ...]] = []
    last_phase = ""
    for entry in limits.times:
        if entry.time_s >= 0.05 or entry.time_s >= 0.001 * limits.duration_s:
            share_text = f"{100 * entry.time_s / limits.duration_s:.0f} %"
            rows.append(
                (
                    "" if entry.phase == last_phase else entry.phase,
                    LIMIT_TITLES[entry.limit],
                    tenths(entry.time_s),
                    share_text,
                )
            )
            last_phase = entry.phase
    rows.append(("all", "", tenths(limits.duration_s), "100 %"))
    columns = ("phase", "limit", "time (s)", "share")
    by_phase = TextTable("what was the limit (s, mean over the workers)", columns, tuple(rows))
    bounds = [
        (_BOUND_TITLES[entry.freed], f"{tenths(entry.least_s)} s", f"{entry.gain_max:.2f}") for entry in limits.bounds
    ]
    headers = ("if", "minimum time", "maximum speedup")
    return by_phase, TextTable(
        f"minimum time if a resource cost no time ({limits.origin}: {tenths(limits.duration_s)} s): all time in which "
        "it was busy is left out, also where another resource was the limit",
        headers,
        tuple(bounds),
        limits.rests_on,
    )


def seconds_table(limits: Limits) -> TextTable:
    """Return a row for each step of each worker."""
    rows = [
        (tenths(moment.t_s), moment.node, moment.phase, LIMIT_TITLES[moment.limit], share(moment.share))
        for moment in limits.moments
    ]
    return TextTable("second by second", ("from (s)", "node", "phase", "limit", "busy"), tuple(rows))


def limit_sentence(limits: Limits) -> str:
    """Return the limit with the longest time: ``The disks limited 26.0 of 56.3 s.``

    Where another limit held for almost as long, the limit is not clear:
    ``No clear limit: fixed costs of jobs limited 3.9 of 12.5 s, CPU 3.5 s.``
    """
    clause = limit_clause(limits)
    return f"{capitalised(clause)}." if limits.rival is None else f"No clear limit: {clause}."


def limit_clause(limits: Limits) -> str:
    """Return the limit with the longest time, and a second limit that held for almost as long."""
    totals_s = limits.totals_s
    times = f"{tenths(totals_s[disks_as_one(limits.main)])} of {tenths(limits.duration_s)} s"
    if limits.main is Resource.NONE:
        text = f"no bottleneck was found in {times}"
    else:
        kinds = {entry.limit for entry in limits.times if entry.limit in DISKS}
        resource = limits.main if limits.main not in kinds or len(kinds) == 1 else Resource.DISK
        text = f"{LIMIT_SUBJECTS[resource]} limited {times}"
    rival = limits.rival
    return text if rival is None else f"{text}, {LIMIT_TITLES[rival]} {tenths(totals_s[rival])} s"


def bound_sentence(limits: Limits) -> str:
    """Return how much faster the run could be at most without the resource that limited it; empty without a bound.

    The minimum time leaves out every moment in which the resource was busy, also where something else was the limit.
    """
    hardware = next((name for name, resources in RESOURCES_OF_BOUND.items() if limits.main in resources), "")
    bound = next((entry for entry in limits.bounds if entry.freed == hardware), None)
    if bound is None:
        return ""
    return (
        f"If {_BOUND_TITLES[hardware]}, the run would take at least {tenths(bound.least_s)} s "
        f"(at most {bound.gain_max:.2f}× as fast). This is an upper limit of the gain."
    )
