"""Probe what this machine can emulate: each capability is tried, and missing ones are explained.

Out: a :class:`Capability` for each. A lab needs all required capabilities. If an optional capability is missing, the
lab's facts list the properties that it does not emulate. Trials run in namespaces that end with the trial's process, so
nothing remains even if it is killed.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from assay.execution.lab.cgroups import Controller, find_controllers
from assay.execution.lab.commands import ENVIRONMENT, run
from assay.execution.lab.disks.diskd import FUSE, PROGRAM, find_daemon
from assay.execution.lab.state import state_root
from assay.foundation.errors import LabError

FREE_BYTES_MIN = 2 * 10**9
"""Minimum free space for a lab, in bytes."""
PROBE_IMAGE_BYTES = 16 * 2**20
"""Size of the image with which throttled disks are tried, in bytes."""
# Program to the Debian package that has it.
PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "losetup": "mount",
    "mount": "mount",
    "mkfs.ext4": "e2fsprogs",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
}
DISK_RATES = "disk rates"
DEVICE_MODEL = "device model"
# Controller to its title, what its absence means, and whether it is required.
CONTROLLER_CAPABILITIES = {
    "io": (DISK_RATES, "disks would run at full speed: boot with blkio (version 1) or io (version 2)", True),
    "memory": ("memory limits", "nodes share the machine's memory and page cache", False),
    "cpu": ("CPU shares", "nodes compete for the CPU without shares", False),
    "cpuacct": ("CPU accounting", "there is no CPU trace per node", False),
}
PROBE_MODEL_BYTES = 2**20
"""Size of the image with which the disk daemon is tried, in bytes."""
# Starts the daemon in the background, waits until it is ready, and reads a page. It ends with the namespaces.
PROBE_MODEL_SCRIPT = """\
"$1" "$2" > "$2.log" 2>&1 &
for _ in $(seq 100); do
  grep -qsx ready "$2.log" && exec head -c 4096 "$3/probe" > /dev/null
  kill -0 $! 2> /dev/null || break
  sleep 0.02
done
cat "$2.log" >&2
exit 1"""
IN_NAMESPACES = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-ec"]


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability that a lab uses. ``detail``: the probed value, or what is missing and how to get it."""

    name: str
    ok: bool
    detail: str
    required: bool


@dataclass(frozen=True, slots=True)
class Capabilities:
    """All probed capabilities, in the order in which a lab needs them."""

    items: tuple[Capability, ...]
    controllers: dict[str, Controller]
    """The usable control-group controllers."""
    can_shape_links: bool
    """Whether link rates can be limited."""
    diskd: Path | None = None
    """The program of modelled disks; None if disks can only be throttled."""

    def has(self, name: str) -> bool:
        """Return whether the capability ``name`` was probed and is available."""
        return any(item.name == name and item.ok for item in self.items)

    def detail(self, name: str) -> str:
        """Return the detail of the capability ``name``."""
        return next((item.detail for item in self.items if item.name == name), "not probed")

    @property
    def missing(self) -> tuple[Capability, ...]:
        """Missing required capabilities; empty if a lab can be created."""
        return tuple(item for item in self.items if item.required and not item.ok)

    @property
    def not_emulated(self) -> tuple[str, ...]:
        """Return the properties that a lab does not emulate on this machine."""
        return tuple(f"{item.name}: {item.detail}" for item in self.items if not item.required and not item.ok)


def probe(state: Path | None = None) -> Capabilities:
    """Try every capability of a lab. Without root, report only the missing root, because no trial can run."""
    if os.geteuid() != 0:
        detail = "a lab makes network namespaces, loop devices and mounts: run assay as root, for example with sudo"
        return Capabilities((Capability("root", ok=False, detail=detail, required=True),), {}, can_shape_links=False)
    items = [Capability("root", ok=True, detail="running as root", required=True), _programs()]
    shaping = _shaping()
    if items[-1].ok:
        items += [_namespaces(), _links(), shaping, _loop(state_root(state))]
    daemon = find_daemon()
    model = _device_model(daemon, state_root(state))
    controllers = find_controllers(Path("/proc/self/mountinfo").read_text())
    groups = {
        name: _control_group(controllers.get(name), *description)
        for name, description in CONTROLLER_CAPABILITIES.items()
    }
    if model.ok:  # modelled disks need no limits
        groups["io"] = replace(groups["io"], required=False)
    items += [model, *groups.values(), _dirty_limit(), _space(state_root(state))]
    usable_controllers = {name: controllers[name] for name, group in groups.items() if group.ok}
    return Capabilities(
        tuple(items), usable_controllers, can_shape_links=shaping.ok, diskd=daemon if model.ok else None
    )


def _try_capability(name: str, attempt: Callable[[], str], remedy: str, *, required: bool = True) -> Capability:
    """Run a trial and return its capability. ``attempt`` returns a detail or raises LabError."""
    try:
        return Capability(name, ok=True, detail=attempt(), required=required)
    except (LabError, OSError) as error:
        message = error.message if isinstance(error, LabError) else str(error)
        return Capability(name, ok=False, detail=f"{message}; {remedy}", required=required)


def _programs() -> Capability:
    missing_packages = sorted(
        {package for program, package in PROGRAMS.items() if not shutil.which(program, path=ENVIRONMENT["PATH"])}
    )
    detail = f"not installed: apt-get install {' '.join(missing_packages)}" if missing_packages else ", ".join(PROGRAMS)
    return Capability("programs", ok=not missing_packages, detail=detail, required=True)


def _script(commands: Sequence[str], message: str) -> Callable[[], str]:
    def attempt() -> str:
        run([*IN_NAMESPACES, "\n".join(commands)])
        return message

    return attempt


def _namespaces() -> Capability:
    commands = ["echo probe > /proc/sys/kernel/hostname", "mount -t tmpfs none /mnt"]
    return _try_capability(
        "namespaces",
        _script(commands, "network, mount, host name and pid namespaces"),
        "containers need --privileged for this",
    )


def _links() -> Capability:
    commands = [
        "ip link add switch type bridge",
        "ip link add port type veth peer name end",
        "ip link set port master switch",
    ]
    return _try_capability(
        "links",
        _script(commands, "veth pairs into a bridge"),
        "the kernel needs the modules veth and bridge: modprobe -a veth bridge",
    )


def _shaping() -> Capability:
    commands = [
        "ip link add port type veth peer name end",
        "tc qdisc add dev port root tbf rate 100mbit burst 70000b latency 50ms",
    ]
    remedy = "links run at full speed; the kernel needs the module sch_tbf: modprobe sch_tbf"
    return _try_capability("link rates", _script(commands, "token bucket (tbf)"), remedy, required=False)


@contextmanager
def _scratch(root: Path) -> Iterator[Path]:
    """Yield an empty directory for this process only. Two processes may probe at the same time."""
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"probe-{os.getpid()}-", dir=root) as folder:
        yield Path(folder)


def clear_scratch(root: Path) -> None:
    """Remove the directories of probes whose processes are gone."""
    for folder in root.glob("probe-*-*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _loop(root: Path) -> Capability:
    """Mount a small image through a loop device that detaches when the namespace ends."""

    def attempt() -> str:
        with _scratch(root) as folder:
            image = folder / "image"
            with image.open("wb") as file:
                file.truncate(PROBE_IMAGE_BYTES)
            run(["mkfs.ext4", "-q", str(image)])
            run([*IN_NAMESPACES, f"mount -t ext4 -o loop '{image}' /mnt"])
        return "loop devices with ext4"

    return _try_capability(
        "loop devices",
        attempt,
        "the kernel needs the module loop (modprobe loop); a container needs the device /dev/loop-control",
    )


def _device_model(daemon: Path | None, root: Path) -> Capability:
    """Let the daemon serve a small disk in namespaces that end with the trial."""
    remedy = "disks are throttled instead: seeks and utilisation are not emulated"

    def attempt() -> str:
        if daemon is None:
            raise LabError(f"there is no {PROGRAM} (build it with: cargo build --release in rust/, or set ASSAY_DISKD)")
        if not FUSE.exists():
            raise LabError(f"there is no {FUSE} (modprobe fuse; a container needs it as a device)")
        with _scratch(root) as folder:
            image, mount = folder / "image", folder / "model"
            mount.mkdir()
            image.write_bytes(bytes(PROBE_MODEL_BYTES))
            model = {
                "kind": "ssd",
                "read_bytes_per_s": 1e8,
                "write_bytes_per_s": 1e8,
                "burst_write_bytes_per_s": 1e8,
                "burst_bytes": 0,
                "channels": 1,
                "read_latency_s": 1e-4,
                "write_latency_s": 1e-4,
                "queue_depth": 1,
            }
            disk = {"name": "probe", "image": str(image), "size": PROBE_MODEL_BYTES, "model": model}
            specification = folder / "model.json"
            specification.write_text(json.dumps({"mount": str(mount), "seed": 1, "devices": [disk]}))
            run([*IN_NAMESPACES, PROBE_MODEL_SCRIPT, "sh", str(daemon), str(specification), str(mount)])
        return f"{daemon}"

    return _try_capability(DEVICE_MODEL, attempt, remedy, required=False)


def _control_group(controller: Controller | None, title: str, consequence: str, required: bool) -> Capability:
    if controller is None:
        return Capability(
            title, ok=False, detail=f"no such control-group controller is mounted; {consequence}", required=required
        )
    probe_directory = controller.mount / f"assay-probe-{os.getpid()}"

    def attempt() -> str:
        with suppress(FileExistsError):
            probe_directory.mkdir()
        probe_directory.rmdir()
        return f"control groups version {controller.version} at {controller.mount}"

    return _try_capability(title, attempt, consequence, required=required)


def _dirty_limit() -> Capability:
    devices = sorted(Path("/sys/class/bdi").glob("7:*")) or sorted(Path("/sys/class/bdi").glob("*:*"))
    ok = bool(devices) and (devices[0] / "strict_limit").exists() and (devices[0] / "max_bytes").exists()
    detail = (
        "a limit in bytes per disk"
        if ok
        else ("Linux before 6.2 can't limit a disk's dirty pages below 1 % of memory: short writes appear too fast")
    )
    return Capability("dirty page limits", ok=ok, detail=detail, required=False)


def _space(root: Path) -> Capability:
    existing_directory = next(path for path in (root, *root.parents) if path.exists())
    free_bytes = shutil.disk_usage(existing_directory).free
    detail = f"{free_bytes / 1e9:.0f} GB free below {root}"
    if free_bytes < FREE_BYTES_MIN:
        detail += f"; a lab needs {FREE_BYTES_MIN / 1e9:.0f} GB: free some, or set ASSAY_STATE to another file system"
    return Capability("disk space", ok=free_bytes >= FREE_BYTES_MIN, detail=detail, required=True)
