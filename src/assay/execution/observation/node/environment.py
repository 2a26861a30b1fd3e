"""Print hardware, kernel, file systems, limits and JVM of this node as a JSON object.

In, as JSON in argv[1]: ``directories`` whose file systems are recorded; ``java``: the program whose version is
recorded, or null. Out: sizes in bytes, frequencies in MHz, NIC rates in Mbit/s. Unknown values are null or absent.
Values that change by themselves from minute to minute are omitted, because environments are compared.
"""

import glob
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

from assay.execution.observation.node.files import number_of, text_of, unescaped

SYSCTLS = (
    "vm.swappiness",
    "vm.dirty_ratio",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_writeback_centisecs",
    "vm.vfs_cache_pressure",
    "vm.min_free_kbytes",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.max_map_count",
    "vm.zone_reclaim_mode",
    "fs.file-max",
    "net.core.somaxconn",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_congestion_control",
    "kernel.numa_balancing",
)
"""Kernel settings that are recorded."""
CONTROLLERS = {"blkio", "cpu", "cpuacct", "cpuset", "memory", "pids", "devices", "freezer", "hugetlb", "net_cls"}
"""Controllers of cgroup v1. Other mount options are not controllers."""
JAVA_TIMEOUT_S = 20
"""Maximum time of ``java -version``, in seconds."""


def selected_value(text: Optional[str]) -> Optional[str]:
    """Return the selected value, which the kernel writes in brackets; without brackets, the text itself."""
    match = re.search(r"\[([^]]+)\]", text or "")
    return match.group(1) if match else text


def cpu() -> Dict[str, Any]:
    """Return model, logical and physical cores, governor, and whether the node is a virtual machine."""
    info = text_of("/proc/cpuinfo") or ""
    model = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", info, re.M)
    fastest_khz = number_of("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    cores = set(re.findall(r"^physical id\s*:\s*(\d+)$.*?^core id\s*:\s*(\d+)$", info, re.M | re.S))
    return {
        "model": model.group(1).strip() if model else platform.machine(),
        "logical_cores": os.sysconf("SC_NPROCESSORS_ONLN"),
        "usable_cores": len(os.sched_getaffinity(0)),
        "physical_cores": len(cores) or None,
        "max_frequency_mhz": fastest_khz / 1000.0 if fastest_khz else None,
        "governor": text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "virtual": bool(re.search(r"^flags\s*:.*\bhypervisor\b", info, re.M)),
    }


def memory() -> Dict[str, Any]:
    """Return memory and swap in bytes."""
    values = dict(re.findall(r"^(\w+):\s+(\d+)", text_of("/proc/meminfo") or "", re.M))
    return {
        "total_bytes": int(values.get("MemTotal", 0)) * 1024,
        "swap_bytes": int(values.get("SwapTotal", 0)) * 1024,
        "transparent_hugepage": selected_value(text_of("/sys/kernel/mm/transparent_hugepage/enabled")),
        "transparent_hugepage_defrag": selected_value(text_of("/sys/kernel/mm/transparent_hugepage/defrag")),
    }


def disk(folder: str) -> Dict[str, Any]:
    """Return the properties of a block device. ``folder``: its folder in /sys/block."""
    queue = os.path.join(folder, "queue")
    rotational = number_of(os.path.join(queue, "rotational"))
    return {
        "device": text_of(os.path.join(folder, "dev")),
        "size_bytes": (number_of(os.path.join(folder, "size")) or 0) * 512,
        "rotational": None if rotational is None else bool(rotational),
        "scheduler": selected_value(text_of(os.path.join(queue, "scheduler"))),
        "model": text_of(os.path.join(folder, "device", "model")),
        "read_ahead_kib": number_of(os.path.join(queue, "read_ahead_kb")),
        "max_request_kib": number_of(os.path.join(queue, "max_sectors_kb")),
        "write_cache": text_of(os.path.join(queue, "write_cache")),
    }


def disks(mounted_devices: List[str]) -> Dict[str, Any]:
    """Return all block devices with a size; loop and RAM devices only if mounted."""
    all_disks = {os.path.basename(folder): disk(folder) for folder in sorted(glob.glob("/sys/block/*"))}
    return {
        name: properties
        for name, properties in all_disks.items()
        if properties["size_bytes"]
        and (properties["device"] in mounted_devices or not re.match("(loop|ram|zram)[0-9]", name))
    }


def nics() -> Dict[str, Any]:
    """Return all interfaces but lo."""
    interfaces = {}
    for folder in sorted(glob.glob("/sys/class/net/*")):
        if os.path.basename(folder) != "lo" and os.path.isdir(folder):
            speed = number_of(os.path.join(folder, "speed"))
            interfaces[os.path.basename(folder)] = {
                "mtu_bytes": number_of(os.path.join(folder, "mtu")),
                "speed_mbit_per_s": speed if speed and speed > 0 else None,
                "state": text_of(os.path.join(folder, "operstate")),
            }
    return interfaces


def all_mounts() -> List[Dict[str, Any]]:
    """Return all mounts, as proc(5) describes /proc/self/mountinfo."""
    entries = []
    for line in (text_of("/proc/self/mountinfo") or "").splitlines():
        mount_part, _, file_system_part = line.partition(" - ")
        words, file_system_words = mount_part.split(), file_system_part.split(None, 2)
        entries.append(
            {
                "mount_point": unescaped(words[4]),
                "device": words[2],
                "type": file_system_words[0],
                "source": unescaped(file_system_words[1]),
                "options": words[5],
                "super_options": file_system_words[2] if len(file_system_words) > 2 else "",
            }
        )
    return entries


def mount_of(directory: str, mounts: List[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """Return the mount of a directory: the deepest mount point above it; if mounts share it, the newest."""
    path = os.path.realpath(directory)
    parent_mounts = [entry for entry in mounts if (path + "/").startswith(entry["mount_point"].rstrip("/") + "/")]
    return max(reversed(parent_mounts), key=lambda entry: len(entry["mount_point"])) if parent_mounts else None


def file_systems(directories: List[str]) -> Dict[str, Any]:
    """Return the mounts of block devices and of the directories, and the mount of each directory."""
    mounts = all_mounts()
    mount_by_directory = {directory: mount_of(directory, mounts) for directory in directories}
    recorded_mounts = {
        entry["mount_point"]: entry
        for entry in mounts
        if entry["source"].startswith("/dev/") or entry in mount_by_directory.values()
    }
    for point, entry in recorded_mounts.items():
        try:
            space = os.statvfs(point)
        except OSError:
            continue
        entry["size_bytes"] = space.f_blocks * space.f_frsize
    points = {directory: entry["mount_point"] if entry else None for directory, entry in mount_by_directory.items()}
    return {"mounts": recorded_mounts, "directories": points}


def java(program: Optional[str]) -> Optional[Dict[str, Any]]:
    """Return the JVM's version lines, or the reason for their absence."""
    if program is None:
        return None
    try:
        result = subprocess.run(
            [program, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=JAVA_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"program": program, "version": None, "error": str(error)}
    lines = result.stdout.decode("utf-8", "replace").strip().splitlines()
    lines = [line for line in lines if not line.startswith("Picked up ")]
    if result.returncode != 0 or not lines:
        return {"program": program, "version": None, "error": "exit status %d: %s" % (result.returncode, lines[-1:])}
    version = re.search(r'"([^"]+)"', lines[0])
    return {"program": program, "version": version.group(1) if version else lines[0], "lines": lines}


def limits() -> Dict[str, Any]:
    """Return soft and hard limits of a login without a terminal; null: unlimited."""
    kinds = {
        "open_files": resource.RLIMIT_NOFILE,
        "processes": resource.RLIMIT_NPROC,
        "locked_memory_bytes": resource.RLIMIT_MEMLOCK,
    }
    return {
        name: [None if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(kind)]
        for name, kind in kinds.items()
    }


def distribution() -> Optional[str]:
    """Return the distribution's name: PRETTY_NAME of /etc/os-release."""
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', text_of("/etc/os-release") or "", re.M)
    return match.group(1) if match else None


def cgroup_versions() -> Dict[str, List[str]]:
    """Return the controllers of each mounted cgroup version."""
    v1_options = [entry["super_options"] for entry in all_mounts() if entry["type"] == "cgroup"]
    names = sorted({name for options in v1_options for name in options.split(",") if name in CONTROLLERS})
    v2_mounts = [entry["mount_point"] for entry in all_mounts() if entry["type"] == "cgroup2"]
    controllers = (text_of(os.path.join(v2_mounts[0], "cgroup.controllers")) or "").split() if v2_mounts else []
    return {"v1": names, "v2": controllers}


def main() -> None:
    """Print everything."""
    options = json.loads(sys.argv[1])
    sysctls = {name: text_of("/proc/sys/" + name.replace(".", "/")) for name in SYSCTLS}
    systems = file_systems(options["directories"])
    mounted_devices = [entry["device"] for entry in systems["mounts"].values()]
    print(
        json.dumps(
            {
                "hostname": platform.node(),
                "captured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "hardware": {"cpu": cpu(), "memory": memory(), "disks": disks(mounted_devices), "nics": nics()},
                "kernel": {"release": platform.release(), "version": platform.version(), "machine": platform.machine()},
                "distribution": distribution(),
                "file_systems": systems,
                "sysctls": {name: value for name, value in sysctls.items() if value is not None},
                "limits": limits(),
                "clock_source": text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
                "cgroups": cgroup_versions(),
                "java": java(options["java"]),
                "python": platform.python_version(),
            }
        )
    )


if __name__ == "__main__":
    main()
