"""Define the fault table: fault, phase, engine, and expected result of each row.

``becomes``: a pattern over the attempts' classes in the order of their making, ``valid`` for those that are. Where a
fault ends the call, the same command is given again, and ``becomes`` is about all attempts in the end.
"""

from __future__ import annotations

import errno
import signal
from dataclasses import dataclass
from typing import Literal

from fault_injection import (
    Injection,
    clock_jumps,
    connections_cut,
    cut_off,
    daemon,
    disk_fails,
    diskd,
    executor,
    full,
    host_gone,
    link_down,
    log_cut,
    memory_hog,
    repository_fails,
    send,
    slower,
)
from fault_layer import DAY_S

KILL, STOP, INT, TERM = signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM
DAEMONS_CAUSE = r"{}: {} (died|is stopped \(SIGSTOP\))"
FULL = r"hdd1 of worker1 was (nearly )?full"
EIO = r"the kernel of worker1 says: .*(I/O error|EXT4-fs|read-only)|hdd1 of worker1 does not answer"
PATH = r"packets between worker[12] and worker[12] are lost"
GONE = r"assay-diskd, process \d+\) (died|is stopped)"
HOST_GONE = r"worker1 of the lab \S+ has ended"
LINK = (
    r"no other node receives packets from worker1|the link eth0 of worker1 (was|is) down|"
    r"worker1 (does not answer|is out of reach)"
)


@dataclass(frozen=True)
class Row:
    """One fault. ``bound_s``: within which it has to be noticed; None where nothing is to be noticed by assay."""

    fault: str
    phase: str
    inject: Injection
    becomes: str
    cause: str = ""
    """A pattern for the first attempt's cause."""
    bound_s: float | None = 15.0
    engine: str = "hadoop"
    again: bool = False
    """Whether the fault ends the call, so that the same command is given again."""
    exit_code: int | None = 0
    """Of the call that was disturbed; None: that of a signal, whichever."""
    layer: Literal["", "assay", "disks"] = ""
    """Whether assay, or the daemon behind the lab's disks, runs under a layer over its C library."""
    short: bool = False
    """Whether it is in the short form, in `make test`."""
    in_turn: bool = False
    """Whether it is there as one of several on one lab, a run each."""

    @property
    def name(self) -> str:
        """What the row is called on the command line."""
        return f"{self.fault}, {self.phase}, {self.engine}"


def _spark(fault: str, inject: Injection, becomes: str, cause: str, bound_s: float | None = None) -> Row:
    """Return a fault that occurs after a Spark program has started to shuffle."""
    return Row(fault, "shuffle", inject, becomes, cause, bound_s, engine="spark", exit_code=1, in_turn=True)


def _daemons(engine: str, *daemons: tuple[str, str, str]) -> list[Row]:
    rows = []
    for node, name, main in daemons:
        for words, number in (("killed", KILL), ("stopped", STOP)):
            cause = DAEMONS_CAUSE.format(node, name)
            short = (main, number, engine) == ("ResourceManager", KILL, "hadoop")
            becomes = "engine valid"
            rows.append(
                Row(
                    f"{main} {words}",
                    "job",
                    daemon(main, number),
                    becomes,
                    cause,
                    engine=engine,
                    exit_code=1,
                    short=short,
                )
            )
    return rows


ENDED = "(infrastructure |engine )*valid"
ROWS: tuple[Row, ...] = (
    *(
        Row("assay killed (-9)", phase, send(KILL), "valid", bound_s=None, again=True, exit_code=-9)
        for phase in ("lab up", "daemons", "input", "caches", "job", "validation", "publish", "teardown")
    ),
    Row(
        "assay's process group killed (-9)",
        "job",
        send(KILL, group=True),
        "valid",
        bound_s=None,
        again=True,
        exit_code=-9,
    ),
    Row("SIGINT", "job", send(INT), "valid", bound_s=None, again=True, exit_code=130),
    Row("SIGTERM", "job", send(TERM), "valid", bound_s=None, again=True, exit_code=None),
    Row("SIGTERM", "input", send(TERM), "valid", bound_s=None, again=True, exit_code=None),
    *_daemons(
        "hadoop",
        ("master", "resourcemanager", "ResourceManager"),
        ("master", "namenode", "NameNode"),
        ("master", "jobhistoryserver", "JobHistoryServer"),
        ("worker[12]", "datanode", "DataNode"),
        ("worker[12]", "nodemanager", "NodeManager"),
    ),
    *_daemons("spark", ("master", "resourcemanager", "ResourceManager"), ("worker[12]", "datanode", "DataNode")),
    _spark("NodeManager killed", daemon("NodeManager", KILL), "engine valid", r"nodemanager died", 15.0),
    _spark("executor killed", executor(KILL), "engine valid", r"executor \d+ on worker[12] was lost: .*during the run"),
    _spark("driver killed", daemon("SparkSubmit", KILL), "engine valid", r"the client was ended by SIGKILL"),
    _spark("event log cut off", log_cut, "engine valid", r"event log: .*cut off"),
    _spark("shuffle disk full", full("worker1", "hdd1"), "infrastructure valid", FULL),
    Row("assay killed (-9)", "job", send(KILL), "valid", bound_s=None, again=True, exit_code=-9, engine="spark"),
    Row("assay-diskd killed", "job", diskd(KILL), "infrastructure valid", GONE, exit_code=1, engine="spark"),
    Row("link down 20 s", "job", link_down("worker1", 20), "infrastructure valid", LINK, exit_code=1, engine="spark"),
    Row("worker1 gone", "job", host_gone("worker1"), ENDED, HOST_GONE, exit_code=1, engine="spark"),
    Row("DataNode killed", "input", daemon("DataNode", KILL), "engine valid", r"datanode died", exit_code=1),
    Row("assay-diskd killed", "job", diskd(KILL), "infrastructure valid", GONE, exit_code=1, short=True),
    Row("assay-diskd killed", "input", diskd(KILL), "infrastructure valid", GONE, exit_code=1),
    Row("assay-diskd stopped", "job", diskd(STOP), "infrastructure valid", GONE, exit_code=1),
    Row("link down 5 s", "job", link_down("worker1", 5), "infrastructure valid", LINK, bound_s=None, exit_code=1),
    Row("link down 20 s", "job", link_down("worker1", 20), "infrastructure valid", LINK, exit_code=1, short=True),
    Row("link down for good", "job", link_down("worker1", None), ENDED, LINK, again=True, exit_code=3),
    Row("worker's disk full", "job", full("worker1", "hdd1"), "infrastructure valid", FULL, bound_s=None, exit_code=1),
    Row(
        "worker's disk with EIO",
        "job",
        disk_fails("worker1", "hdd1"),
        ENDED,
        EIO,
        again=True,
        exit_code=None,
        layer="disks",
    ),
    Row(
        "packets from worker1 to worker2 lost",
        "job",
        cut_off("worker1", "worker2", both=False),
        "infrastructure valid",
        PATH,
        exit_code=1,
    ),
    Row(
        "packets between workers lost",
        "job",
        cut_off("worker1", "worker2", both=True),
        "infrastructure valid",
        PATH,
        exit_code=1,
    ),
    Row("worker's disk ten times slower", "job", slower("worker1", "hdd1", 0.1, 6e6), "valid", bound_s=None),
    Row("memory used up", "job", memory_hog("worker1"), "((engine|workload) )*valid", bound_s=None, exit_code=None),
    Row(
        "connections to worker1 cut",
        "job",
        connections_cut("worker1"),
        ENDED,
        r"worker1.*(lost|out of reach|reach)",
        exit_code=1,
    ),
    Row("worker1 gone", "job", host_gone("worker1"), ENDED, HOST_GONE, exit_code=1),
    Row("clock a day forwards", "job", clock_jumps(DAY_S), "valid", bound_s=None, layer="assay"),
    Row("clock a day back", "job", clock_jumps(-DAY_S), "valid", bound_s=None, layer="assay"),
    Row(
        "repository full at publish",
        "job",
        repository_fails(errno.ENOSPC, "/partial/"),
        "valid",
        bound_s=None,
        again=True,
        exit_code=6,
        layer="assay",
    ),
    Row(
        "repository with EIO at publish",
        "job",
        repository_fails(errno.EIO, "/partial/"),
        "valid",
        bound_s=None,
        again=True,
        exit_code=6,
        layer="assay",
    ),
    Row(
        "repository with EIO at the journal",
        "job",
        repository_fails(errno.EIO, "/campaigns/"),
        "valid",
        bound_s=None,
        again=True,
        exit_code=6,
        layer="assay",
    ),
)
