"""Make a small cluster and its deployment for tests that render configuration."""

from __future__ import annotations

from assay.execution.engines.hadoop.settings.configuration import Deployment, Ports
from assay.model.clusters.cluster import Cluster, Device, DeviceKind, Nic, Node, NodeType, Placement, Role
from assay.model.clusters.layout import Directories, Layout


def device_of(name: str, kind: DeviceKind) -> Device:
    return Device(name, kind, 1e8, 1e8, 120, 120, 10**9, directory=f"/mnt/{name}")


TYPE = NodeType(
    "worker",
    4,
    2**31,
    (device_of("hdd1", DeviceKind.HDD), device_of("hdd2", DeviceKind.HDD), device_of("ssd1", DeviceKind.SSD)),
    Nic(1e9),
)
CLUSTER = Cluster(
    "test",
    Placement.LAB,
    (
        Node("master", TYPE, frozenset({Role.MASTER})),
        Node("worker1", TYPE, frozenset({Role.WORKER})),
        Node("worker2", TYPE, frozenset({Role.WORKER})),
    ),
    home="/mnt/system/assay",
)
HYBRID = Layout("HS2", (Directories("hdd1"), Directories("hdd2")), (Directories("ssd1", 3),))


def deployment(**parameters: str) -> Deployment:
    return Deployment(
        cluster=CLUSTER,
        layout=HYBRID,
        parameters=parameters,
        classpath="/opt/hadoop/lib/*",
        java="java",
        java_options="--add-opens=java.base/java.lang=ALL-UNNAMED",
        marker="abc123",
        ports=Ports(),
        hosts={node.name: node.name for node in CLUSTER.nodes},
        home="/mnt/system/assay/deployments",
    )
