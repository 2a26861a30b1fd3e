"""Test cluster files: contents and error messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_money
from assay.model.clusters.cluster import Address, DeviceKind, Disks, LabSettings, Placement, Role
from assay.model.clusters.device_model import SEEK_MEAN_SHARE, FlashModel, default_flash
from assay.specs import load_cluster

LAB = """\
cluster: mine
lab: {scale: 1/20}
node_types:
  worker:
    cores: 6
    memory: 16GB
    nic: {rate: 10Gbit/s, price: $50}
    price: $2000
    devices:
      hdd: {kind: hdd, count: 2, read: 120MB/s, write: 110MB/s, iops: 120, capacity: 500GB, price: $100}
      ssd: {kind: ssd, read: 500MB/s, write: 460MB/s, read_iops: 70000, write_iops: 14000, capacity: 480GB}
nodes:
  master: {type: worker, roles: [master]}
  worker: {type: worker, roles: [worker], count: 3}
"""
SSH = """\
cluster: real
node_types:
  head: {cores: 4, memory: 8GiB, nic: 1Gbit/s}
  data:
    cores: 8
    memory: 64GiB
    nic: 1Gbit/s
    devices:
      hdd: {kind: hdd, count: 2, read: 120MB/s, write: 120MB/s, capacity: 1TB, directories: [/data1, /data2/]}
nodes:
  head: {type: head, roles: [master], addresses: [10.0.0.10]}
  data: {type: data, roles: [worker], addresses: [10.0.0.11, 10.0.0.12]}
ssh: {user: hadoop, port: 2222, key: keys/id, known_hosts: /etc/known_hosts}
home: /opt/assay
java_home: /usr/lib/jvm/java-17
"""
LOCAL = """\
cluster: here
local: {}
node_types:
  machine:
    cores: 2
    memory: 8GB
    nic: 10Gbit/s
    devices:
      ssd: {kind: ssd, read: 500MB/s, write: 460MB/s, capacity: 100GB}
nodes:
  node: {type: machine, roles: [master, worker]}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "cluster.yaml"
    file.write_text(text)
    return file


def refusal(folder: Path, text: str) -> list[str]:
    """Return the error's lines without the folder, such as ``cluster.yaml:3: ...``."""
    with pytest.raises(SpecificationError) as caught:
        load_cluster(write(folder, text))
    return str(caught.value).replace(f"{folder}/", "").split("\n")


def test_a_lab_cluster_has_numbered_nodes_and_devices_in_base_units(tmp_path: Path) -> None:
    cluster = load_cluster(write(tmp_path, LAB))
    assert cluster.placement is Placement.LAB
    assert cluster.lab is not None
    assert cluster.scale == 0.05
    assert cluster.lab.memory_floor_bytes == 1_610_612_736
    assert [node.name for node in cluster.nodes] == ["master", "worker1", "worker2", "worker3"]
    assert cluster.master.roles == {Role.MASTER}
    assert all(node.address is None for node in cluster.nodes)
    node_type = cluster.workers[0].type
    assert [device.name for device in node_type.devices] == ["hdd1", "hdd2", "ssd1"]
    assert (node_type.cores, node_type.memory_bytes, node_type.price) == (6, 16_000_000_000, parse_money("$2000"))
    assert (node_type.nic.rate_bits_per_s, node_type.nic.price) == (1e10, parse_money("$50"))
    hdd, _, ssd = node_type.devices
    assert (hdd.kind, hdd.read_bytes_per_s, hdd.write_bytes_per_s) == (DeviceKind.HDD, 120e6, 110e6)
    assert (hdd.read_iops, hdd.write_iops, hdd.price) == (120, 120, parse_money("$100"))
    assert (ssd.read_iops, ssd.write_iops, ssd.capacity_bytes) == (70_000, 14_000, 480_000_000_000)
    assert hdd.directory is None


def test_real_hosts_have_addresses_and_mounted_devices(tmp_path: Path) -> None:
    cluster = load_cluster(write(tmp_path, SSH))
    assert cluster.placement is Placement.SSH
    assert cluster.lab is None
    assert (cluster.home, cluster.java_home, cluster.hadoop_home) == ("/opt/assay", "/usr/lib/jvm/java-17", None)
    key = str(tmp_path / "keys/id")
    assert cluster.master.name == "head", "a group of one host keeps its name"
    assert cluster.workers[1].name == "data2"
    assert cluster.workers[1].address == Address("10.0.0.12", 2222, "hadoop", key, "/etc/known_hosts")
    assert [device.directory for device in cluster.workers[0].type.devices] == ["/data1", "/data2"]
    assert cluster.workers[0].type.devices[0].read_iops is None


def test_a_key_in_the_home_directory_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    cluster = load_cluster(write(tmp_path, SSH.replace("keys/id", "~/.ssh/id_ed25519")))
    assert cluster.master.address is not None
    assert cluster.master.address.key == "/home/somebody/.ssh/id_ed25519"


def test_this_machine_is_one_node_with_both_roles_and_directories_under_home(tmp_path: Path) -> None:
    cluster = load_cluster(write(tmp_path, LOCAL + "home: /srv/assay/\n"))
    assert cluster.placement is Placement.LOCAL
    (node,) = cluster.nodes
    assert node.name == "node"
    assert node.roles == {Role.MASTER, Role.WORKER}
    assert node.address is None
    assert node.type.devices[0].directory == "/srv/assay/devices/ssd1"


MISTAKES = [
    (LAB, "cores: 6", "cores: six", "cluster.yaml:5: cores: 'six' is not a whole number from 1 to 1000"),
    (LAB, "    memory: 16GB\n", "", "cluster.yaml:4: key 'memory' is missing in 'worker'"),
    (
        LAB,
        "    memory:",
        "    memroy:",
        "cluster.yaml:6: unknown key 'memroy'; did you mean 'memory'? valid: cores, memory, nic, devices, price, cpu",
    ),
    (LAB, "16GB", "16", 'cluster.yaml:6: memory: \'16\' is not a size; write "64GB", "128MiB" or "512B"'),
    (
        LAB,
        "120MB/s",
        "120Mbit/s",
        'cluster.yaml:10: read: \'120Mbit/s\' is not a bandwidth; write "120MB/s" or "1.2GB/s"',
    ),
    (
        LAB,
        "{rate: 10Gbit/s, price: $50}",
        "fast",
        'cluster.yaml:7: nic: \'fast\' is not a link rate; write "1Gbit/s", "25GbE" or "100Mbit/s"',
    ),
    (
        LAB,
        "price: $2000",
        "price: 2000",
        'cluster.yaml:8: price: \'2000\' has no currency; write "$400", "€12.50", "400 CHF" or "$100k"',
    ),
    (
        LAB,
        "kind: hdd",
        "kind: hhd",
        "cluster.yaml:10: kind: unknown device kind 'hhd'; did you mean 'hdd'? valid: hdd, ssd, nvme",
    ),
    (
        LAB,
        "iops: 120,",
        "iops: 120, read_iops: 100,",
        "cluster.yaml:10: hdd: iops sets read_iops and write_iops; write either iops or those two",
    ),
    (LAB, "price: $100", "price: €100", "cluster.yaml:10: €100 is in EUR, other prices of this file are in USD"),
    (LAB, "scale: 1/20", "scale: 2", 'cluster.yaml:2: scale: \'2\' is not a scale; write "1/20", or "1" for full size'),
    (
        LAB,
        "scale: 1/20",
        "scale: 1/5000",
        "cluster.yaml:2: scale: '1/5000' is too small a scale; the smallest is 1/1000",
    ),
    (LAB, "lab: {scale: 1/20}", "lab: {}", "cluster.yaml:2: key 'scale' is missing in 'lab'"),
    (
        LAB,
        "master: {type: worker",
        "master: {type: wroker",
        "cluster.yaml:13: unknown node type 'wroker'; did you mean 'worker'? valid: worker",
    ),
    (LAB, "roles: [worker]", "roles: [slave]", "cluster.yaml:14: roles: unknown role 'slave'; valid: master, worker"),
    (LAB, "roles: [worker]", "roles: [worker, worker]", "cluster.yaml:14: role 'worker' is given twice"),
    (LAB, "roles: [worker]", "roles: []", "cluster.yaml:12: no node has the role worker"),
    (LAB, "roles: [worker]", "roles: worker", "cluster.yaml:14: roles: a list is expected here, such as [a, b]"),
    (
        LAB,
        "count: 3",
        "count: 1001",
        "cluster.yaml:14: 1001 is not a whole number from 1 to 1000; "
        "with 'provider: simulated' up to 100000 are possible",
    ),
    (LAB, "count: 3", "count: 100001", "cluster.yaml:14: count: '100001' is not a whole number from 1 to 100000"),
    (LAB, "count: 3", "addresses: [10.0.0.1]", "cluster.yaml:14: addresses are for real hosts; a lab makes its own"),
    (LAB, "roles: [master]", "roles: [worker]", "cluster.yaml:12: no node has the role master"),
    (
        LAB,
        "roles: [master]",
        "roles: [master], count: 2",
        "cluster.yaml:12: 2 nodes have the role master; exactly one can",
    ),
    (LAB, "roles: [worker]", "roles: [master]", "cluster.yaml:12: no node has the role worker"),
    (LAB, "  master: {", "  worker2: {", "cluster.yaml:14: node 'worker2' is given twice"),
    (
        LAB,
        "  master: {",
        "  Master: {",
        "cluster.yaml:13: Master: 'Master' is not a name; "
        "use at most 30 lower-case letters, digits and hyphens, a letter first",
    ),
    (
        LAB,
        "capacity: 480GB",
        "capacity: 480GB, directories: [/x]",
        "cluster.yaml:11: directories are for real hosts; a lab mounts its devices itself",
    ),
    (
        LAB,
        "  worker: {type: worker, roles: [worker], count: 3}",
        "  worker: three",
        "cluster.yaml:14: worker: keys with values are expected here; valid: type, roles, count, addresses",
    ),
    (
        LAB,
        "lab: {scale: 1/20}",
        "lab: {scale: 1/20}\nlocal: {}",
        "cluster.yaml:3: lab and local exclude each other; keep one",
    ),
    (LAB, "lab: {scale: 1/20}", "lab: {scale: 1/20}\nssh: {}", "cluster.yaml:3: ssh is for real hosts; lab needs none"),
    (LAB, "lab: {scale: 1/20}", "local: {here: 1}", "cluster.yaml:2: unknown key 'here'; valid: none"),
    (
        SSH,
        ", directories: [/data1, /data2/]",
        "",
        "cluster.yaml:9: device 'hdd' needs directories: where each is mounted on the hosts",
    ),
    (SSH, "[/data1, /data2/]", "[/data1]", "cluster.yaml:9: 1 directories for 2 devices; write one for each"),
    (SSH, "[/data1, /data2/]", "[/data1, /data1/]", "cluster.yaml:9: directory '/data1' is given twice"),
    (
        SSH,
        "[/data1, /data2/]",
        "[/data1, data2]",
        "cluster.yaml:9: directories: 'data2' is not a directory; "
        "write an absolute path without spaces, commas and colons",
    ),
    (SSH, "10.0.0.12", "10.0.0.10", "cluster.yaml:12: address '10.0.0.10' is given twice"),
    (
        SSH,
        ", addresses: [10.0.0.10]",
        "",
        "cluster.yaml:11: node 'head' has no addresses; add them, or add a 'lab:' or 'local:' section to the file",
    ),
    (
        SSH,
        "addresses: [10.0.0.10]",
        "addresses: [10.0.0.10], count: 1",
        "cluster.yaml:11: remove count: the number of addresses sets the number of hosts",
    ),
    (SSH, "type: data,", "type: head,", "cluster.yaml:3: node type 'head' is used by workers and needs devices"),
    (SSH, "port: 2222", "port: 70000", "cluster.yaml:13: port: '70000' is not a whole number from 1 to 65535"),
    (
        LAB,
        "scale: 1/20",
        "scale: 1/20, disks: modelled",
        "cluster.yaml:2: disks: unknown way of emulating disks 'modelled'; "
        "did you mean 'model'? valid: model, throttle",
    ),
    (
        LAB,
        "kind: ssd,",
        "kind: ssd, rpm: 7200,",
        "cluster.yaml:11: rpm is not for kind ssd, which has channels, "
        "read_latency, write_latency, burst, burst_write and queue_depth",
    ),
    (
        LAB,
        "kind: hdd,",
        "kind: hdd, read_latency: 90us,",
        "cluster.yaml:10: read_latency is not for kind hdd, which has inner_share, seek_track, seek_full, rpm, "
        "write_cache and queue_depth",
    ),
    (
        LAB,
        "kind: hdd,",
        "kind: hdd, seek_track: 2ms, seek_full: 1ms,",
        "cluster.yaml:10: the longest seek is shorter than the shortest, 2ms",
    ),
    (
        LAB,
        "kind: hdd,",
        "kind: hdd, seek_full: 14,",
        'cluster.yaml:10: seek_full: \'14\' is not a latency; write "8.5ms" or "90us"',
    ),
    (
        LAB,
        "kind: hdd,",
        "kind: hdd, seek_full: 14s,",
        "cluster.yaml:10: seek_full: '14s' is too long for a disk; the longest is 1s",
    ),
    (
        LAB,
        "kind: hdd,",
        "kind: hdd, inner_share: 155%,",
        "cluster.yaml:10: inner_share: '155%' is not a share from 1 to 100; write 55%",
    ),
    (LAB, "kind: ssd,", "kind: ssd, burst: 20GB,", "cluster.yaml:11: burst needs burst_write, too"),
    (
        LAB,
        "kind: ssd,",
        "kind: ssd, burst: 20GB, burst_write: 400MB/s,",
        "cluster.yaml:11: the burst rate is below the sustained rate, write",
    ),
    (
        LOCAL,
        "worker]}",
        "worker]}\n  other: {type: machine, roles: [worker]}",
        "cluster.yaml:10: local is one node with both roles, but the file has 2 nodes",
    ),
    (
        LAB,
        "  worker: {type: worker, roles: [worker], count: 3}",
        "  worker: {type: worker, roles: [worker], count: 3}\n  other: {type: worker, roles: []}",
        "cluster.yaml:15: node 'other' has no role, which only an edge node of an attached cluster may have",
    ),
]


@pytest.mark.parametrize(("text", "old", "new", "expected"), MISTAKES, ids=[case[3][13:60] for case in MISTAKES])
def test_a_mistake_is_named_with_file_line_and_choices(
    tmp_path: Path, text: str, old: str, new: str, expected: str
) -> None:
    assert old in text
    assert expected in refusal(tmp_path, text.replace(old, new, 1))


def test_a_device_model_has_the_stated_figures_and_defaults_for_the_rest(tmp_path: Path) -> None:
    text = LAB.replace("kind: hdd,", "kind: hdd, rpm: 5400, inner_share: 45%, write_cache: 64MB,").replace(
        "kind: ssd,", "kind: ssd, read_latency: 90us, burst: 20GB, burst_write: 500MB/s, channels: 4,"
    )
    hdd, _, ssd = load_cluster(write(tmp_path, text)).workers[0].type.devices
    model = hdd.hdd_model
    assert (model.rpm, model.inner_share, model.write_cache_bytes) == (5400, 0.45, 64 * 10**6)
    seek_mean_s = model.seek_track_s + (model.seek_full_s - model.seek_track_s) * SEEK_MEAN_SHARE
    assert 1 / (seek_mean_s + model.half_turn_s) == pytest.approx(120)  # the stated requests per second
    assert ssd.flash_model == FlashModel(4, pytest.approx(90e-6), 50e-6, 500e6, 20 * 10**9)  # type: ignore[arg-type]
    plain, _, flash = load_cluster(write(tmp_path, LAB)).workers[0].type.devices
    assert (plain.hdd, flash.flash) == (None, None)
    assert plain.hdd_model.write_cache_bytes == 0
    assert flash.flash_model == default_flash(nvme=False)
    off = load_cluster(write(tmp_path, LAB.replace("kind: hdd,", "kind: hdd, write_cache: 0, seek_full: 20ms,")))
    assert off.workers[0].type.devices[0].hdd_model.seek_full_s == 0.02


def test_a_lab_file_names_the_disk_emulator_or_the_machine_determines_it(tmp_path: Path) -> None:
    assert load_cluster(write(tmp_path, LAB)).lab == LabSettings(1 / 20, 3 * 2**29, None)
    throttled = load_cluster(write(tmp_path, LAB.replace("1/20", "1/20, disks: throttle"))).lab
    assert throttled == LabSettings(1 / 20, 3 * 2**29, Disks.THROTTLE)


def test_all_mistakes_of_a_file_are_reported_in_the_order_of_its_lines(tmp_path: Path) -> None:
    text = LAB.replace("cores: 6", "cores: 0").replace("16GB", "much").replace("count: 3", "cuont: 3")
    lines = refusal(tmp_path, text)
    assert [line.split(": ")[0] for line in lines] == ["cluster.yaml:5", "cluster.yaml:6", "cluster.yaml:14"]


def test_workers_of_two_types_must_have_the_same_devices(tmp_path: Path) -> None:
    device = "{kind: hdd, read: 1MB/s, write: 1MB/s, capacity: 1GB}"
    second = f"  other: {{cores: 1, memory: 1GB, nic: 1Gbit/s, devices: {{hdd: {device}}}}}\n"
    text = LAB.replace("nodes:\n", f"{second}nodes:\n") + "  other: {type: other, roles: [worker]}\n"
    (line,) = refusal(tmp_path, text)
    assert (
        line
        == "cluster.yaml:12: workers' devices must be alike, but 'other' differs from 'worker' in name, kind or count"
    )


def test_a_simulated_cluster_has_up_to_a_hundred_thousand_nodes(tmp_path: Path) -> None:
    simulated = LAB.replace("lab: {scale: 1/20}", "provider: simulated")
    path = tmp_path / "cluster.yaml"
    path.write_text(simulated.replace("count: 3", "count: 99999"))
    cluster = load_cluster(path)
    assert len(cluster.workers) == 99_999
    assert cluster.workers[-1].name == "worker99999"
    path.write_text(simulated.replace("count: 3", "count: 100000"))
    with pytest.raises(SpecificationError, match="has 100001 nodes, and a simulated cluster can have at most 100000"):
        load_cluster(path)
