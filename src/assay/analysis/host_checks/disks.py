"""Checks of disks, what is on them, and what lies between. In: a survey. Out: what was found on each. Pure."""

import statistics
from collections.abc import Iterator

from assay.analysis.host_checks.check import (
    ARENADATA,
    ASSAY,
    LINUX,
    SAMMER,
    SANDISK,
    CheckFinding,
    DescribedHost,
    HostCheck,
    HostJudge,
    criterion,
    data_blocks,
    data_disks,
    data_mounts,
    fit,
    graded,
    unknown,
)
from assay.foundation.units import format_byte_rate, format_bytes
from assay.model import Grade, Survey

FREE_FIT, FREE_MIN = 0.25, 0.05
INODES_MIN = 0.05
READAHEAD_MIN_KIB = 256
REQUEST_MIN_KIB = 512
ALIGNMENT_BYTES = 2**20
SLOWER_SHARE = 0.85
SIBLINGS_MIN = 3
BUSY_BYTES_PER_S = 5e6
_SYSTEMS = ("ext4", "xfs")
_QUEUED = ("mq-deadline", "deadline", "bfq")
_DESCRIBED_SHARE = 0.85
_BAD_OPTIONS = ("sync", "dirsync", "ro", "nobarrier", "barrier=0", "data=journal")


def _mounted(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    holders: dict[str, str] = {}
    for device, directory in described.directories.items():
        mount = host.mount_at(directory)
        if mount is None:
            yield CheckFinding(Grade.ERROR, "no file system holds it", directory)
        elif mount.point == "/":
            yield CheckFinding(Grade.WARNING, "on the system's file system", directory)
        elif mount.point in holders:
            yield CheckFinding(Grade.ERROR, f"on the same file system as {holders[mount.point]}", directory)
        else:
            yield fit(f"{device} is {mount.source}", directory)
        if mount:
            holders.setdefault(mount.point, directory)


def _writable(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for directory in described.directories.values():
        there = host.directories.get(directory)
        if there is None:
            continue
        state = "" if there.exists else "not there yet, above it: "
        words = f"{state}{there.owner}, mode {there.mode}"
        grade = Grade.NOTE if described.attached else Grade.ERROR
        refused = "" if there.writable else f", not for {host.user.name} to write"
        yield graded(there.writable, grade, f"{words}{refused}", directory)


def _capacity(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    if described.type is None:
        return
    sizes = {device.directory: device.capacity_bytes for device in described.type.devices if device.directory}
    for directory, wanted in sizes.items():
        if mount := host.mount_at(directory):
            words = f"{format_bytes(mount.size_bytes)}, described: {format_bytes(wanted)}"
            yield graded(mount.size_bytes >= wanted * _DESCRIBED_SHARE, Grade.WARNING, words, directory)


def _kind(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    if described.type is None:
        return
    for device in described.type.devices:
        mount = host.mount_at(device.directory) if device.directory else None
        kind = host.kind_of(mount) if mount else None
        if kind is None:
            yield unknown("the kernel does not tell", str(device.directory))
        else:
            words = f"{kind}, described: {device.kind}"
            yield graded(kind is device.kind, Grade.WARNING, words, str(device.directory))


def _noatime(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for mount in data_mounts(host, described):
        option = next((name for name in ("noatime", "relatime", "strictatime") if name in mount.options), "strictatime")
        grade = Grade.NOTE if option == "relatime" else Grade.WARNING
        yield graded(option == "noatime", grade, option, mount.point)


def _file_system(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for mount in data_mounts(host, described):
        yield graded(mount.file_system in _SYSTEMS, Grade.WARNING, mount.file_system, mount.point)


def _options(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for mount in data_mounts(host, described):
        bad = [option for option in _BAD_OPTIONS if option in mount.options]
        grade = Grade.ERROR if "ro" in bad else Grade.WARNING
        yield graded(not bad, grade, ", ".join(bad) or "nothing unusual", mount.point)


def _noexec(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for point in dict.fromkeys(["/tmp", *([described.home] if described.home else [])]):  # noqa: S108
        if mount := host.mount_at(point):
            noexec = "noexec" in mount.options
            yield graded(not noexec, Grade.ERROR, "noexec" if noexec else "programs may run", point)


def _alignment(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in (part for top in data_blocks(host, described) for part, _ in host.below(top)):
        block = host.blocks[name]
        if block.kind == "part":
            off = block.start_bytes % ALIGNMENT_BYTES or (block.alignment_offset_bytes or 0)
            yield graded(not off, Grade.WARNING, f"begins at {format_bytes(block.start_bytes)}", name)


def _scheduler(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in data_disks(host, described):
        block = host.blocks[name]
        if block.scheduler is None:
            yield unknown("the kernel does not tell", name)
        elif block.kind == "loop" or block.rotational is None:
            yield fit(block.scheduler, name)
        else:
            good = block.scheduler in _QUEUED if block.rotational else block.scheduler in ("none", "noop", *_QUEUED)
            yield graded(good, Grade.NOTE, block.scheduler, name)


def _readahead(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in data_blocks(host, described):
        value = host.blocks[name].read_ahead_kib
        if value is None:
            yield unknown("the kernel does not tell", name)
        elif any(host.blocks[disk].rotational for disk in host.disks_of(name)):
            yield graded(value >= READAHEAD_MIN_KIB, Grade.NOTE, f"{value} KiB", name)
        else:
            yield fit(f"{value} KiB, no arm to move", name)


def _request(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in data_disks(host, described):
        block = host.blocks[name]
        if block.max_request_kib is None:
            yield unknown("the kernel does not tell", name)
            continue
        able = block.max_hardware_request_kib
        words = f"{block.max_request_kib} KiB" + (f", the device could {able}" if able else "")
        yield graded(block.max_request_kib >= min(REQUEST_MIN_KIB, able or REQUEST_MIN_KIB), Grade.NOTE, words, name)


def _write_cache(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    caches = {name: host.blocks[name].write_cache for name in data_disks(host, described)}
    known = {name: cache for name, cache in caches.items() if cache}
    for name, cache in caches.items():
        if cache is None:
            yield unknown("the kernel does not tell", name)
        else:
            alike = len(set(known.values())) == 1
            yield graded(alike, Grade.WARNING, cache if alike else f"{cache}; not all of this host alike", name)


def _smart(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in data_disks(host, described):
        verdict = host.health.get(name)
        if verdict is None:
            yield unknown("smartctl is not there, or needs root (sudo without a password)", name)
        else:
            yield graded(verdict in ("PASSED", "OK"), Grade.ERROR, verdict, name)


def _errors(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in data_disks(host, described):
        errors = host.blocks[name].errors
        if errors is not None:
            yield graded(errors <= 2, Grade.WARNING, f"{errors} errors of commands", name)


def _raid(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    arrays = [n for top in data_blocks(host, described) for n, block in host.below(top) if block.kind == "raid"]
    for name in dict.fromkeys(arrays):
        block = host.blocks[name]
        if block.raid_missing:
            yield CheckFinding(Grade.ERROR, f"{block.raid_level}: {block.raid_missing} members are missing", name)
        elif block.raid_action not in (None, "idle", "frozen"):
            yield CheckFinding(Grade.ERROR, f"{block.raid_level}: {block.raid_action} in progress", name)
        else:
            yield CheckFinding(Grade.WARNING, f"{block.raid_level} on {', '.join(block.on)}", name)
    if not arrays:
        yield fit("none")


def _luks(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for mount in data_mounts(host, described):
        layers = [w for w in host.between(host.block_of(mount) or "") if not w.startswith("RAID")]
        yield graded(not layers, Grade.NOTE, ", ".join(layers) or "nothing", mount.point)


def _room(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for mount in data_mounts(host, described):
        share = mount.free_bytes / mount.size_bytes if mount.size_bytes else 0.0
        words = f"{format_bytes(mount.free_bytes)} of {format_bytes(mount.size_bytes)} ({share:.0%})"
        yield graded(share >= FREE_FIT, Grade.WARNING if share >= FREE_MIN else Grade.ERROR, words, mount.point)


def _inodes(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for mount in data_mounts(host, described):
        if mount.inodes:
            share = mount.free_inodes / mount.inodes
            yield graded(share >= INODES_MIN, Grade.ERROR, f"{mount.free_inodes} ({share:.0%})", mount.point)


def _slow(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    """Hold each disk against the median of those of its kind on this host: a share, as spreads of a few say little."""
    for turns in (True, False):
        rates = {
            name: host.read_bytes_per_s[name]
            for name in data_disks(host, described)
            if name in host.read_bytes_per_s and bool(host.blocks[name].rotational) is turns
        }
        middle = statistics.median(rates.values()) if rates else 0.0
        for name, rate in rates.items():
            words = f"{format_byte_rate(rate)}, the median of {len(rates)} is {format_byte_rate(middle)}"
            slow = len(rates) >= SIBLINGS_MIN and rate < middle * SLOWER_SHARE
            yield graded(not slow, Grade.ERROR, words, name)
    for name in data_disks(host, described):
        if name not in host.read_bytes_per_s:
            yield unknown("not read: it is asked for with --deep, and needs root or the group disk", name)


def _burden(host: Survey, described: DescribedHost) -> Iterator[CheckFinding]:
    for name in data_disks(host, described):
        rate = host.burden.disk_bytes_per_s.get(name, 0.0)
        yield graded(rate < BUSY_BYTES_PER_S, Grade.WARNING, f"{format_byte_rate(rate)} for half a second", name)


def _check(name: str, title: str, why: str, change: str, judge: HostJudge, *advice: tuple[str, str]) -> HostCheck:
    return HostCheck(criterion(name, title, why, change, *advice), judge)


CHECKS = (
    _check(
        "mounted",
        "a disk under each directory",
        "Two directories on one disk, or on the system's, are one disk in the measurement and two in the file.",
        "mount the disk there, or correct directories in the cluster file",
        _mounted,
        ("one file system each", ASSAY),
    ),
    _check(
        "writable",
        "who may write to the directories",
        "assay makes its folders there as the user who logs in, and touches nothing else.",
        "as root: mkdir DIRECTORY && chown USER DIRECTORY",
        _writable,
        ("the SSH user", ASSAY),
    ),
    _check(
        "capacity",
        "size against the cluster file",
        "Room and cost are counted by the file.",
        "correct capacity in the cluster file",
        _capacity,
        ("at least 85 % of what the file says", ASSAY),
    ),
    _check(
        "device-kind",
        "kind against the cluster file",
        "Layouts choose devices by their kind.",
        "correct kind in the cluster file; a RAID controller can hide what a disk is",
        _kind,
        ("as the file says", ASSAY),
    ),
    _check(
        "noatime",
        "noatime",
        "Every read of a block writes its time of access.",
        "noatime in /etc/fstab, then mount -o remount DIRECTORY",
        _noatime,
        ("noatime", SANDISK),
        ("noatime", ARENADATA),
        ("relatime", LINUX),
    ),
    _check(
        "file-system",
        "file system",
        "Hadoop is known to run well on these; others copy on write, or fill up in their own ways.",
        "mkfs.ext4 or mkfs.xfs: destroys what is there",
        _file_system,
        ("ext4", SANDISK),
        ("ext4 or xfs", ARENADATA),
    ),
    _check(
        "mount-options",
        "mount options",
        "sync waits for every write, data=journal writes twice; without barriers a crash loses what HDFS promised.",
        "correct /etc/fstab, then mount -o remount DIRECTORY",
        _options,
        ("no sync", ARENADATA),
    ),
    _check(
        "noexec",
        "programs in /tmp and in assay's home",
        "Native libraries (snappy, leveldb, netty) are unpacked to /tmp and loaded from there.",
        "mount -o remount,exec /tmp, or another home in the cluster file",
        _noexec,
        ("no noexec", ARENADATA),
    ),
    _check(
        "alignment",
        "alignment of partitions",
        "A partition off the disk's physical blocks makes two requests of one, and read-modify-write of writes.",
        "make the partition anew, beginning at 1 MiB: destroys what is there",
        _alignment,
        ("a multiple of 1 MiB", "parted(8) and fdisk(8), their default"),
    ),
    _check(
        "scheduler",
        "I/O scheduler",
        "Hard disks need their requests sorted; flash does not.",
        "echo mq-deadline > /sys/block/DISK/queue/scheduler (flash: none)",
        _scheduler,
        ("mq-deadline for hard disks, none for NVMe", LINUX),
    ),
    _check(
        "readahead",
        "readahead",
        "Several streams on one arm: the more is read at once, the fewer seeks.",
        "blockdev --setra 2048 /dev/DISK (in sectors of 512 bytes), by a udev rule",
        _readahead,
        (f"{READAHEAD_MIN_KIB} KiB or more for hard disks", ASSAY),
        ("128 KiB", LINUX),
    ),
    _check(
        "max-request",
        "largest request",
        "What is read ahead is cut into requests of this size.",
        "echo 1024 > /sys/block/DISK/queue/max_sectors_kb",
        _request,
        (f"{REQUEST_MIN_KIB} KiB, or what the device can", ASSAY),
        ("1280 KiB", LINUX),
    ),
    _check(
        "write-cache",
        "the drives' write caches",
        "A disk whose cache is off writes at a fraction of its siblings' rate.",
        "hdparm -W1 /dev/DISK (or -W0), alike on all",
        _write_cache,
        ("alike on all disks", ASSAY),
    ),
    _check(
        "smart",
        "health by SMART",
        "A disk that says itself that it fails is slow before it does.",
        "replace it; `smartctl -a /dev/DISK` tells more",
        _smart,
        ("PASSED", "smartmontools, smartctl(8)"),
    ),
    _check(
        "disk-errors",
        "errors of a disk's commands",
        "Commands that are repeated cost seconds each.",
        "look at dmesg, cable and disk",
        _errors,
        ("none beyond the two of its detection", ASSAY),
    ),
    _check(
        "raid",
        "RAID under data",
        "HDFS keeps copies itself; an array is as fast as its slowest disk, and rebuilds disturb for hours.",
        "single disks (JBOD), one directory each",
        _raid,
        ("none for DataNodes", SAMMER),
        ("two HDDs as JBOD", SANDISK),
    ),
    _check(
        "encryption",
        "LUKS and LVM under data",
        "Encryption costs CPU for each byte; volumes can share disks unseen.",
        "know that it is there: it is part of what is measured",
        _luks,
        ("nothing between file system and disk", ASSAY),
    ),
    _check(
        "free-space",
        "free space",
        "A full hard disk is at its slow inner tracks, a full SSD collects garbage, and HDFS stops.",
        "delete or move data",
        _room,
        ("a quarter", ASSAY),
    ),
    _check(
        "free-inodes",
        "free inodes",
        "Without inodes no block file can be made, whatever the room.",
        "delete small files, or mkfs with more inodes",
        _inodes,
        ("5 % at least", ASSAY),
    ),
    _check(
        "slow-disk",
        "a disk slower than its siblings",
        "A job waits for the slowest disk of all.",
        "look at its SMART values, cable, slot; replace it",
        _slow,
        ("at least 85 % of the median of its kind on the host", ASSAY),
    ),
    _check(
        "disk-burden",
        "what uses the disks now",
        "It competes with every run.",
        "see `iotop`; end it, or measure when it is over",
        _burden,
        ("below 5 MB/s", ASSAY),
    ),
)
