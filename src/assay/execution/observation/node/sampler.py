"""Sample this node's kernel counters at a fixed interval, one JSON line per sample. Ends when stdin reaches EOF.

In, as JSON in argv[1]: ``interval_s``; ``disks``: name to "major:minor", device file or directory; ``nics``: names;
null selects interfaces with hardware, because bonds and bridges count the traffic of their members again, and if there
are none, all but lo; ``cgroup``: {"cpu": directory, "memory": directory} or null, of cgroup v1 (cpuacct) or v2.
Out: a header (what is sampled, what is missing and why), samples, and a footer with the sampler's CPU time.

A sample holds ``t`` (Unix time at the start plus monotonic time since then, in seconds, unaffected by clock changes)
and values in the kernel's units, which assay.execution.observation.sampling converts: ``cpu`` user nice system idle
iowait irq softirq steal in ticks; ``mem`` total free available cached dirty writeback in KiB; ``psi`` microseconds;
``disk`` reads, sectors of 512 B, ms, the same for writes, ms busy, ms queued, merged reads, merged writes (the kernel's
Documentation/admin-guide/iostats.rst); ``nic`` bytes received and sent; ``cgroup`` CPU in ns, memory, cache and
anonymous memory in bytes. A source that fails later is reported once under ``lost``, then omitted.
"""

import json
import os
import re
import socket
import stat
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from assay.execution.observation.node.files import stdin_ended

MEMORY_KEYS = (b"MemTotal", b"MemFree", b"MemAvailable", b"Cached", b"Dirty", b"Writeback")
CPU_STAT = re.compile(b"^([a-z_]+) ([0-9]+)", re.M)
READ_ERRORS = (OSError, ValueError, IndexError, KeyError)


class File:
    """A file of /proc, /sys or a cgroup that stays open and is read repeatedly."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDONLY)

    def read(self) -> bytes:
        """Return the whole content; the kernel returns long files in parts of about a page."""
        data = os.pread(self.fd, 65536, 0)
        if len(data) < 2048:
            return data
        while True:
            part = os.pread(self.fd, 65536, len(data))
            if not part:
                return data
            data += part


class Cpu:
    """First line of /proc/stat."""

    def __init__(self) -> None:
        self.file = File("/proc/stat")

    def sample(self) -> Any:
        """Return ticks."""
        data = os.pread(self.file.fd, 512, 0)
        return [int(word) for word in data[: data.index(b"\n")].split()[1:9]]


class Memory:
    """/proc/meminfo."""

    def __init__(self) -> None:
        self.file = File("/proc/meminfo")
        self.pattern = re.compile(b"^(" + b"|".join(MEMORY_KEYS) + b"): +([0-9]+)", re.M)

    def sample(self) -> Any:
        """Return KiB."""
        values = dict(self.pattern.findall(self.file.read()))
        return [int(values.get(key, 0)) for key in MEMORY_KEYS]


class Pressure:
    """/proc/pressure: total microseconds of "some" and, except for the CPU, of "full"."""

    def __init__(self) -> None:
        self.files = [File("/proc/pressure/" + name) for name in ("cpu", "io", "memory")]

    def sample(self) -> Any:
        """Return cpu some, io some, io full, memory some, memory full."""
        cpu, io, memory = [re.findall(b"total=([0-9]+)", file.read()) for file in self.files]
        return [int(total) for total in cpu[:1] + io[:2] + memory[:2]]


class DiskCounters:
    """The lines of /proc/diskstats for the requested disks."""

    def __init__(self, names: Dict[bytes, List[str]]) -> None:
        self.file = File("/proc/diskstats")
        self.names = names

    def sample(self) -> Any:
        """Return for each disk: reads, sectors, ms, writes, sectors, ms, ms busy, ms queued, merged reads, writes."""
        values = {}
        for line in self.file.read().split(b"\n"):
            words = line.split(None, 2)
            if len(words) == 3:
                for name in self.names.get(words[0] + b":" + words[1], ()):
                    w = words[2].split()
                    values[name] = [int(w[i]) for i in (1, 3, 4, 5, 7, 8, 10, 11, 2, 6)]
        return values


class Nics:
    """/proc/net/dev."""

    def __init__(self, names: Optional[List[str]], sys: str = "/sys/class/net") -> None:
        self.file = File("/proc/net/dev")
        self.names = names
        if names is None:
            hardware = [nic for nic in self.sample() if has_hardware(os.path.join(sys, nic))]
            self.names = hardware or None

    def sample(self) -> Any:
        """Return for each NIC: bytes received, bytes sent."""
        values = {}
        for line in self.file.read().split(b"\n")[2:]:
            name, colon, counters = line.partition(b":")
            nic = name.strip().decode("utf-8", "replace")
            if colon and (nic in self.names if self.names is not None else nic != "lo"):
                fields = counters.split()
                values[nic] = [int(fields[0]), int(fields[8])]
        return values


class Cgroup:
    """CPU and memory of a control group, of either version."""

    def __init__(self, cpu: str, memory: str) -> None:
        self.v1_cpu = os.path.exists(os.path.join(cpu, "cpuacct.usage"))
        self.cpu = File(os.path.join(cpu, "cpuacct.usage" if self.v1_cpu else "cpu.stat"))
        v1 = os.path.exists(os.path.join(memory, "memory.usage_in_bytes"))
        self.usage = File(os.path.join(memory, "memory.usage_in_bytes" if v1 else "memory.current"))
        self.stat = File(os.path.join(memory, "memory.stat"))
        names = (b"total_cache", b"total_rss") if v1 else (b"file", b"anon")
        self.pattern = re.compile(b"^(" + b"|".join(names) + b") ([0-9]+)", re.M)
        self.names = names

    def sample(self) -> Any:
        """Return CPU in ns, then memory, cache and anonymous memory in bytes."""
        text = self.cpu.read()
        cpu_ns = int(text) if self.v1_cpu else 1000 * int(dict(CPU_STAT.findall(text))[b"usage_usec"])
        parts = dict(self.pattern.findall(self.stat.read()))
        return [cpu_ns, int(self.usage.read())] + [int(parts[name]) for name in self.names]


def has_hardware(nic: str) -> bool:
    """Return whether an interface is a device, and no master device counts its traffic too.

    A virtual function (VF) can have a master device: the synthetic interface in front of it.
    """
    return os.path.exists(os.path.join(nic, "device")) and not os.path.exists(os.path.join(nic, "master", "device"))


def device_number(target: str) -> str:
    """Return "major:minor" of a device file, or of the file system that contains a directory."""
    if re.match("^[0-9]+:[0-9]+$", target):
        return target
    status = os.stat(target)
    number = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
    return "%d:%d" % (os.major(number), os.minor(number))


def find_disks(disks: Dict[str, str], missing_reasons: Dict[str, str]) -> Dict[bytes, List[str]]:
    """Return names of disks by device number (bytes); disks without kernel counters go to ``missing_reasons``."""
    with open("/proc/diskstats", "rb") as file:
        counted_numbers = {b":".join(line.split(None, 2)[:2]) for line in file}
    names: Dict[bytes, List[str]] = {}
    for name, target in disks.items():
        try:
            number = device_number(target)
        except OSError as error:
            missing_reasons["disk:" + name] = "%s: %s" % (target, error.strerror)
            continue
        if number.encode() in counted_numbers:
            names.setdefault(number.encode(), []).append(name)
        else:
            missing_reasons["disk:" + name] = "%s is on device %s, for which the kernel has no disk counters" % (
                target,
                number,
            )
    return names


def make_sources(options: Dict[str, Any], missing_reasons: Dict[str, str]) -> List[Tuple[str, Any]]:
    """Return (key, source) pairs, each tested once; failing sources go to ``missing_reasons`` with the reason."""
    cgroup = options.get("cgroup")
    factories: List[Tuple[str, Any]] = [
        ("cpu", Cpu),
        ("mem", Memory),
        ("psi", Pressure),
        ("nic", lambda: Nics(options.get("nics"))),
    ]
    if options.get("disks"):
        factories.append(("disk", lambda: DiskCounters(find_disks(options["disks"], missing_reasons))))
    if cgroup:
        factories.append(("cgroup", lambda: Cgroup(cgroup["cpu"], cgroup["memory"])))
    sources: List[Tuple[str, Any]] = []
    for key, make in factories:
        try:
            source = make()
            first_sample = source.sample()
        except READ_ERRORS as error:
            missing_reasons[key] = str(error) or type(error).__name__
            continue
        if key == "nic" and options.get("nics"):
            for nic in set(options["nics"]) - set(first_sample):
                missing_reasons["nic:" + nic] = "there is no such interface"
        sources.append((key, source))
    return sources


def print_line(value: Dict[str, Any]) -> None:
    """Write one line of compact JSON and flush."""
    os.write(1, json.dumps(value, separators=(",", ":")).encode() + b"\n")


def take_sample(sources: List[Tuple[str, Any]], epoch_unix_s: float) -> None:
    """Print the values of all sources, and drop failing sources. ``epoch_unix_s``: time at which the monotonic clock
    was 0."""
    line: Dict[str, Any] = {"t": round(epoch_unix_s + time.monotonic(), 6)}
    for pair in list(sources):
        try:
            line[pair[0]] = pair[1].sample()
        except READ_ERRORS as error:
            sources.remove(pair)
            line.setdefault("lost", {})[pair[0]] = str(error) or type(error).__name__
    print_line(line)


def next_sample_number(number: int, elapsed_s: float, interval_s: float) -> int:
    """Return the number of the next sample, in intervals since the start; missed samples are skipped."""
    return max(number + 1, int(elapsed_s / interval_s) + 1)


def main() -> None:
    """Print header, samples at start + k * interval, and footer."""
    options = json.loads(sys.argv[1])
    interval_s = float(options["interval_s"])
    missing_reasons: Dict[str, str] = {}
    sources = make_sources(options, missing_reasons)
    epoch_unix_s = time.time() - time.monotonic()
    print_line(
        {
            "assay_sampler": 1,
            "t": round(time.time(), 6),
            "hostname": socket.gethostname(),
            "interval_s": interval_s,
            "cores": os.sysconf("SC_NPROCESSORS_ONLN"),
            "ticks_per_s": os.sysconf("SC_CLK_TCK"),
            "sources": [key for key, _ in sources],
            "missing": missing_reasons,
        }
    )
    started_s, cpu_started_s = time.monotonic(), time.process_time()
    number, sample_count = 0, 0
    while True:
        take_sample(sources, epoch_unix_s)
        sample_count += 1
        elapsed_s = time.monotonic() - started_s
        number = next_sample_number(number, elapsed_s, interval_s)
        if stdin_ended(number * interval_s - elapsed_s):
            break
    take_sample(sources, epoch_unix_s)
    print_line({"end": True, "samples": sample_count + 1, "cpu_s": round(time.process_time() - cpu_started_s, 6)})


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        pass
