"""Checks of disks, of the file systems on them, and of the layers between. In: a survey. Out: rows of checks. Pure."""

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from assay.analysis.host_checks.check import (
    ARENADATA,
    ASSAY,
    LINUX,
    NOT_REPORTED,
    SAMMER,
    SANDISK,
    DescribedHost,
    HostCheck,
    Probe,
    ProbedValue,
    T,
    at_least,
    at_most,
    by_state,
    check,
    data_blocks,
    data_disks,
    data_mounts,
    holds,
    nothing,
    one_of,
)
from assay.foundation.units import format_byte_rate, format_bytes, format_percent
from assay.model import Block, Grade, Mount, Survey

READAHEAD_MIN_KIB = 256
"""Minimum readahead of a hard disk, in KiB."""
REQUEST_MIN_KIB = 512
"""Minimum of the maximum request size, in KiB, unless the device supports only less."""
ALIGNMENT_BYTES = 2**20
"""Partitions should start at a multiple of this size, in bytes."""
SLOWER_SHARE = 0.85
"""Minimum rate of a disk, as a share of the median of its kind on the host."""
SIBLINGS_MIN = 3
"""Minimum number of disks of one kind for a comparison with their median."""
BUSY_BYTES_PER_S = 5e6
"""Maximum traffic of an idle disk, in bytes/s."""
_SORTING_SCHEDULERS = ("mq-deadline", "deadline", "bfq")
_SLOW_OPTIONS = ("sync", "dirsync", "nobarrier", "barrier=0", "data=journal")


def _per_mount(read: Callable[[Mount], tuple[T, str]]) -> Probe[T]:
    """Return a probe of each data file system; ``read`` returns the value and its text."""

    def probe(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[T]]:
        for mount in data_mounts(host, described):
            yield ProbedValue(*read(mount), mount.point)

    return probe


def _per_disk(read: Callable[[Block], tuple[T | None, str]]) -> Probe[T]:
    """Return a probe of each data disk; ``read`` returns the value and its text."""

    def probe(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[T]]:
        for name in data_disks(host, described):
            yield ProbedValue(*read(host.blocks[name]), name)

    return probe


def _mounted(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[str]]:
    holders: dict[str, str] = {}
    for device, directory in described.directories.items():
        mount = host.mount_at(directory)
        if mount is None:
            yield ProbedValue("missing", "no file system holds it", directory)
            continue
        if mount.point == "/":
            yield ProbedValue("system", "on the system's file system", directory)
        elif mount.point in holders:
            yield ProbedValue("shared", f"on the same file system as {holders[mount.point]}", directory)
        else:
            yield ProbedValue("separate", f"{device} is {mount.source}", directory)
        holders.setdefault(mount.point, directory)


def _writable(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[str]]:
    for path in described.directories.values():
        directory = host.directories.get(path)
        if directory is None:
            continue
        text = f"{'' if directory.exists else 'missing; folder above: '}{directory.owner}, mode {directory.mode}"
        if directory.writable:
            yield ProbedValue("writable", text, path)
        else:
            state = "read-only, attached" if described.attached else "read-only"
            yield ProbedValue(state, f"{text}, not writable for {host.user.name}", path)


def _capacity(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    for device in described.type.devices if described.type else ():
        if device.directory and (mount := host.mount_at(device.directory)):
            text = f"{format_bytes(mount.size_bytes)}, described: {format_bytes(device.capacity_bytes)}"
            yield ProbedValue(mount.size_bytes / max(device.capacity_bytes, 1), text, device.directory)


def _kind(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[bool]]:
    for device in described.type.devices if described.type else ():
        mount = host.mount_at(device.directory) if device.directory else None
        kind = host.kind_of(mount) if mount else None
        if kind is None:
            yield ProbedValue(None, NOT_REPORTED, str(device.directory))
        else:
            yield ProbedValue(kind is device.kind, f"{kind}, described: {device.kind}", str(device.directory))


def _access_time(mount: Mount) -> tuple[str, str]:
    option = next((name for name in ("noatime", "relatime", "strictatime") if name in mount.options), "strictatime")
    return option, option


def _options(mount: Mount) -> tuple[str, str]:
    read_only = "ro" in mount.options
    options = [*(["ro"] if read_only else []), *(option for option in _SLOW_OPTIONS if option in mount.options)]
    return "read-only" if read_only else "slow" if options else "usual", ", ".join(options) or "nothing unusual"


def _noexec(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[bool]]:
    for point in dict.fromkeys(["/tmp", *([described.home] if described.home else [])]):  # noqa: S108
        if mount := host.mount_at(point):
            noexec = "noexec" in mount.options
            yield ProbedValue(not noexec, "noexec" if noexec else "programs may run", point)


def _alignment(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[int]]:
    for name in (part for data_block in data_blocks(host, described) for part, _ in host.blocks_below(data_block)):
        block = host.blocks[name]
        if block.kind == "part":
            misaligned_bytes = block.start_bytes % ALIGNMENT_BYTES or (block.alignment_offset_bytes or 0)
            yield ProbedValue(misaligned_bytes, f"begins at {format_bytes(block.start_bytes)}", name)


def _scheduler(block: Block) -> tuple[Block | None, str]:
    return (block, block.scheduler) if block.scheduler else (None, NOT_REPORTED)


def _scheduler_grade(block: Block) -> Grade:
    """Grade a scheduler: hard disks need a scheduler that sorts requests, flash does not, loop devices may have any."""
    if block.kind == "loop" or block.rotational is None or block.scheduler in _SORTING_SCHEDULERS:
        return Grade.FIT
    return Grade.FIT if not block.rotational and block.scheduler in ("none", "noop") else Grade.NOTE


def _readahead(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[bool]]:
    for name in data_blocks(host, described):
        size_kib = host.blocks[name].read_ahead_kib
        if size_kib is None:
            yield ProbedValue(None, NOT_REPORTED, name)
        elif any(host.blocks[disk].rotational for disk in host.disks_of(name)):
            yield ProbedValue(size_kib >= READAHEAD_MIN_KIB, f"{size_kib} KiB", name)
        else:
            yield ProbedValue(True, f"{size_kib} KiB, no hard disk", name)


def _request(block: Block) -> tuple[float | None, str]:
    if block.max_request_kib is None:
        return None, NOT_REPORTED
    hardware_max_kib = block.max_hardware_request_kib
    text = f"{block.max_request_kib} KiB" + (f", the device allows {hardware_max_kib}" if hardware_max_kib else "")
    return block.max_request_kib / min(REQUEST_MIN_KIB, hardware_max_kib or REQUEST_MIN_KIB), text


def _write_cache(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[bool]]:
    caches = {name: host.blocks[name].write_cache for name in data_disks(host, described)}
    are_equal = len({cache for cache in caches.values() if cache}) == 1
    for name, cache in caches.items():
        if cache is None:
            yield ProbedValue(None, NOT_REPORTED, name)
        else:
            yield ProbedValue(are_equal, cache if are_equal else f"{cache}; the disks of this host differ", name)


def _smart(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[str]]:
    for name in data_disks(host, described):
        verdict = host.health.get(name)
        yield ProbedValue(verdict, verdict or "smartctl is missing, or needs root (sudo without a password)", name)


def _errors(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[int]]:
    for name in data_disks(host, described):
        errors = host.blocks[name].errors
        if errors is not None:
            yield ProbedValue(errors, f"{errors} failed commands", name)


def _raid(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[str]]:
    arrays = [
        n
        for data_block in data_blocks(host, described)
        for n, block in host.blocks_below(data_block)
        if block.kind == "raid"
    ]
    for name in dict.fromkeys(arrays):
        block = host.blocks[name]
        if block.raid_missing:
            yield ProbedValue("degraded", f"{block.raid_level}: {block.raid_missing} members are missing", name)
        elif block.raid_action not in (None, "idle", "frozen"):
            yield ProbedValue("busy", f"{block.raid_level}: {block.raid_action} in progress", name)
        else:
            yield ProbedValue("array", f"{block.raid_level} on {', '.join(block.on)}", name)
    if not arrays:
        yield ProbedValue("none", "none")


def _layers(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[list[str]]]:
    for mount in data_mounts(host, described):
        layers = [
            layer for layer in host.layers_above_disks(host.block_of(mount) or "") if not layer.startswith("RAID")
        ]
        yield ProbedValue(layers, ", ".join(layers) or "nothing", mount.point)


def _room(mount: Mount) -> tuple[float, str]:
    share = mount.free_bytes / mount.size_bytes if mount.size_bytes else 0.0
    return share, f"{format_bytes(mount.free_bytes)} of {format_bytes(mount.size_bytes)} ({format_percent(share)})"


def _inodes(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    for mount in data_mounts(host, described):
        if mount.inodes:
            share = mount.free_inodes / mount.inodes
            yield ProbedValue(share, f"{mount.free_inodes} ({format_percent(share)})", mount.point)


def _slow(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    """Compare each disk with the median of its kind on this host by a ratio; few disks show no reliable spread."""
    for rotational in (True, False):
        rates = {
            name: host.read_bytes_per_s[name]
            for name in data_disks(host, described)
            if name in host.read_bytes_per_s and bool(host.blocks[name].rotational) is rotational
        }
        median_rate = statistics.median(rates.values()) if rates else 0.0
        for name, rate in rates.items():
            text = f"{format_byte_rate(rate)}, the median of {len(rates)} is {format_byte_rate(median_rate)}"
            yield ProbedValue(rate / median_rate if len(rates) >= SIBLINGS_MIN and median_rate else 1.0, text, name)
    for name in data_disks(host, described):
        if name not in host.read_bytes_per_s:
            yield ProbedValue(None, "not read: use --deep, as root or as a member of the group disk", name)


def _traffic(host: Survey, described: DescribedHost) -> Iterator[ProbedValue[float]]:
    for name in data_disks(host, described):
        rate = host.background_load.disk_bytes_per_s.get(name, 0.0)
        yield ProbedValue(rate, f"{format_byte_rate(rate)} for half a second", name)


CHECKS: tuple[HostCheck[Any], ...] = (
    check(
        "mounted",
        "a disk under each directory",
        "Two directories on one disk, or on the system's disk, are one disk in the measurement and two in the file.",
        "mount the disk there, or correct directories in the cluster file",
        _mounted,
        by_state({"separate": Grade.FIT, "system": Grade.WARNING, "shared": Grade.ERROR, "missing": Grade.ERROR}),
        ("one file system each", ASSAY),
    ),
    check(
        "writable",
        "write permission on the directories",
        "assay creates its folders there as the user who logs in, and changes nothing else.",
        "as root: mkdir DIRECTORY && chown USER DIRECTORY",
        _writable,
        by_state({"writable": Grade.FIT, "read-only, attached": Grade.NOTE, "read-only": Grade.ERROR}),
        ("the SSH user", ASSAY),
    ),
    check(
        "capacity",
        "size against the cluster file",
        "assay computes room and cost from the cluster file.",
        "correct capacity in the cluster file",
        _capacity,
        at_least((0.85, Grade.FIT), otherwise=Grade.WARNING),
        ("at least 85 % of the described capacity", ASSAY),
    ),
    check(
        "device-kind",
        "kind against the cluster file",
        "Layouts choose devices by their kind.",
        "correct kind in the cluster file; a RAID controller can hide the kind of a disk",
        _kind,
        holds(Grade.WARNING),
        ("the described kind", ASSAY),
    ),
    check(
        "noatime",
        "noatime",
        "Without it, every read of a block writes the time of access.",
        "noatime in /etc/fstab, then mount -o remount DIRECTORY",
        _per_mount(_access_time),
        by_state({"noatime": Grade.FIT, "relatime": Grade.NOTE, "strictatime": Grade.WARNING}),
        ("noatime", SANDISK),
        ("noatime", ARENADATA),
        ("relatime", LINUX),
    ),
    check(
        "file-system",
        "file system",
        "Hadoop is known to run well on these; others copy on write, or slow down differently as they fill up.",
        "mkfs.ext4 or mkfs.xfs: deletes the data",
        _per_mount(lambda mount: (mount.file_system, mount.file_system)),
        one_of(("ext4", "xfs"), Grade.WARNING),
        ("ext4", SANDISK),
        ("ext4 or xfs", ARENADATA),
    ),
    check(
        "mount-options",
        "mount options",
        "sync waits for every write, data=journal writes twice; without barriers a crash loses acknowledged writes.",
        "correct /etc/fstab, then mount -o remount DIRECTORY",
        _per_mount(_options),
        by_state({"usual": Grade.FIT, "slow": Grade.WARNING, "read-only": Grade.ERROR}),
        ("no sync", ARENADATA),
    ),
    check(
        "noexec",
        "programs in /tmp and in assay's home",
        "Native libraries (snappy, leveldb, netty) are unpacked to /tmp and loaded from there.",
        "mount -o remount,exec /tmp, or another home in the cluster file",
        _noexec,
        holds(Grade.ERROR),
        ("no noexec", ARENADATA),
    ),
    check(
        "alignment",
        "alignment of partitions",
        "A partition that is not aligned to physical blocks doubles requests, and writes become read-modify-write.",
        "create the partition again, from 1 MiB: deletes the data",
        _alignment,
        nothing(Grade.WARNING),
        ("a multiple of 1 MiB", "parted(8) and fdisk(8), their default"),
    ),
    check(
        "scheduler",
        "I/O scheduler",
        "Hard disks need their requests sorted; flash does not.",
        "echo mq-deadline > /sys/block/DISK/queue/scheduler (flash: none)",
        _per_disk(_scheduler),
        _scheduler_grade,
        ("mq-deadline for hard disks, none for NVMe", LINUX),
    ),
    check(
        "readahead",
        "readahead",
        "With several streams on a hard disk, larger reads need fewer seeks.",
        "blockdev --setra 2048 /dev/DISK (in sectors of 512 bytes), by a udev rule",
        _readahead,
        holds(Grade.NOTE),
        (f"{READAHEAD_MIN_KIB} KiB or more for hard disks", ASSAY),
        ("128 KiB", LINUX),
    ),
    check(
        "max-request",
        "largest request",
        "The kernel splits readahead into requests of this size.",
        "echo 1024 > /sys/block/DISK/queue/max_sectors_kb",
        _per_disk(_request),
        at_least((1, Grade.FIT), otherwise=Grade.NOTE),
        (f"{REQUEST_MIN_KIB} KiB, or the device's maximum", ASSAY),
        ("1280 KiB", LINUX),
    ),
    check(
        "write-cache",
        "the drives' write caches",
        "A disk without its write cache writes at a fraction of the others' rate.",
        "hdparm -W1 /dev/DISK (or -W0), the same on all disks",
        _write_cache,
        holds(Grade.WARNING),
        ("equal on all disks", ASSAY),
    ),
    check(
        "smart",
        "health by SMART",
        "A disk that reports a failing health is slow before it fails.",
        "replace it; `smartctl -a /dev/DISK` has details",
        _smart,
        one_of(("PASSED", "OK"), Grade.ERROR),
        ("PASSED", "smartmontools, smartctl(8)"),
    ),
    check(
        "disk-errors",
        "failed commands of a disk",
        "Each repeated command costs seconds.",
        "check dmesg, cable and disk",
        _errors,
        at_most((2, Grade.FIT), otherwise=Grade.WARNING),
        ("none beyond the two of its detection", ASSAY),
    ),
    check(
        "raid",
        "RAID under data",
        "HDFS keeps copies itself; an array is as fast as its slowest disk, and a rebuild disturbs runs for hours.",
        "single disks (JBOD), one directory each",
        _raid,
        by_state({"none": Grade.FIT, "array": Grade.WARNING, "busy": Grade.ERROR, "degraded": Grade.ERROR}),
        ("none for DataNodes", SAMMER),
        ("two HDDs as JBOD", SANDISK),
    ),
    check(
        "encryption",
        "LUKS and LVM under data",
        "Encryption costs CPU for each byte; logical volumes can share disks.",
        "nothing, if it is intended: the measurement includes it",
        _layers,
        nothing(Grade.NOTE),
        ("nothing between file system and disk", ASSAY),
    ),
    check(
        "free-space",
        "free space",
        "A full hard disk uses its slow inner tracks, a full SSD collects garbage, and HDFS stops writing.",
        "delete or move data",
        _per_mount(_room),
        at_least((0.25, Grade.FIT), (0.05, Grade.WARNING), otherwise=Grade.ERROR),
        ("a quarter", ASSAY),
    ),
    check(
        "free-inodes",
        "free inodes",
        "Without inodes no block file can be created, even with free space.",
        "delete small files, or mkfs with more inodes",
        _inodes,
        at_least((0.05, Grade.FIT), otherwise=Grade.ERROR),
        ("5 % at least", ASSAY),
    ),
    check(
        "slow-disk",
        "a disk slower than the others",
        "A job waits for the slowest disk.",
        "check its SMART values, cable and slot; replace it",
        _slow,
        at_least((SLOWER_SHARE, Grade.FIT), otherwise=Grade.ERROR),
        ("at least 85 % of the median of its kind on the host", ASSAY),
    ),
    check(
        "disk-burden",
        "disk use by other programs",
        "It competes with every run.",
        "see `iotop`; end the programs, or measure later",
        _traffic,
        at_most((BUSY_BYTES_PER_S, Grade.FIT), otherwise=Grade.WARNING),
        ("below 5 MB/s", ASSAY),
    ),
)
