"""Make hosts as network namespaces, each with sshd, hostname, network and disk, and an unprivileged user."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.execution.lab.commands import parallel
from assay.execution.lab.journal import LabHeader, UndoJournal
from assay.execution.lab.network import LabNetwork, make_network, plan_network
from assay.execution.lab.undo import undo_all
from assay.foundation.process import Owner
from hosts_support import write_key
from lab_support import require_lab

USER, USER_ID = "alice", 43210
_CONFIG = """\
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile /run/authorized_keys
PidFile none
PermitRootLogin no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
StrictModes no
SetEnv SHLVL=1 PATH={path} LD_LIBRARY_PATH=/mnt/python/lib
"""
_BOOT = """\
set -eu
echo {name} > /proc/sys/kernel/hostname
mount -t tmpfs -o mode=755,size=1m fleet /mnt
mount --bind {fleet}/passwd /etc/passwd
mount --bind {fleet}/hosts /etc/hosts
mount -t proc proc /proc
umount -l /sys
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755,size=4m fleet /run
mkdir -m 0755 /run/sshd /run/home
chown {user} /run/home
cp {fleet}/authorized_keys /run/authorized_keys
{more}
exec {sshd} -D -e -f {folder}/config
"""
_DISK = """\
mkdir /mnt/data
mount -o loop,noatime {folder}/disk /mnt/data
"""


@dataclass(frozen=True)
class Fleet:
    """The hosts' addresses by name, and what lets a user in."""

    folder: Path
    network: LabNetwork

    @property
    def key(self) -> str:
        return str(self.folder / "key")

    @property
    def known_hosts(self) -> str:
        return str(self.folder / "known_hosts")

    @property
    def login(self) -> list[str]:
        """The options with which assay enters the hosts."""
        return ["--user", USER, "--key", self.key, "--known-hosts", self.known_hosts]

    def address(self, name: str) -> str:
        return self.network.addresses[name]

    def stop(self, name: str, number: signal.Signals) -> None:
        """Send the host's sshd a signal: SIGSTOP lets it hang, SIGTERM refuse."""
        os.kill(_first(self, name), number)


@contextlib.contextmanager
def fleet(
    folder: Path, names: Sequence[str], *, disks: Sequence[str] = (), pythons: Mapping[str, Path] | None = None
) -> Iterator[Fleet]:
    """Run an sshd for each name until the block ends.

    ``disks``: hosts with a disk; ``pythons``: hosts with another Python, to the folder in which it is installed.
    """
    require_lab()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    journal = UndoJournal.begin(folder, LabHeader("fleet", False, Owner.current()))
    network = plan_network(f"f{os.getpid()}", dict.fromkeys(names, 1e9))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        make_network(network, journal, has_rate_limits=False)
        made = Fleet(folder, network)
        _write(made)
        for name in names:
            _write_host(made, name, (pythons or {}).get(name), with_disk=name in disks)
        lines = [f"{made.address(name)} {(folder / name / 'host_key.pub').read_text()}" for name in names]
        (folder / "known_hosts").write_text("".join(f"{line.strip()}\n" for line in lines))
        processes += [_start(made, name) for name in names]
        for name, process in zip(names, processes, strict=True):
            _await(made, name, process)
        yield made
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait(10)
        undo_all(folder)


def _write(made: Fleet) -> None:
    folder = made.folder
    user = f"{USER}:x:{USER_ID}:65534::/run/home:/bin/sh\n"
    (folder / "passwd").write_text(Path("/etc/passwd").read_text() + user)
    (folder / "hosts").write_text(made.network.hosts_file())
    (folder / "authorized_keys").write_text(write_key(folder / "key") + "\n")


def _write_host(made: Fleet, name: str, python: Path | None, *, with_disk: bool) -> None:
    folder = made.folder / name
    folder.mkdir()
    (folder / "host_key.pub").write_text(write_key(folder / "host_key") + "\n")
    path = f"{'/mnt/python/bin:' if python else ''}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    values = {"folder": folder, "fleet": made.folder, "address": made.address(name), "path": path}
    (folder / "config").write_text(_CONFIG.format(**values))
    if with_disk:
        with (folder / "disk").open("wb") as image:
            image.truncate(24 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(folder / "disk")], check=True, capture_output=True)
    sshd = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin")
    more = _DISK.format(folder=folder) if with_disk else ""
    more += f"mkdir /mnt/python\nmount --bind {python} /mnt/python\n" if python else ""
    values |= {"name": name, "more": more, "sshd": sshd, "user": USER_ID}
    (folder / "boot.sh").write_text(_BOOT.format(**values))


def _start(made: Fleet, name: str) -> subprocess.Popen[bytes]:
    enter = f"nsenter --net=/run/netns/{made.network.namespace(name)} unshare --uts --ipc --pid --mount --fork"
    with (made.folder / name / "log").open("wb") as log:
        return subprocess.Popen(
            [*enter.split(), "--kill-child", "sh", str(made.folder / name / "boot.sh")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _await(made: Fleet, name: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((made.address(name), 22), timeout=1):
            return
        time.sleep(0.05)
    pytest.fail(f"{name} did not come up: {(made.folder / name / 'log').read_text()}")


def run_on_each(made: Fleet, names: Sequence[str], command: str) -> None:
    """Run a shell command as root in the namespaces of each host."""

    def on(name: str) -> None:
        argv = ["nsenter", "-t", str(_first(made, name)), "-a", "sh", "-c", command]
        subprocess.run(argv, check=True, capture_output=True)

    parallel(on, names)


def _first(made: Fleet, name: str) -> int:
    """Return the host's process 1, as this machine numbers it."""
    listed = subprocess.run(
        ["pgrep", "-f", f"sshd.* {made.folder}/{name}/config"], check=True, capture_output=True, text=True
    )
    return min(map(int, listed.stdout.split()))
