"""Survey this machine: devices under each mount, links, names, clock, limits and background load.

In, as JSON in argv[1]: ``directories`` to inspect; ``peers``: names to resolve; ``neighbour``: a host that gets one
unfragmented packet, or null; ``watch_s``: observation time of CPU and disks, in seconds. Out, as JSON: sizes in bytes,
rates in bytes/s, times in seconds. Reads only. Values that need more rights are null. Sources: Linux's
Documentation/ABI (sysfs-block, sysfs-class-net), proc(5), include/uapi/linux/ethtool.h, adjtimex(2).
"""

import ctypes
import fcntl
import glob
import grp
import json
import os
import platform
import pwd
import re
import shutil
import socket
import struct
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from assay.execution.observation.node.files import number_of, output_of, text_of, unescaped

COMMON_DIRECTORIES = ("/", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - they are examined
"""Mount points that are reported even if they are on no block device."""
TOOLS = ("fio", "iperf3", "sudo", "tar", "flock", "setsid", "curl", "smartctl", "ethtool", "kinit")
"""Programs that assay can use on a node."""
SYNC_ERROR = 5
"""adjtimex(2): TIME_ERROR, the clock is not synchronised."""
ETHTOOL_GSET, ETHTOOL_GRINGPARAM, SIOCETHTOOL = 0x1, 0x10, 0x8946
LOWER_DEPTH_MAX = 4
"""Maximum number of levels of stacked interfaces that are searched for hardware."""
SUPPORTED_MBIT = {1 << 1: 10, 1 << 3: 100, 1 << 5: 1000, 1 << 12: 10000, 1 << 15: 2500, 1 << 23: 40000}
"""Bits of ``supported`` in struct ethtool_cmd, to rates in Mbit/s."""


def block_kind(name: str, folder: str) -> str:
    """Return the kind of a block device: disk, part, crypt, lvm, raid, loop, multipath or mapping."""
    if os.path.exists(os.path.join(folder, "partition")):
        return "part"
    if os.path.isdir(os.path.join(folder, "md")):
        return "raid"
    identity = text_of(os.path.join(folder, "dm", "uuid"))
    if identity is not None:
        return {"CRYPT": "crypt", "LVM": "lvm", "mpath": "multipath"}.get(identity.split("-")[0], "mapping")
    return "loop" if name.startswith("loop") else "disk"


def block(name: str, folder: str) -> Dict[str, Any]:
    """Return one block device: kind, underlying devices, and properties."""
    lower_folder = os.path.join(folder, "slaves")
    lower_devices = sorted(os.listdir(lower_folder)) if os.path.isdir(lower_folder) else []
    kind = block_kind(name, folder)
    disk_folder = os.path.dirname(os.path.realpath(folder)) if kind == "part" else folder
    queue = os.path.join(disk_folder, "queue")
    rotational = number_of(os.path.join(queue, "rotational"))
    return {
        "device": text_of(os.path.join(folder, "dev")),
        "kind": kind,
        "on": [os.path.basename(disk_folder)] if kind == "part" else lower_devices,
        "size_bytes": (number_of(os.path.join(folder, "size")) or 0) * 512,
        "rotational": None if rotational is None else bool(rotational),
        "model": " ".join((text_of(os.path.join(disk_folder, "device", "model")) or "").split()),
        "scheduler": re.sub(r".*\[(.+)\].*", r"\1", text_of(os.path.join(queue, "scheduler")) or "") or None,
        "read_ahead_kib": number_of(os.path.join(queue, "read_ahead_kb")),
        "max_request_kib": number_of(os.path.join(queue, "max_sectors_kb")),
        "max_hardware_request_kib": number_of(os.path.join(queue, "max_hw_sectors_kb")),
        "write_cache": text_of(os.path.join(queue, "write_cache")),
        "start_bytes": (number_of(os.path.join(folder, "start")) or 0) * 512,
        "physical_block_bytes": number_of(os.path.join(queue, "physical_block_size")),
        "optimal_io_bytes": number_of(os.path.join(queue, "optimal_io_size")),
        "alignment_offset_bytes": number_of(os.path.join(folder, "alignment_offset")),
        "raid_level": text_of(os.path.join(folder, "md", "level")),
        "raid_missing": number_of(os.path.join(folder, "md", "degraded")),
        "raid_action": text_of(os.path.join(folder, "md", "sync_action")),
        "errors": number_of(os.path.join(disk_folder, "device", "ioerr_cnt")),
    }


def blocks() -> Dict[str, Any]:
    """Return all block devices with a size, including partitions."""
    devices = {name: block(name, "/sys/class/block/" + name) for name in sorted(os.listdir("/sys/class/block"))}
    return {
        name: device
        for name, device in devices.items()
        if device["size_bytes"] and not re.match("(ram|zram)[0-9]", name)
    }


def mounts() -> List[Dict[str, Any]]:
    """Return the mounts of block devices and on COMMON_DIRECTORIES, the last mount per mount point, with sizes and free
    space."""
    mount_by_point = {}
    for line in (text_of("/proc/self/mountinfo") or "").splitlines():
        mount_part, _, file_system_part = line.partition(" - ")
        words, file_system_words = mount_part.split(), file_system_part.split(None, 2)
        point = unescaped(words[4])
        if not (file_system_words[1].startswith("/dev/") or point in COMMON_DIRECTORIES):
            continue
        try:
            space = os.statvfs(point)
        except OSError:
            continue
        if not os.path.isdir(point):
            continue
        mount_by_point[point] = {
            "point": point,
            "device": words[2],
            "source": unescaped(file_system_words[1]),
            "file_system": file_system_words[0],
            "options": sorted(
                set(words[5].split(",")) | set((file_system_words[2] if len(file_system_words) > 2 else "").split(","))
            ),
            "root": unescaped(words[3]),
            "size_bytes": space.f_blocks * space.f_frsize,
            "free_bytes": space.f_bavail * space.f_frsize,
            "inodes": space.f_files,
            "free_inodes": space.f_favail,
            "writable": os.access(point, os.W_OK),
        }
    return [mount_by_point[point] for point in sorted(mount_by_point)]


def owner(path: str) -> Dict[str, Any]:
    """Return the owner of a directory and whether this user can write there; if it is missing, of its nearest
    parent."""
    exists = os.path.exists(path)
    while not os.path.exists(path):
        path = os.path.dirname(path) or "/"
    status = os.stat(path)
    return {
        "exists": exists,
        "owner": name_of(status.st_uid),
        "mode": "%o" % (status.st_mode & 0o7777),
        "writable": os.access(path, os.W_OK | os.X_OK),
    }


def name_of(uid: int) -> str:
    """Return a user's name, or the number if there is no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def ethtool(name: str, command: int, length: int) -> Optional[List[int]]:
    """Return the words of the driver's ethtool response; None if it is not supported."""
    data = ctypes.create_string_buffer(struct.pack("I", command), length * 4)
    request = struct.pack("16sP", name.encode(), ctypes.addressof(data)) + bytes(16)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            fcntl.ioctl(probe, SIOCETHTOOL, request)
    except OSError:
        return None
    return list(struct.unpack("%dI" % length, data.raw))


def on_hardware(folder: str, depth: int = 0) -> bool:
    """Return whether an interface is a device or is on top of a device, like bonds and VLANs."""
    lower_links = glob.glob(folder + "/lower_*") if depth < LOWER_DEPTH_MAX else []
    return os.path.exists(folder + "/device") or any(on_hardware(path, depth + 1) for path in lower_links)


def nic(name: str) -> Dict[str, Any]:
    """Return one interface: negotiated and supported rates in Mbit/s, rings, and error counters."""
    folder = "/sys/class/net/" + name
    speed, link, rings = (
        number_of(folder + "/speed"),
        ethtool(name, ETHTOOL_GSET, 11),
        ethtool(name, ETHTOOL_GRINGPARAM, 9),
    )
    supported_rates = [rate for bit, rate in SUPPORTED_MBIT.items() if link and link[1] & bit]
    counters = {
        key: number_of(folder + "/statistics/" + key) or 0
        for key in ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_packets", "tx_packets")
    }
    driver = os.path.join(folder, "device", "driver")
    return {
        "driver": os.path.basename(os.path.realpath(driver)) if os.path.exists(driver) else None,
        "hardware": on_hardware(folder),
        "state": text_of(folder + "/operstate"),
        "mtu_bytes": number_of(folder + "/mtu"),
        "speed_mbit_per_s": speed if speed and speed > 0 else None,
        "supported_mbit_per_s": max(supported_rates) if supported_rates else None,
        "duplex": text_of(folder + "/duplex"),
        "ring_receive": rings[5] if rings else None,
        "ring_receive_max": rings[1] if rings else None,
        "carrier_changes": number_of(folder + "/carrier_changes"),
        **counters,
    }


def nics() -> Dict[str, Any]:
    """Return all interfaces but lo."""
    names = [name for name in sorted(os.listdir("/sys/class/net")) if name != "lo"]
    return {name: nic(name) for name in names if os.path.isdir("/sys/class/net/" + name)}


def resolve(name: str) -> List[str]:
    """Return the addresses of a name."""
    try:
        return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None, socket.AF_INET)})
    except OSError:
        return []


def name_of_address(address: Optional[str]) -> Optional[str]:
    """Return the name of an address."""
    try:
        return socket.gethostbyaddr(address)[0] if address else None
    except OSError:
        return None


def names(peers: List[str]) -> Dict[str, Any]:
    """Return this host's names and addresses, and how it resolves itself and its peers."""
    ssh_connection = os.environ.get("SSH_CONNECTION", "").split()
    address = ssh_connection[2] if len(ssh_connection) == 4 else None
    login_nic = None
    for line in (output_of(["ip", "-o", "-4", "addr"]) or "").splitlines():
        words = line.split()
        if address and len(words) > 3 and words[3].split("/")[0] == address:
            login_nic = words[1].split("@")[0]
    host = platform.node()
    return {
        "hostname": host,
        "name_addresses": resolve(host),
        "login_address": address,
        "login_nic": login_nic,
        "login_address_name": name_of_address(address),
        "peers": {peer: resolve(peer) for peer in peers},
    }


def full_mtu_passes(neighbour: Optional[str], mtu_bytes: Optional[int]) -> Optional[bool]:
    """Return whether a packet of the interface's full MTU reaches a neighbour; None if it answers not even a small
    packet."""
    if not neighbour or not mtu_bytes or not shutil.which("ping"):
        return None
    ping = ["ping", "-c", "1", "-W", "1", "-q"]
    if output_of([*ping, neighbour]) is None:
        return None
    return output_of([*ping, "-M", "do", "-s", str(mtu_bytes - 28), neighbour]) is not None


def clock() -> Dict[str, Any]:
    """Return whether the clock is synchronised (None: unknown) and the time zone."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        state = -1
    zone_path = os.path.realpath("/etc/localtime")
    zone = zone_path.partition("zoneinfo/")[2] or text_of("/etc/timezone") or time.strftime("%Z")
    return {"synchronised": None if state < 0 else state != SYNC_ERROR, "zone": zone}


def cpu() -> Dict[str, Any]:
    """Return governors, clock rates in MHz, sockets, NUMA nodes, throttling and memory errors."""
    base = "/sys/devices/system/cpu/cpu[0-9]*/"
    info = text_of("/proc/cpuinfo") or ""
    current_khz = [number_of(path) for path in glob.glob(base + "cpufreq/scaling_cur_freq")]
    shown_mhz = [float(rate) for rate in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", info, re.M)]
    rates_mhz = [rate / 1000.0 for rate in current_khz if rate] or shown_mhz
    limits_khz = [number_of(path) for path in glob.glob(base + "cpufreq/scaling_max_freq")]
    governors = {text_of(path) for path in glob.glob(base + "cpufreq/scaling_governor")}
    errors = [number_of(path) or 0 for path in glob.glob("/sys/devices/system/edac/mc/mc*/[cu]e_count")]
    return {
        "governors": sorted(governor for governor in governors if governor),
        "slowest_mhz": min(rates_mhz) if rates_mhz else None,
        "fastest_mhz": max(rates_mhz) if rates_mhz else None,
        "allowed_mhz": min(limit for limit in limits_khz if limit) / 1000.0 if any(limits_khz) else None,
        "sockets": len(set(re.findall(r"^physical id\s*:\s*(\d+)", info, re.M))) or None,
        "numa_nodes": len(glob.glob("/sys/devices/system/node/node[0-9]*")) or None,
        "throttled": sum(number_of(p) or 0 for p in glob.glob(base + "thermal_throttle/core_throttle_count")),
        "memory_errors": sum(errors) if errors else None,
    }


def ticks() -> List[int]:
    """Return the CPU's ticks since boot: total, and idle including waits for disks."""
    words = [int(word) for word in (text_of("/proc/stat") or "cpu 0").splitlines()[0].split()[1:9]]
    return [sum(words), words[3] + words[4] if len(words) > 4 else 0]


def sectors() -> Dict[str, int]:
    """Return the sectors that each whole disk has transferred."""
    rows = [line.split() for line in (text_of("/proc/diskstats") or "").splitlines()]
    return {row[2]: int(row[5]) + int(row[9]) for row in rows if len(row) > 9}


def background_load(watch_s: float) -> Dict[str, Any]:
    """Return the background load over ``watch_s``: load average, CPU share, and bytes/s on each disk."""
    cpu_before, disk_before = ticks(), sectors()
    time.sleep(watch_s)
    cpu_after, disk_after = ticks(), sectors()
    total_ticks = cpu_after[0] - cpu_before[0]
    disk_rates = {name: (count - disk_before.get(name, count)) * 512 / watch_s for name, count in disk_after.items()}
    memory = dict(re.findall(r"^(\w+):\s+(\d+)", text_of("/proc/meminfo") or "", re.M))
    return {
        "load": [float(word) for word in (text_of("/proc/loadavg") or "0 0 0").split()[:3]],
        "cpu_share": 1 - (cpu_after[1] - cpu_before[1]) / total_ticks if total_ticks else None,
        "disk_bytes_per_s": {name: rate for name, rate in disk_rates.items() if rate},
        "swap_used_bytes": (int(memory.get("SwapTotal", 0)) - int(memory.get("SwapFree", 0))) * 1024,
        "available_bytes": int(memory.get("MemAvailable", 0)) * 1024,
        "uptime_s": float((text_of("/proc/uptime") or "0").split()[0]),
    }


def user() -> Dict[str, Any]:
    """Return the user with groups, and the state of sudo: root (not needed), free (no password), password or none."""
    uid = os.getuid()
    sudo = "root" if uid == 0 else "none"
    if uid and shutil.which("sudo"):
        sudo = "free" if output_of(["sudo", "-n", "true"]) is not None else "password"
    groups = []
    for group in os.getgroups():
        try:
            groups.append(grp.getgrgid(group).gr_name)
        except KeyError:
            groups.append(str(group))
    return {"name": name_of(uid), "uid": uid, "groups": sorted(groups), "sudo": sudo}


def lowest_limit(root: str, path: str, read: Callable[[str], Optional[float]]) -> Optional[float]:
    """Return the lowest limit of a control group and its parents; null: no limit."""
    parts = [part for part in path.split("/") if part]
    folders = [os.path.join(root, *parts[:count]) for count in range(len(parts) + 1)]
    limits = [limit for limit in map(read, folders) if limit]
    return min(limits) if limits else None


def quota_of(folder: str) -> Optional[float]:
    """Return the cores that one control group permits; null: no limit."""
    share = (text_of(folder + "/cpu.max") or "max").split()
    if len(share) == 2 and share[0] != "max":
        return int(share[0]) / int(share[1])
    quota, period = number_of(folder + "/cpu.cfs_quota_us"), number_of(folder + "/cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def control_group() -> Dict[str, Any]:
    """Return the memory in bytes and the cores that this session's control groups permit; null: no limit."""
    memory_bytes, cores = None, None
    for line in (text_of("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            memory_bytes = (
                lowest_limit("/sys/fs/cgroup", path, lambda folder: number_of(folder + "/memory.max")) or memory_bytes
            )
            cores = lowest_limit("/sys/fs/cgroup", path, quota_of) or cores
        if "memory" in controllers.split(","):
            limit = lowest_limit(
                "/sys/fs/cgroup/memory", path, lambda folder: number_of(folder + "/memory.limit_in_bytes")
            )
            memory_bytes = limit if limit and limit < 1 << 60 else memory_bytes
        if "cpu" in controllers.split(","):
            cores = lowest_limit("/sys/fs/cgroup/cpu", path, quota_of) or cores
    return {"memory_bytes": memory_bytes, "cores": cores}


def health_verdict(report: str) -> Optional[str]:
    """Return PASSED or FAILED from smartctl's JSON, or the verdict in its text; None without a verdict."""
    try:
        return "PASSED" if json.loads(report)["smart_status"]["passed"] else "FAILED"
    except (ValueError, KeyError, TypeError):
        match = re.search(r"(?:test result|Health Status):\s*(\w+)", report)
        return match.group(1) if match else None


def health(names_of_disks: List[str], sudo: str) -> Dict[str, Optional[str]]:
    """Return SMART's verdict on each disk: PASSED, FAILED and so on; None without a verdict or permission.

    smartctl's exit status is not 0 for a failing disk. Before version 7 it has no option -j.
    """
    prefix = {"root": [], "free": ["sudo", "-n"]}.get(sudo)  # type: Any
    if prefix is None or not shutil.which("smartctl"):
        return {}
    states = {}  # type: Dict[str, Optional[str]]
    for name in names_of_disks:
        commands = [[*prefix, "smartctl", *option, "-H", "/dev/" + name] for option in (["-j"], [])]
        verdicts = (health_verdict(output_of(command, any_status=True) or "") for command in commands)
        states[name] = next(filter(None, verdicts), None)
    return states


def main() -> None:
    """Print all values as JSON."""
    options = json.loads(sys.argv[1])
    login, all_blocks, all_nics, host_names = user(), blocks(), nics(), names(options["peers"])
    disk_names = [name for name, device in all_blocks.items() if device["kind"] == "disk"]
    login_nic = all_nics.get(host_names["login_nic"], {})
    answer = {
        **host_names,
        "user": login,
        "cpu": cpu(),
        "blocks": all_blocks,
        "health": health(disk_names, login["sudo"]),
        "mounts": mounts(),
        "directories": {path: owner(path) for path in options["directories"]},
        "nics": all_nics,
        "full_mtu_passes": full_mtu_passes(options["neighbour"], login_nic.get("mtu_bytes")),
        "background_load": background_load(options["watch_s"]),
        "control_group": control_group(),
        "tools": {tool: shutil.which(tool) for tool in TOOLS},
        "clock": clock(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
