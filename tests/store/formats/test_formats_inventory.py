"""Test host names from Ansible inventories and Hadoop configuration directories."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from assay.foundation.errors import FormatError
from assay.store.formats.inventory import ListedHost, expanded_names, read_hadoop_hosts, read_inventory
from mutation import mutations

INI = """
# a comment
jump.example.org
[workers]
w[01:03].rack ansible_user=hadoop ansible_port=2222
w9 ansible_host=10.0.0.9 ansible_ssh_private_key_file="~/.ssh/a key"
[workers:vars]
ansible_user = everyone
[all:children]
workers
"""
YAML = """
all:
  vars: {ansible_user: root}
  children:
    data:
      hosts:
        d[1:2]: {ansible_host: 10.0.0.1}
        d3:
"""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_ranges_expand_to_hosts_with_leading_zeros() -> None:
    assert expanded_names("w[08:11].x") == ["w08.x", "w09.x", "w10.x", "w11.x"]
    assert expanded_names("w[1-3]") == ["w1", "w2", "w3"]
    assert expanded_names("r[a:b]-[1:2]") == ["ra-1", "ra-2", "rb-1", "rb-2"]
    assert expanded_names("w[1:9:4]") == ["w1", "w5", "w9"]
    assert expanded_names("w[A:C]") == ["wA", "wB", "wC"]
    assert expanded_names("alice@[2001:db8::1]:22") == ["alice@[2001:db8::1]:22"]
    assert len(expanded_names("r[1:10]n[1:1000]")) == 10_000


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("w[3:1]", "stands for 0 hosts"),
        ("w[c:a]", "stands for 0 hosts"),
        ("w[1:99999999]", "99,999,999 hosts"),
        ("w[1:9999][1:9999]", "99,980,001 hosts"),
        ("w[1:100][1:100][1:100][1:100][1:100]", "10,000,000,000 hosts"),
        ("w[a:3]", "not a range"),
        ("w[a:C]", "not a range"),
        ("w[1:9:0]", "not a range"),
        ("w[1,3]", "not a range"),
        ("w[99999999999999999999:3]", "not a range"),
    ],
)
def test_an_empty_or_too_large_range_is_refused(wrong: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        expanded_names(wrong)


NESTED = """
[hadoop:children]
workers
edge
[hadoop:vars]
ansible_user=alice
ansible_port=2222
ansible_ssh_private_key_file=/keys/hadoop
[site:children]
hadoop
[site:vars]
ansible_user=operator
ansible_ssh_private_key_file=/keys/site
[workers]
w1
w2:2200 ansible_user=bob
[edge]
[2001:db8::7]:24
[edge:vars]
ansible_user=edge
"""


def test_variables_of_a_group_hold_for_the_groups_in_it(tmp_path: Path) -> None:
    assert read_inventory(written(tmp_path, "hosts", NESTED)) == [
        ListedHost("w1", "w1", "alice", 2222, "/keys/hadoop"),
        ListedHost("w2", "w2", "bob", 2222, "/keys/hadoop"),
        ListedHost("2001:db8::7", "2001:db8::7", "edge", 2222, "/keys/hadoop"),
    ]


def test_a_port_in_a_host_s_name_is_its_port(tmp_path: Path) -> None:
    ini = "w1:2200\nw[2:3]:2300\n[2001:db8::7]:24\n2001:db8::8\n"
    ports = [(host.address, host.port) for host in read_inventory(written(tmp_path, "hosts", ini))]
    assert ports == [("w1", 2200), ("w2", 2300), ("w3", 2300), ("2001:db8::7", 24), ("2001:db8::8", None)]
    yaml = "all:\n  hosts:\n    w1:2200:\n    w2: {ansible_port: 22}\n"
    ports = [(host.address, host.port) for host in read_inventory(written(tmp_path, "hosts.yml", yaml))]
    assert ports == [("w1", 2200), ("w2", 22)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("w1 ansible_port=70000\n", "65535"),
        ("w1:70000\n", "65535"),
        ("w1:ssh\n", "not a port"),
        ("[a:children]\nb\n[b:children]\na\n[b]\nw1\n", "may contain itself"),
        ("[a:hosts]\nw1\n", "a section is not"),
        ("w[1:9000]\nx[1:9000]\n", "more than 10,000 hosts"),
    ],
)
def test_an_ambiguous_inventory_is_refused_with_the_reason(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_inventory(written(tmp_path, "hosts", text))


def test_an_ini_inventory_has_hosts_with_their_variables_and_those_of_their_groups(tmp_path: Path) -> None:
    hosts = read_inventory(written(tmp_path, "hosts", INI))
    assert [host.name for host in hosts] == ["jump.example.org", "w01.rack", "w02.rack", "w03.rack", "w9"]
    assert hosts[1] == ListedHost("w01.rack", "w01.rack", "hadoop", 2222, None)
    assert hosts[4] == ListedHost("w9", "10.0.0.9", "everyone", None, "~/.ssh/a key")


def test_a_yaml_inventory_has_hosts_with_their_variables(tmp_path: Path) -> None:
    hosts = read_inventory(written(tmp_path, "hosts.yml", YAML))
    assert [(host.name, host.address, host.user) for host in hosts] == [
        ("d1", "10.0.0.1", "root"),
        ("d2", "10.0.0.1", "root"),
        ("d3", "d3", "root"),
    ]


@pytest.mark.parametrize("text", ["", "[workers]\n", "a: [\n", "w1 ansible_host={{ ip }}\n", "w1 ansible_port=x\n"])
def test_an_invalid_inventory_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    name = "hosts.yml" if text.startswith("a:") else "hosts"
    with pytest.raises(FormatError, match="hosts"):
        read_inventory(written(tmp_path, name, text))


def test_damaged_inventories_end_with_a_message(tmp_path: Path) -> None:
    for text in (INI, YAML):
        for damaged in mutations(text.encode(), count=40):
            path = tmp_path / "damaged.yml"
            path.write_bytes(damaged)
            with contextlib.suppress(FormatError):
                read_inventory(path)


def site(**settings: str) -> str:
    entries = (f"<property><name>{n}</name><value>{v}</value></property>" for n, v in settings.items())
    return f"<configuration>{''.join(entries)}</configuration>"


def test_hadoops_directory_names_masters_and_workers(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(site(**{"fs.defaultFS": "hdfs://bigdata"}))
    (tmp_path / "hdfs-site.xml").write_text(
        site(
            **{
                "dfs.nameservices": "bigdata",
                "dfs.namenode.rpc-address.bigdata.nn1": "m1:8020",
                "dfs.namenode.rpc-address.bigdata.nn2": "m2:8020",
                "dfs.namenode.http-address.bigdata.nn1": "m1:9870",
            }
        )
    )
    (tmp_path / "yarn-site.xml").write_text(site(**{"yarn.resourcemanager.hostname": "m3"}))
    (tmp_path / "workers").write_text("w1\n# none\nw2 # last\n\n")
    hosts = read_hadoop_hosts(tmp_path)
    assert hosts.masters == ("m1", "m2", "m3")
    assert hosts.workers == ("w1", "w2")
    assert hosts.namenode_http == ("m1:9870",)


def test_federation_and_empty_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no Hadoop settings"):
        read_hadoop_hosts(tmp_path)
    (tmp_path / "hdfs-site.xml").write_text(site(**{"dfs.nameservices": "a,b"}))
    with pytest.raises(FormatError, match="federated"):
        read_hadoop_hosts(tmp_path)
