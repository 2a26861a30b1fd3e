"""Watch the health of this node: one JSON line every ``interval_s``, also as a sign of life. Ends at EOF of stdin.

In, as JSON in argv[1]: ``interval_s``; ``daemons``: name to pid file; ``directories``: device name to a directory on
it; ``peers``: name to address of the other nodes; ``cgroup``: directory of the memory control group, or null;
``shared``: whether other nodes write to the same kernel log, as in a lab.

Out: lines, the first with ``missing`` (what can't be watched, and why); each has

- ``daemons``: name to "dead" or "stopped"; daemons that run are left out;
- ``links``: name to [has carrier, carrier changes since the start];
- ``room``: device to [free bytes, bytes, free inodes];
- ``silent_checks``: peer to the number of consecutive checks at which it had not answered the previous echo requests.
  Outside a lab, only peers that have answered once are listed, because a firewall may block the requests;
- ``oom``: number of processes that the kernel killed for lack of memory since the start;
- ``kernel``: new messages of the kernel's log about devices, memory and links;
- ``cpu_s``: CPU time of this script, in seconds.

In a shared log, a message counts only if it names this node's devices or control group. In other logs, a message that
names block devices counts only if one of them is under a directory or under ``/``: errors of other disks do not concern
the run.

Sources: proc_pid_stat(5); Documentation/ABI/testing/sysfs-class-net (carrier, carrier_changes), dev-kmsg; the kernel's
cgroup-v1/memory.rst (memory.oom_control: oom_kill) and cgroup-v2.rst (memory.events: oom_kill); RFC 792 (echo), RFC
1071 (checksum), icmp(7) (sockets that need no root, where net.ipv4.ping_group_range has the user's group).
"""

import json
import os
import re
import socket
import struct
import sys
import time
from typing import Any, Dict, List, Optional, Set

from assay.execution.observation.node.files import stdin_ended, text_of

KERNEL_ERRORS = re.compile(
    "I/O error|EXT4-fs error|EXT4-fs warning.*error|XFS.*(error|hut ?down)|BTRFS.*(error|critical)|read-only|"
    "oom-kill:|Link is Down|link down|Medium Error|uncorrectable|timed out, abort",
    re.I,
)
"""Kernel messages about failing disks, file systems, memory and links."""
BLOCK = "/sys/class/block"
LINES_MAX = 20
"""Maximum number of the kernel's messages per check."""
ECHO_REQUESTS = 3
"""Number of echo requests to each peer per check."""
KERNEL_BYTES_MAX = 1 << 20
"""Maximum bytes of the kernel's log that are read per check."""


def state_of(pid_file: str) -> Optional[str]:
    """Return "dead" or "stopped" for the process in a pid file; None if it runs."""
    pid = text_of(pid_file)
    text = text_of("/proc/%s/stat" % pid) if pid and pid.isdigit() else None
    state = text.rpartition(")")[2].split()[0] if text else "X"
    if state in "ZX":  # a zombie is dead too: in containers often no process reaps it
        return "dead"
    return "stopped" if state == "T" else None


class LinkWatch:
    """Watches the carrier of each link that has carrier at the start; other links are ignored."""

    def __init__(self, root: str = "/sys/class/net") -> None:
        self.root = root
        links = [name for name in sorted(os.listdir(root)) if name != "lo" and self.carrier(name)]
        hardware = [name for name in links if os.path.exists(os.path.join(root, name, "device"))]
        self.changes_at_start = {name: self.changes(name) for name in hardware or links}

    def carrier(self, name: str) -> bool:
        """Return whether a link has carrier; a disabled link has none."""
        return text_of(os.path.join(self.root, name, "carrier")) == "1"

    def changes(self, name: str) -> int:
        """Return the number of carrier changes."""
        return int(text_of(os.path.join(self.root, name, "carrier_changes")) or 0)

    def now(self) -> Dict[str, List[int]]:
        """Return for each link whether it has carrier, and the number of changes since the start."""
        return {
            name: [int(self.carrier(name)), self.changes(name) - changes_before]
            for name, changes_before in self.changes_at_start.items()
        }


class KernelLog:
    """New messages in the kernel's log.

    ``marks``: texts that identify this node's messages in a log that other nodes share; None: no other node shares it.
    """

    def __init__(self, marks: Optional[List[str]], devices: Set[str]) -> None:
        self.marks = marks
        self.devices = devices
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def lines(self) -> List[str]:
        """Return the relevant lines since the last call."""
        relevant_lines: List[str] = []
        read_bytes = 0
        while read_bytes < KERNEL_BYTES_MAX:
            try:
                record = os.read(self.fd, 8192)
            except BlockingIOError:
                break
            except OSError:  # EPIPE: unread messages were overwritten; the next read continues after them
                read_bytes += 8192
                continue
            read_bytes += len(record)
            line = record.partition(b";")[2].split(b"\n")[0].decode("utf-8", "replace")
            if KERNEL_ERRORS.search(line) and len(relevant_lines) < LINES_MAX and self.concerns_watched_device(line):
                relevant_lines.append(line[:300])
        return relevant_lines

    def concerns_watched_device(self, line: str) -> bool:
        """Return whether a line concerns this node: by its marks if the log is shared with other nodes, else by its
        devices."""
        if self.marks is not None:
            return any(mark in line for mark in self.marks)
        return not self.devices or names_watched_device(line, self.devices, os.listdir(BLOCK))


class PeerPings:
    """Sends echo requests to other nodes and records responses. Addresses that can't be resolved are ignored."""

    def __init__(self, peers: Dict[str, str], counts_all_peers: bool) -> None:
        try:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
            self.header_bytes = 0
        except OSError:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            self.header_bytes = 20  # raw sockets also return the IP header
        self.socket.setblocking(False)
        self.mark = os.urandom(8)
        self.silent_checks: Dict[str, int] = {}
        self.names: Dict[str, str] = {}
        for name, host in peers.items():
            try:
                self.names[socket.gethostbyname(host)] = name
            except OSError:
                continue
            if counts_all_peers:
                self.silent_checks[name] = 0
        self.has_sent_requests = False

    def now(self) -> Dict[str, int]:
        """Send new requests. Return for each silent peer its number of consecutive checks without an answer."""
        answering_peers = self.read_answers()
        for name in answering_peers:
            self.silent_checks[name] = 0
        for name in self.silent_checks:
            self.silent_checks[name] += self.has_sent_requests and name not in answering_peers
        self.has_sent_requests = True
        for address in self.names:
            for number in range(ECHO_REQUESTS):
                try:
                    self.socket.sendto(self.request(number), (address, 0))
                except OSError:  # no route or no buffer space: counts as a lost request
                    pass
        return {name: checks for name, checks in self.silent_checks.items() if checks}

    def read_answers(self) -> Set[str]:
        """Return the peers that answered since the last call."""
        hosts: Set[str] = set()
        while True:
            try:
                packet, sender = self.socket.recvfrom(1024)
            except BlockingIOError:
                return hosts
            except OSError:  # an ICMP error in response to a request
                continue
            answer = packet[self.header_bytes :]
            if answer[:1] == b"\0" and answer[8:] == self.mark and sender[0] in self.names:
                hosts.add(self.names[sender[0]])

    def request(self, number: int) -> bytes:
        """Return an echo request with this watch's identifier."""
        message = struct.pack("!BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, number) + self.mark
        total = sum(struct.unpack("!%dH" % (len(message) // 2), message))
        total = (total & 0xFFFF) + (total >> 16)
        checksum = ~(total + (total >> 16)) & 0xFFFF
        return message[:2] + struct.pack("!H", checksum) + message[4:]


def oom_kills(cgroup: Optional[str]) -> int:
    """Return the number of out-of-memory kills in a control group."""
    for name in ("memory.events", "memory.oom_control"):
        match = re.search("^oom_kill ([0-9]+)", text_of(os.path.join(cgroup or "/nowhere", name)) or "", re.M)
        if match:
            return int(match.group(1))
    return 0


def free_space(directories: Dict[str, str]) -> Dict[str, List[int]]:
    """Return for each device: bytes available to users, total bytes, free inodes; -1 for all if it does not respond."""
    space_by_device = {}
    for name, directory in directories.items():
        try:
            space = os.statvfs(directory)
            # Some file systems report no inode count. They never run out of inodes.
            inodes = space.f_favail if space.f_files else 1
            space_by_device[name] = [space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize, inodes]
        except OSError:
            space_by_device[name] = [-1, -1, -1]
    return space_by_device


def accessible_directories(directories: Dict[str, str], missing_reasons: Dict[str, str]) -> Dict[str, str]:
    """Return the directories that can be checked, and add the others to ``missing_reasons``.

    A directory that is missing or not accessible from the start (as on externally managed hosts) says nothing about its
    device. Only a directory that stops responding does.
    """
    checked_directories = {}
    for name, directory in directories.items():
        try:
            os.statvfs(directory)
        except (FileNotFoundError, PermissionError) as error:
            missing_reasons[name] = str(error)
            continue
        except OSError:
            pass
        checked_directories[name] = directory
    return checked_directories


def device_names(directories: Dict[str, str]) -> List[str]:
    """Return the kernel's names of the devices under directories."""
    names = []
    for directory in directories.values():
        try:
            device_number = os.stat(directory).st_dev
            path = os.path.realpath("/sys/dev/block/%d:%d" % (os.major(device_number), os.minor(device_number)))
            names.append(os.path.basename(path))
        except OSError:
            pass
    return names


def names_watched_device(line: str, watched_devices: Set[str], all_devices: List[str]) -> bool:
    """Return whether a log line names a device in ``watched_devices``, or no block device at all.

    ``all_devices``: all block devices of the host.
    """
    words = set(re.findall("[a-z][a-z0-9!]*", line))  # loop0-8, an ext4 journal, names loop0
    words |= set(re.findall("dm-[0-9]+|nvme[0-9a-z]+", line))
    named_devices = words.intersection(all_devices)
    return not named_devices or bool(named_devices & watched_devices)


def devices_under(directories: List[str]) -> Set[str]:
    """Return the kernel's names of devices under directories: partitions, disks, and the devices under mappers."""
    devices: Set[str] = set()
    queue = device_names({path: path for path in directories})
    while queue:
        name = queue.pop()
        if name in devices or not os.path.exists(os.path.join(BLOCK, name)):
            continue
        devices.add(name)
        path = os.path.realpath(os.path.join(BLOCK, name))
        if os.path.exists(os.path.join(path, "partition")):
            queue.append(os.path.basename(os.path.dirname(path)))
        slaves = os.path.join(path, "slaves")
        queue += os.listdir(slaves) if os.path.isdir(slaves) else []
    return devices


def main() -> None:
    """Print the header, and a line per interval."""
    options = json.loads(sys.argv[1])
    directories, cgroup = options["directories"], options["cgroup"]
    missing_reasons: Dict[str, str] = {}
    directories = accessible_directories(directories, missing_reasons)
    links = None
    kernel = None
    peers = None
    try:
        links = LinkWatch()
    except OSError as error:
        missing_reasons["links"] = str(error)
    marks = None
    if options["shared"]:
        group = "/".join(cgroup.rstrip("/").rsplit("/", 2)[-2:]) if cgroup else "-"
        # Match whole words: loop1 must not match loop12.
        marks = [group] + [
            mark
            for name in device_names(directories)
            for mark in (name + " ", name + ",", name + ")", name + ":", name + "-")
        ]
    try:
        kernel = KernelLog(marks, devices_under([*directories.values(), "/"]))
    except OSError as error:
        missing_reasons["kernel log"] = str(error)
    try:
        peers = PeerPings(options["peers"], options["shared"])
    except OSError as error:
        missing_reasons["peers"] = str(error)
    oom_kills_before = oom_kills(cgroup)
    header = {"assay_watch": 1, "missing": missing_reasons}
    while True:
        states = {name: state_of(pid_file) for name, pid_file in options["daemons"].items()}
        line: Dict[str, Any] = dict(header)
        header = {}
        line["daemons"] = {name: state for name, state in states.items() if state}
        line["links"] = links.now() if links else {}
        line["room"] = free_space(directories)
        line["silent_checks"] = peers.now() if peers else {}
        line["oom"] = oom_kills(cgroup) - oom_kills_before
        line["kernel"] = kernel.lines() if kernel else []
        line["cpu_s"] = round(time.process_time(), 4)
        os.write(1, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        if stdin_ended(options["interval_s"]):
            break


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        pass
