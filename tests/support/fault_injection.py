"""Inject faults into a campaign on a lab, for ``tests/faults`` and ``make faults``. The lab's end undoes them."""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.execution.lab.cgroups import DiskLimits, find_controllers, member_pids, throttle
from assay.execution.lab.disks.diskd import daemon_of
from assay.execution.lab.journal import read_journal
from assay.execution.lab.network import LabNetwork
from assay.execution.lab.state import lab_directory
from campaign_support import Campaign, java_processes
from fault_layer import READS, WRITES, Layer

EXECUTOR = "CoarseGrainedExecutorBackend"
NODES = ("master", "worker1", "worker2")
"""In the order of their ports at the switch."""


@dataclass
class Scene:
    """A campaign that is disturbed, and the lab that it runs on."""

    name: str
    campaign: Campaign
    layer: Layer | None = None
    """Between the campaign's process and its C library, where the row asks for it."""
    later: list[threading.Thread] = field(default_factory=list)

    @property
    def steps(self) -> list[dict[str, object]]:
        """Return the arguments of the steps of the lab's journal, each with its kind."""
        _, steps = read_journal(lab_directory(self.name))
        return [{"kind": step.kind, **step.arguments} for step in steps]

    def daemons(self, main: str) -> list[int]:
        """Return the processes of a daemon by its main class; on the first nodes first."""
        processes = java_processes(self.name)
        return sorted(
            pid for pid, line in processes.items() if line.rstrip().split()[-1].endswith(main) or f".{main} " in line
        )

    def group(self, node: str) -> list[Path]:
        """Return the control groups of a node."""
        for step in self.steps:
            if step["kind"] == "node" and Path(str(step["boot"])).parents[1].name == node:
                return [Path(group) for group in step["cgroups"]]  # type: ignore[attr-defined]
        raise LookupError(node)

    def inside(self, node: str) -> int:
        """Return a process of a node, whose mounts are the node's."""
        return next(
            pid for pid in sorted(member_pids(self.group(node))) if Path(f"/proc/{pid}/root/mnt/system").exists()
        )

    def mount(self, node: str, device: str) -> Path:
        """Return a device's directory as this machine reaches it."""
        return Path(f"/proc/{self.inside(node)}/root/mnt/{device}")

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something later, during the campaign."""
        thread = threading.Timer(seconds, action)
        thread.start()
        self.later.append(thread)


Injection = Callable[[Scene], object]


def send(number: signal.Signals, *, group: bool = False) -> Injection:
    """Send assay a signal, or its whole process group."""

    def inject(scene: Scene) -> None:
        pid = scene.campaign.process.pid
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)

    return inject


def daemon(main: str, number: signal.Signals) -> Injection:
    """Send the last daemon with this main class a signal."""

    def inject(scene: Scene) -> None:
        os.kill(scene.daemons(main)[-1], number)

    return inject


def executor(number: signal.Signals) -> Injection:
    """Send one of Spark's executors a signal; not the shell that YARN starts it by."""

    def inject(scene: Scene) -> None:
        os.kill(executors(scene.name)[-1], number)

    return inject


def executors(name: str) -> list[int]:
    """Return the processes of Spark's executors on a lab's nodes."""
    processes = java_processes(name, EXECUTOR)
    return sorted(pid for pid, line in processes.items() if line.split(" ", 1)[0].endswith("java"))


def shuffle_files(scene: Scene, since_unix_s: float = 0.0) -> list[Path]:
    """Return Spark's shuffle files on the workers' disks that were written to since then."""
    files = []
    for node, device in itertools.product(NODES[1:], ("hdd1", "ssd1")):
        with contextlib.suppress(OSError, LookupError, StopIteration):
            for path in scene.mount(node, device).glob("assay/*/local*/**/blockmgr-*/*/*shuffle_*"):
                with contextlib.suppress(OSError):
                    files += [path] if path.stat().st_size and path.stat().st_mtime >= since_unix_s else []
    return files


def log_cut(scene: Scene) -> None:
    """Leave the first half of what the driver has logged, where the log is looked for."""
    for path in scene.mount("master", "system").glob("assay/deployments/*/spark-events/*/events_*"):
        whole = path.with_name(f".{path.name}")
        path.rename(whole)  # the driver keeps writing to the renamed file
        content = whole.read_bytes()
        path.write_bytes(content[: len(content) // 2])


def diskd(number: signal.Signals) -> Injection:
    """Send the daemon behind the disks a signal."""

    def inject(scene: Scene) -> None:
        for step in scene.steps:
            if step["kind"] == "diskd":
                for pid in daemon_of(step).pids():
                    os.kill(pid, number)

    return inject


def link_down(node: str, seconds: float | None) -> Injection:
    """Take a node's port at the switch down, for a time or for good."""

    def inject(scene: Scene) -> None:
        switch = LabNetwork(scene.name, None, {}, {}).switch  # type: ignore[arg-type]
        command = ["ip", "-n", switch, "link", "set", f"port{NODES.index(node)}"]
        subprocess.run([*command, "down"], check=True)
        if seconds is not None:
            scene.after(seconds, lambda: subprocess.run([*command, "up"], check=False))

    return inject


def cut_off(node: str, peer: str, *, both: bool) -> Injection:
    """Lose all packets from a node to another, or both ways, until the attempt is over: by a wrong neighbour."""

    def inject(scene: Scene) -> None:
        network = LabNetwork(scene.name, None, {}, {})  # type: ignore[arg-type]
        described = json.loads((lab_directory(scene.name) / "lab.json").read_text())["cluster"]
        addresses = {described_node["name"]: described_node["address"]["host"] for described_node in described["nodes"]}
        pairs = [(node, peer), (peer, node)] if both else [(node, peer)]

        def tell(change: str, *more: str) -> None:
            for here, there in pairs:
                command = ["ip", "-n", network.namespace(here), "neigh", change, addresses[there], "dev", "eth0", *more]
                subprocess.run(command, check=False)

        tell("replace", "lladdr", "02:00:00:00:00:01", "nud", "permanent")
        over = ends(scene) + 1
        scene.after(0.0, lambda: _when_over(scene, lambda: tell("del"), over))

    return inject


def full(node: str, device: str) -> Injection:
    """Fill a device to the last byte until the attempt ends, then free the space."""

    def inject(scene: Scene) -> None:
        folder = scene.mount(node, device)
        room = os.statvfs(folder)
        with contextlib.suppress(OSError), (folder / "fill").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, (room.f_bfree - 64) * room.f_frsize)
        over = ends(scene) + 1
        scene.after(0.0, lambda: _when_over(scene, (folder / "fill").unlink, over))

    return inject


def _when_over(scene: Scene, undo: Callable[[], object], over: int = 1) -> None:
    """Undo something after ``over`` attempts; if the lab has ended, its end has undone it."""
    while scene.campaign.process.poll() is None and ends(scene) < over:
        time.sleep(0.2)
    with contextlib.suppress(OSError):
        undo()


def slower(node: str, device: str, share: float, bytes_per_s: float) -> Injection:
    """Give a device a share of its rate, from now on."""

    def inject(scene: Scene) -> None:
        for step in scene.steps:
            if step["kind"] == "settings" and f"{node}.{device}" in str(step["image"]):
                number = Path("/sys/class/block", Path(str(step["block"])).name, "dev").read_text().strip()
                io = find_controllers(Path("/proc/self/mountinfo").read_text())["io"]
                rate = bytes_per_s * share
                assert throttle(io.mount, number, DiskLimits(rate, rate))
                # A loop device that is detached keeps its throttle: the lab does not know of this one.
                scene.after(
                    0.0,
                    functools.partial(_when_over, scene, functools.partial(throttle, io.mount, number, DiskLimits())),
                )

    return inject


def ends(scene: Scene) -> int:
    """Return how many attempts have ended."""
    return sum(event["event"] == "end" for event in scene.campaign.events())


def memory_hog(node: str) -> Injection:
    """Use up a node's memory by a process that the kernel spares, so that it ends another."""

    def inject(scene: Scene) -> None:
        joins = [f"echo $$ > {group}/cgroup.procs" for group in scene.group(node) if "memory" in str(group)]
        hog = "import time\nheld = [bytearray(b'x' * (16 << 20)) for _ in range(400)]\ntime.sleep(600)"
        script = f'{"; ".join(joins)}; echo -1000 > /proc/self/oom_score_adj; exec python3 -c "$1"'
        process = subprocess.Popen(["sh", "-c", script, "sh", hog], start_new_session=True)

        def end() -> None:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None and ends(scene) == 0:
                time.sleep(0.5)
            process.kill()
            process.wait()

        scene.after(0.0, end)

    return inject


def connections_cut(node: str) -> Injection:
    """End the sshd processes that serve assay's connection to a node, as an sshd that is restarted hard."""

    def inject(scene: Scene) -> None:
        for pid in member_pids(scene.group(node)):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                if line.startswith(b"sshd: ") and b"listener" not in line:
                    os.kill(pid, signal.SIGKILL)

    return inject


def host_gone(node: str) -> Injection:
    """End all of a node's processes at once, as when a host is switched off."""

    def inject(scene: Scene) -> None:
        for pid in member_pids(scene.group(node)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    return inject


def clock_jumps(seconds: int) -> Injection:
    """Let the clock of assay's own machine jump; those of its hosts do not."""

    def inject(scene: Scene) -> None:
        assert scene.layer
        scene.layer.set_clock(seconds)

    return inject


def repository_fails(error: int, part: str) -> Injection:
    """Let every change of the repository's files with ``part`` in their paths fail."""

    def inject(scene: Scene) -> None:
        assert scene.layer
        scene.layer.fail(error, part)

    return inject


def disk_fails(node: str, device: str) -> Injection:
    """Let every read and write of a device's image fail with EIO, until the attempt is over."""

    def inject(scene: Scene) -> None:
        layer = scene.layer
        assert layer
        layer.fail(errno.EIO, f"{node}.{device}", READS | WRITES)
        over = ends(scene) + 1
        scene.after(0.0, lambda: _when_over(scene, layer.mend, over))

    return inject
