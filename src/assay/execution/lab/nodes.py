"""Boot nodes.

In: a network namespace, control groups and disks for each node. Out: a host with hostname, mounts, processes, /tmp and
sshd. A node is a process tree under its sshd, which is process 1 of a pid namespace: when sshd ends, all processes end.
Mounts are in the node's mount namespace and vanish with it; the machine's mounts do not change. The node sees the
machine's root file system, except: ``/mnt/DEVICE`` (its disks), ``/mnt/system`` (a separate directory on the machine's
disk), ``/tmp``, ``/run``, ``/etc/hosts``, ``/proc`` and ``/sys``. :data:`BOOT_TIMEOUT_S` limits the wait for the sshds.
"""

import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.execution.lab.cgroups import NodeCgroup
from assay.execution.lab.commands import ENVIRONMENT, parallel, run
from assay.execution.lab.disks.disk_emulators import EmulatedDisk
from assay.execution.lab.journal import UndoJournal, UndoStep
from assay.execution.lab.network import LabNetwork
from assay.foundation.errors import LabError

BOOT_TIMEOUT_S = 20.0
"""Maximum wait for the sshds of all nodes, in seconds."""
SSH_PORT = 22
"""Port of each node's sshd."""
SYSTEM_DIRECTORY = "/mnt/system"

SSHD_CONFIG = """\
Port {port}
ListenAddress {address}
HostKey {ssh}/host_key
AuthorizedKeysFile {ssh}/authorized_keys
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
# PAM would move sessions into control groups of the login manager, out of the node's.
UsePAM no
UseDNS no
StrictModes no
PrintMotd no
PrintLastLog no
# Commands need no start-up files: bash skips them if SHLVL says that it runs inside another shell.
SetEnv SHLVL=1
MaxStartups 200
MaxSessions 200
Subsystem sftp internal-sftp
"""

# Process 1 of the node. All paths below {stage} are made before /mnt and /tmp hide the machine's directories.
BOOT = """\
set -eu
echo {node} > /proc/sys/kernel/hostname
mount -t tmpfs -o mode=755,size=1m assay {stage}
mkdir {stage}/system {stage}/cgroup
{mounts}
mount --bind {directory} {stage}/system
mount --bind {directory}/hosts /etc/hosts
mount --rbind /sys/fs/cgroup {stage}/cgroup
mount -t proc proc /proc
umount -l /sys
mount -t sysfs sysfs /sys
mount --rbind {stage}/cgroup /sys/fs/cgroup
umount -l {stage}/cgroup
rmdir {stage}/cgroup
mount -t tmpfs -o mode=755,size=16m assay /run
mkdir -m 0755 /run/sshd
mkdir -m 1777 /run/lock
mount --move {stage} /mnt
mount --bind /mnt/system/tmp /tmp
cd /
exec {sshd} -D -e -f /mnt/system/sshd/config
"""


@dataclass(frozen=True, slots=True)
class LabNode:
    """The parts of a node before it boots. ``directory`` becomes its /mnt/system."""

    name: str
    directory: Path
    group: NodeCgroup
    disks: tuple[EmulatedDisk, ...]

    @property
    def boot_script(self) -> Path:
        """The script of process 1. A node without it does not boot, so removal can prevent a pending start."""
        return self.directory / "sshd" / "boot.sh"


def make_client_key(directory: Path) -> Path:
    """Create the key pair for SSH to the lab's nodes; return the private key's file."""
    key = directory / "key"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"assay lab {directory.name}", "-f", str(key)])
    return key


def prepare_nodes(nodes: Sequence[LabNode], network: LabNetwork, key: Path) -> Path:
    """Write each node's files and host key; return the known_hosts file with all of them."""
    parallel(lambda node: _prepare(node, network, key), nodes)
    known_hosts = key.parent / "known_hosts"
    lines = [f"{network.addresses[node.name]} {' '.join(_public_key(node).split()[:2])}\n" for node in nodes]
    known_hosts.write_text("".join(lines))
    return known_hosts


def _public_key(node: LabNode) -> str:
    return (node.directory / "sshd" / "host_key.pub").read_text()


def _prepare(node: LabNode, network: LabNetwork, key: Path) -> None:
    sshd_directory = node.directory / "sshd"
    sshd_directory.mkdir(parents=True)
    (node.directory / "mnt").mkdir()
    (node.directory / "tmp").mkdir()
    (node.directory / "tmp").chmod(0o1777)
    (node.directory / "hosts").write_text(network.hosts_file())
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", node.name, "-f", str(sshd_directory / "host_key")])
    shutil.copyfile(key.with_suffix(".pub"), sshd_directory / "authorized_keys")
    config = SSHD_CONFIG.format(port=SSH_PORT, address=network.addresses[node.name], ssh=f"{SYSTEM_DIRECTORY}/sshd")
    (sshd_directory / "config").write_text(config)
    node.boot_script.write_text(_boot_script(node))


def _boot_script(node: LabNode) -> str:
    stage = node.directory / "mnt"
    mounts = []
    for disk in node.disks:
        target = shlex.quote(str(stage / disk.spec.name))
        # noinit_itable: no background zeroing of inode tables during measurements.
        mounts.append(f"mkdir {target}\nmount -t ext4 -o noatime,noinit_itable {disk.block} {target}")
    return BOOT.format(
        node=shlex.quote(node.name),
        stage=shlex.quote(str(stage)),
        directory=shlex.quote(str(node.directory)),
        mounts="\n".join(mounts),
        sshd=shlex.quote(shutil.which("sshd", path=ENVIRONMENT["PATH"]) or "sshd"),
    )


def boot_nodes(
    nodes: Sequence[LabNode], network: LabNetwork, journal: UndoJournal, check: Callable[[], None]
) -> list[subprocess.Popen[bytes]]:
    """Start all nodes and return their first processes once each sshd answers. Raises LabError with the node's
    output."""
    journal.record(
        *(
            UndoStep(
                "node",
                {
                    "namespace": network.namespace(node.name),
                    "cgroups": [str(d) for d in node.group.directories],
                    "boot": str(node.boot_script),
                },
            )
            for node in nodes
        )
    )
    deadline = time.monotonic() + BOOT_TIMEOUT_S
    processes = [_start(node, network.namespace(node.name)) for node in nodes]
    for node, process in zip(nodes, processes, strict=True):
        check()
        _await_sshd(node, network.addresses[node.name], process, deadline)
    return processes


def _start(node: LabNode, namespace: str) -> subprocess.Popen[bytes]:
    """Start the node's first process. It joins the control groups, exits if a group or the boot script is gone, and
    then creates the namespaces."""
    join_commands = [
        f"echo $$ > {shlex.quote(str(directory / 'cgroup.procs'))}" for directory in node.group.directories
    ]
    enter_command = [
        "nsenter",
        f"--net=/run/netns/{namespace}",
        "unshare",
        "--uts",
        "--ipc",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount",
        "--propagation",
        "slave",
        "sh",
        str(node.boot_script),
    ]
    script_exists = f"test -e {shlex.quote(str(node.boot_script))}"  # checked after joining: see boot_script
    script = " && ".join([*join_commands, script_exists, f"exec {shlex.join(enter_command)}"])
    with (node.directory / "sshd" / "log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # assay handles a Ctrl-C at the terminal, not the node
            env=ENVIRONMENT,
        )


def _await_sshd(node: LabNode, address: str, process: subprocess.Popen[bytes], deadline: float) -> None:
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with socket.create_connection((address, SSH_PORT), timeout=1) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.05)
    lines = (node.directory / "sshd" / "log").read_text(errors="replace").strip().splitlines()[-5:]
    raise LabError(
        " / ".join(lines) or f"its sshd does not answer within {BOOT_TIMEOUT_S:g} s",
        where=f"lab node {node.name}",
        hint="assay lab probe shows what this machine lacks",
    )
