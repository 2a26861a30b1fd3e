"""Check whether a lab still has its disk daemon and its nodes.

In: the lab's directory. Out: a message about the first problem. The check is cheap enough for every second: processes
are searched once, and then identified by pid and start time.
"""

from pathlib import Path

from assay.execution.lab.cgroups import member_pids
from assay.execution.lab.disks.diskd import daemon_of
from assay.execution.lab.journal import read_journal
from assay.foundation.process import is_stopped, start_ticks


class LabHealth:
    """The processes that a lab needs. The lab must be up on creation."""

    def __init__(self, directory: Path) -> None:
        self._name = directory.name
        _, steps = read_journal(directory)
        self._daemons = [daemon_of(step.arguments).pids() for step in steps if step.kind == "diskd"]
        nodes = [step.arguments for step in steps if step.kind == "node"]
        self._groups = {
            Path(node["boot"]).parents[1].name: [Path(group) for group in node["cgroups"]] for node in nodes
        }

    def health_check(self) -> str | None:
        """Return a message about the first process that is gone or stopped; None if all run."""
        for ticks_by_pid in self._daemons:
            daemon = f"the daemon of the disks of the lab {self._name}"
            if not ticks_by_pid:
                return f"{daemon} (assay-diskd) has ended, so the disks are lost"
            for pid, ticks in ticks_by_pid.items():
                if start_ticks(pid) != ticks:
                    return f"{daemon} (assay-diskd, process {pid}) died, so the disks are lost"
                if is_stopped(pid):
                    return f"{daemon} (assay-diskd, process {pid}) is stopped (SIGSTOP): no disk answers"
        for node, groups in self._groups.items():
            if groups and not member_pids(groups):
                return f"{node} of the lab {self._name} has ended: none of its processes runs"
        return None
