"""Replace the workers of a cluster by machines that a provider rents, for a what-if question.

In: a cluster, and the changes ``worker.type=i4i.2xlarge`` and ``worker.volumes=gp3:1TB:4``. Out: the cluster with
workers as the table of instance types describes them: physical cores, memory, the baseline of the network, and the
instance's local disks, or the network volumes, at their rates with credits. No source states the rates of local disks,
so the changes have to: ``worker.devices.local.read`` and ``worker.devices.local.write``. The speed of a core stays the
speed of the measured workers. ``worker.cpu.credits=60`` states the CPU credits of each worker at the start of the job.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes, parse_byte_rate
from assay.model import Cluster, Device, DeviceKind, Nic, NodeType, Role
from assay.model.clusters.credits import CPU_BASELINES
from assay.model.clusters.instance_type import InstanceType, node_type_name
from assay.model.clusters.volume_type import Volumes
from assay.specs.instances import named_instances, parse_volumes, shipped_instances

WORKER_TYPE, WORKER_VOLUMES = "worker.type", "worker.volumes"
WORKER_CREDITS = "worker.cpu.credits"
CORE_SPEED = "worker.cpu.speed"
LOCAL_DISKS = "local"
"""Name of the device group of an instance's own disks."""
_LOCAL_RATES = tuple(f"worker.devices.{LOCAL_DISKS}.{key}" for key in ("read", "write"))
_CODES = {DeviceKind.HDD: ("HDD", "HD"), DeviceKind.SSD: ("SSD", "SS"), DeviceKind.NVME: ("NVE", "NVE")}
"""Layout code of one device, and the code of several without their number."""


def rented_type(changes: Mapping[str, str]) -> InstanceType | None:
    """Return the instance type that the changes name; None if they name none.

    Raises SpecificationError for an unknown type, and for volumes without a type.
    """
    name = changes.get(WORKER_TYPE)
    if name is None:
        for setting in (WORKER_VOLUMES, WORKER_CREDITS):
            if setting in changes:
                hint = f"--set {WORKER_TYPE}=m7i.2xlarge"
                raise SpecificationError(f"{setting} needs an instance type", where="--set", hint=hint)
        return None
    [instance] = named_instances(list(shipped_instances().values()), (name,))
    return instance


def with_rented_workers(cluster: Cluster, instance: InstanceType, changes: Mapping[str, str]) -> Cluster:
    """Return the cluster with all workers of this type. Raises SpecificationError if a rate is not stated."""
    if instance.network_bits_per_s is None:
        raise SpecificationError(f"no source states the network rate of {instance.name}", where=WORKER_TYPE)
    volumes = parse_volumes(changes[WORKER_VOLUMES], WORKER_VOLUMES) if WORKER_VOLUMES in changes else None
    devices = _disks(instance, changes) if volumes is None else _volumes(instance, volumes)
    worker_type = NodeType(
        name=node_type_name(instance.name),
        cores=instance.cores,
        memory_bytes=instance.memory_bytes,
        devices=tuple(devices),
        nic=Nic(instance.network_bits_per_s),
        cpu_model=f"{instance.processor} {instance.architecture}".strip(),
        cpu_speed=cluster.workers[0].type.cpu_speed,
        credits=instance.credits(volumes, volumes.name if volumes else "", _cpu_credits(instance, changes)),
    )
    nodes = (replace(node, type=worker_type) if Role.WORKER in node.roles else node for node in cluster.nodes)
    return replace(cluster, nodes=tuple(nodes))


def _cpu_credits(instance: InstanceType, changes: Mapping[str, str]) -> float | None:
    """Return the CPU credits that the changes state; None if they state none."""
    text = changes.get(WORKER_CREDITS)
    if text is None:
        return None
    if instance.name not in CPU_BASELINES:
        raise SpecificationError(f"{instance.name} has no CPU credits", where=WORKER_CREDITS)
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text, re.ASCII):
        raise SpecificationError(
            f"{text[:20]!r} is not a number of CPU credits", where=WORKER_CREDITS, hint="such as 60"
        )
    return float(text)


def layout_of_all_disks(cluster: Cluster) -> str:
    """Return the code of the layout that keeps all data on all disks of a worker, which are of one kind."""
    devices: Sequence[Device] = cluster.workers[0].type.devices
    code_of_one, code_of_several = _CODES[devices[0].kind]
    return code_of_one if len(devices) == 1 else f"{code_of_several}{len(devices)}"


def _disks(instance: InstanceType, changes: Mapping[str, str]) -> list[Device]:
    disks = instance.disks
    if disks is None:
        hint = f"add network volumes: --set {WORKER_VOLUMES}=gp3:1TB:4"
        raise SpecificationError(f"{instance.name} has no local disks", where=WORKER_TYPE, hint=hint)
    if any(name not in changes for name in _LOCAL_RATES):
        raise SpecificationError(
            f"no source states the rate of the local disks of {instance.name} "
            f"({disks.count} × {format_bytes(disks.capacity_bytes)} {disks.kind})",
            where=WORKER_TYPE,
            hint="state the rates of one disk: "
            + " ".join(f"--set {name}=RATE" for name in _LOCAL_RATES)
            + "; assay baseline measures them on an instance",
        )
    try:
        read_bytes_per_s, write_bytes_per_s = (parse_byte_rate(changes[name]) for name in _LOCAL_RATES)
    except ValueError as error:
        raise SpecificationError(str(error), where=" and ".join(_LOCAL_RATES)) from error
    return [
        Device(
            f"{LOCAL_DISKS}{number}", disks.kind, read_bytes_per_s, write_bytes_per_s, None, None, disks.capacity_bytes
        )
        for number in range(1, disks.count + 1)
    ]


def _volumes(instance: InstanceType, volumes: Volumes) -> list[Device]:
    bytes_per_s, iops = instance.volume_rate(volumes)
    kind = DeviceKind(volumes.type.kind)
    return [
        Device(f"{volumes.name}{number}", kind, bytes_per_s, bytes_per_s, iops, iops, volumes.capacity_bytes)
        for number in range(1, volumes.count + 1)
    ]
