"""Check a cluster file beyond the format of each value.

In: the parsed file. Out: every contradiction, added to :class:`~assay.specs.document.Problems` with its location.
"""

from collections.abc import Iterator

from assay.foundation.units import Money
from assay.model import DeviceKind, Placement, Role, default_hdd
from assay.specs.cluster_file import (
    FLASH_KEYS,
    HDD_KEYS,
    ClusterFile,
    DeviceGroup,
    DeviceKeys,
    NodeGroup,
    NodeTypeSection,
)
from assay.specs.document import Location, Problems
from assay.specs.fields import COUNT_MAX, NODES_MAX, unknown


def placement_of(file: ClusterFile) -> Placement:
    """Return where the cluster's hosts come from."""
    if file.lab is not None:
        return Placement.LAB
    return Placement.LOCAL if file.local is not None else Placement.SSH


def node_names(name: str, group: NodeGroup) -> list[str]:
    """Return the names of a group's nodes: the group's name for a single node, else with a number from 1."""
    count = len(group.addresses) if group.addresses else group.count or 1
    return [name] if count == 1 else [f"{name}{number}" for number in range(1, count + 1)]


def device_names(name: str, group: DeviceGroup) -> list[str]:
    """Return the names of a group's devices, numbered from 1."""
    return [f"{name}{number}" for number in range(1, group.count + 1)]


def check_cluster(file: ClusterFile, problems: Problems) -> None:
    """Add every contradiction in ``file`` to ``problems``."""
    placement = placement_of(file)
    if file.lab is not None and file.local is not None:
        problems.add(("local",), "lab and local exclude each other; keep one")
    if file.ssh is not None and placement is not Placement.SSH:
        problems.add(("ssh",), f"ssh is for real hosts; {placement.value} needs none")
    for name, group in file.nodes.items():
        if group.type not in file.node_types:
            problems.add(("nodes", name, "type"), unknown("node type", group.type, file.node_types))
        _check_hosts(name, group, file, problems)
    _check_counts(file, problems)
    _check_roles(file, placement, problems)
    _check_attached(file, problems)
    _check_duplicates(file, problems)
    for name, node_type in file.node_types.items():
        needs_directories = name in _worker_types(file) and not _is_simulated(file)
        _check_directories(name, node_type, placement, needs_directories, problems)
        for device, group_of_devices in node_type.devices.items():
            check_device(group_of_devices, ("node_types", name, "devices", device), problems)
    _check_workers_alike(file, problems)
    _check_currency(file, problems)
    _check_networks(file, placement, problems)


def _check_hosts(name: str, group: NodeGroup, file: ClusterFile, problems: Problems) -> None:
    at, placement = ("nodes", name), placement_of(file)
    if placement is not Placement.SSH:
        if group.addresses is not None:
            reason = "a lab makes its own" if placement is Placement.LAB else "local is this machine"
            problems.add((*at, "addresses"), f"addresses are for real hosts; {reason}")
        return
    is_simulated = _is_simulated(file)
    if group.addresses is None and not is_simulated:
        problems.add(at, f"node {name!r} has no addresses; add them, or add a 'lab:' or 'local:' section to the file")
    if group.count is not None and not (is_simulated and group.addresses is None):
        problems.add((*at, "count"), "remove count: the number of addresses sets the number of hosts")


def _check_counts(file: ClusterFile, problems: Problems) -> None:
    """Report too many nodes. Simulations may have more nodes, because a simulated node starts no processes."""
    if not _is_simulated(file):
        for name, group in file.nodes.items():
            if (group.count or 1) > COUNT_MAX:
                problems.add(
                    ("nodes", name, "count"),
                    f"{group.count} is not a whole number from 1 to {COUNT_MAX}; "
                    f"with 'provider: simulated' up to {NODES_MAX} are possible",
                )
        return
    nodes = sum(group.count or 1 for group in file.nodes.values())
    if nodes > NODES_MAX:
        problems.add(("nodes",), f"the file has {nodes} nodes, and a simulated cluster can have at most {NODES_MAX}")


def _is_simulated(file: ClusterFile) -> bool:
    """Return whether the cluster has no hosts. Addresses and directories are then optional."""
    return file.provider == "simulated"


def _check_roles(file: ClusterFile, placement: Placement, problems: Problems) -> None:
    counts = dict.fromkeys(Role, 0)
    for name, group in file.nodes.items():
        for role in Role:
            counts[role] += len(node_names(name, group)) if role in group.roles else 0
    for role, count in counts.items():
        if count == 0:
            problems.add(("nodes",), f"no node has the role {role.value}")
    if counts[Role.MASTER] > 1:
        problems.add(("nodes",), f"{counts[Role.MASTER]} nodes have the role master; exactly one can")
    nodes = sum(len(node_names(name, group)) for name, group in file.nodes.items())
    if placement is Placement.LOCAL and nodes > 1:
        problems.add(("nodes",), f"local is one node with both roles, but the file has {nodes} nodes")


def _check_attached(file: ClusterFile, problems: Problems) -> None:
    if file.provider != "attached":
        if file.attached is not None:
            problems.add(("attached",), "attached is for 'provider: attached'; a deployed engine does not need it")
        for name in (name for name, group in file.nodes.items() if not group.roles):
            message = f"node {name!r} has no role, which only an edge node of an attached cluster may have"
            problems.add(("nodes", name, "roles"), message)
        return
    if file.attached is None:
        message = (
            "provider: attached needs an 'attached' section with 'queue' and 'directory': the YARN queue and the HDFS "
            "folder that assay may use"
        )
        problems.add(("provider",), message)
        return
    nodes = [node for name, group in file.nodes.items() for node in node_names(name, group)]
    if file.attached.edge is not None and file.attached.edge not in nodes:
        problems.add(("attached", "edge"), unknown("node", file.attached.edge, nodes))
    if file.attached.directory.strip("/").count("/") < 1:
        message = "name a folder for assay alone, such as /user/NAME/assay: assay may delete everything below it"
        problems.add(("attached", "directory"), message)


def _check_duplicates(file: ClusterFile, problems: Problems) -> None:
    nodes: list[tuple[Location, str]] = []
    hosts: list[tuple[Location, str]] = []
    for name, group in file.nodes.items():
        at: Location = ("nodes", name)
        nodes += [(at, node) for node in node_names(name, group)]
        hosts += [((*at, "addresses", index), address) for index, address in enumerate(group.addresses or ())]
        _check_distinct([((*at, "roles", i), role) for i, role in enumerate(group.roles)], "role", problems)
    _check_distinct(nodes, "node", problems)
    _check_distinct(hosts, "address", problems)
    for type_name, node_type in file.node_types.items():
        devices: list[tuple[Location, str]] = []
        directories: list[tuple[Location, str]] = []
        for name, section in node_type.devices.items():
            at = ("node_types", type_name, "devices", name)
            devices += [(at, device) for device in device_names(name, section)]
            mounts = enumerate(section.directories or ())
            directories += [((*at, "directories", index), directory.rstrip("/")) for index, directory in mounts]
        _check_distinct(devices, "device", problems)
        _check_distinct(directories, "directory", problems)


def _check_distinct(values: list[tuple[Location, str]], title: str, problems: Problems) -> None:
    earlier_values: set[str] = set()
    for at, value in values:
        if value in earlier_values:
            problems.add(at, f"{title} {value!r} is given twice")
        earlier_values.add(value)


def _worker_types(file: ClusterFile) -> dict[str, NodeTypeSection]:
    names = [group.type for group in file.nodes.values() if Role.WORKER in group.roles]
    return {name: file.node_types[name] for name in names if name in file.node_types}


def _check_directories(
    type_name: str, node_type: NodeTypeSection, placement: Placement, needs_directories: bool, problems: Problems
) -> None:
    for name, group in node_type.devices.items():
        at: Location = ("node_types", type_name, "devices", name)
        if group.directories is None:
            if placement is Placement.SSH and needs_directories:
                problems.add(at, f"device {name!r} needs directories: where each is mounted on the hosts")
        elif placement is Placement.LAB:
            problems.add((*at, "directories"), "directories are for real hosts; a lab mounts its devices itself")
        elif len(group.directories) != group.count:
            message = f"{len(group.directories)} directories for {group.count} devices; write one for each"
            problems.add((*at, "directories"), message)


def _check_networks(file: ClusterFile, placement: Placement, problems: Problems) -> None:
    """Report networks of a single machine, and networks without exactly one distinct address for each node."""
    if file.networks and placement is Placement.LOCAL:
        problems.add(("networks",), "local has one node, so networks do not apply")
    without_addresses = [name for name, network in file.networks.items() if network.addresses is None]
    if placement is Placement.SSH and len(without_addresses) > 1 and not _is_simulated(file):
        names = " and ".join(without_addresses)
        message = f"{names} have the same addresses: give all but one of them separate addresses"
        problems.add(("networks", without_addresses[1]), message)
    for name, network in file.networks.items():
        if network.addresses is None:
            continue
        at: Location = ("networks", name, "addresses")
        if placement is not Placement.SSH:
            problems.add(at, "addresses are for real hosts; a lab's links are shaped to the rate")
            continue
        missing_groups = [group for group in file.nodes if group not in network.addresses]
        if missing_groups:
            names = ", ".join(missing_groups)
            problems.add(at, f"{name}: {names} have no addresses in it; every group of nodes needs them")
        for group, addresses in network.addresses.items():
            if group not in file.nodes:
                problems.add((*at, group), unknown("group of nodes", group, file.nodes))
            elif len(addresses) != len(node_names(group, file.nodes[group])):
                count = len(node_names(group, file.nodes[group]))
                problems.add((*at, group), f"{len(addresses)} addresses for {count} nodes; write one for each")
        entries = [((*at, group), address) for group, addresses in network.addresses.items() for address in addresses]
        _check_distinct(entries, "address", problems)


def check_device(group: DeviceKeys, at: Location, problems: Problems) -> None:
    """Report keys of the other kind of device, and values that contradict each other."""
    is_hdd = group.kind == DeviceKind.HDD
    keys, foreign_keys = (HDD_KEYS, FLASH_KEYS) if is_hdd else (FLASH_KEYS, HDD_KEYS)
    for key in foreign_keys:
        if getattr(group, key) is not None:
            message = f"{key} is not for kind {group.kind}, which has {', '.join(keys)} and queue_depth"
            problems.add((*at, key), message)
    seek_track_s = group.seek_track or default_hdd().seek_track_s
    if is_hdd and group.seek_full is not None and group.seek_full < seek_track_s:
        problems.add((*at, "seek_full"), f"the longest seek is shorter than the shortest, {seek_track_s * 1000:g}ms")
    for key, required_key in (("burst", "burst_write"), ("burst_write", "burst")):
        if getattr(group, key) is not None and getattr(group, required_key) is None:
            problems.add((*at, key), f"{key} needs {required_key}, too")
    if group.burst_write is not None and group.burst_write < group.write:
        problems.add((*at, "burst_write"), "the burst rate is below the sustained rate, write")


def _check_workers_alike(file: ClusterFile, problems: Problems) -> None:
    workers = _worker_types(file)
    shapes: dict[str, list[tuple[str, str, int]]] = {}
    for name, node_type in workers.items():
        shapes[name] = [(device, group.kind, group.count) for device, group in node_type.devices.items()]
        if not shapes[name]:
            problems.add(("node_types", name), f"node type {name!r} is used by workers and needs devices")
    first_name = next(iter(shapes), "")
    for name, shape in shapes.items():
        if shape != shapes[first_name]:
            message = f"workers' devices must be alike, but {name!r} differs from {first_name!r} in name, kind or count"
            problems.add(("node_types", name, "devices"), message)


def _check_currency(file: ClusterFile, problems: Problems) -> None:
    currency: str | None = None
    for at, price in _prices(file):
        currency = currency or price.currency
        if price.currency != currency:
            problems.add(at, f"{price} is in {price.currency}, other prices of this file are in {currency}")


def _prices(file: ClusterFile) -> Iterator[tuple[Location, Money]]:
    for name, node_type in file.node_types.items():
        at: Location = ("node_types", name)
        if node_type.price:
            yield (*at, "price"), node_type.price
        if node_type.nic.price:
            yield (*at, "nic", "price"), node_type.nic.price
        for device, group in node_type.devices.items():
            if group.price:
                yield (*at, "devices", device, "price"), group.price
