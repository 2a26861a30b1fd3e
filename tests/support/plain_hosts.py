"""Present a lab as plain hosts: an unprivileged user, and separate /home, /var/tmp and /opt per host.

Root enters a node by the lab's own key, as its owner does a machine; assay gets only addresses and a login.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.execution.engines.hadoop.deployment.daemons import MASTER_DAEMONS, NAMENODE, WORKER_DAEMONS
from assay.execution.engines.hadoop.deployment.distribution import Distribution
from assay.execution.engines.hadoop.settings.configuration import Deployment, Ports, render
from assay.execution.lab.commands import parallel
from assay.model.clusters.cluster import Address, Cluster, Node, Role
from assay.model.clusters.layout import Directories, Layout
from attached_subject import LAUNCHER
from lab_support import ssh

USER = "alice"
JAVA_HOME = "/opt/java"
"""A Java with the options of a small machine: all hosts run on this one. On real hosts, JVMs have Java's defaults."""
_THEIRS = "theirs"
_STAGING = "/tmp/hadoop-yarn/staging"
_PLAIN = f"""\
set -eu
cd /mnt/system
mkdir -p plain/home/alice plain/home/theirs plain/var-tmp plain/bin plain/opt
chmod 1777 plain/var-tmp
grep -v -e ^alice: -e ^theirs: /etc/passwd > plain/passwd
echo 'alice:x:43210:65534::/home/alice:/bin/sh' >> plain/passwd
echo 'theirs:x:43211:65534::/home/theirs:/bin/sh' >> plain/passwd
grep -v -e ^alice: -e ^theirs: /etc/shadow > plain/shadow
printf '%s:*:19000:0:99999:7:::\n' alice theirs >> plain/shadow
chmod 640 plain/shadow
mount --bind plain/passwd /etc/passwd
mount --bind plain/shadow /etc/shadow
mount --bind plain/home /home
mount --bind plain/var-tmp /var/tmp
mount --bind plain/bin /usr/local/bin
mount --bind plain/opt /opt
chown 43210 /home/alice
chown 43211 /home/theirs
mkdir -p {JAVA_HOME}/bin
printf '#!/bin/sh\\nexec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "$@"\\n' > {JAVA_HOME}/bin/java
chmod 755 {JAVA_HOME}/bin/java
for disk in /mnt/hdd1 /mnt/ssd1; do
  if [ -d $disk ]; then
    mkdir $disk/bench $disk/theirs
    chown 43210 $disk/bench
    chown 43211 $disk/theirs
  fi
done
"""
_OLD_PYTHON = """\
set -eu
mkdir /opt/python
mount --bind {folder} /opt/python
printf '#!/bin/sh\\nLD_LIBRARY_PATH=/opt/python/lib exec /opt/python/bin/{program} "$@"\\n' > /usr/local/bin/python3
chmod 755 /usr/local/bin/python3
"""
_SUDO = """\
set -eu
grep -v '^@' /etc/sudoers > /mnt/system/plain/sudoers
echo 'alice ALL=(root) NOPASSWD: ALL' >> /mnt/system/plain/sudoers
chmod 440 /mnt/system/plain/sudoers
mount --bind /mnt/system/plain/sudoers /etc/sudoers
"""


@dataclass(frozen=True, slots=True)
class PlainHosts:
    """The lab's hosts, by the names of its nodes."""

    cluster: Cluster
    folder: Path

    def node(self, name: str) -> Node:
        return next(node for node in self.cluster.nodes if node.name == name)

    def address(self, name: str) -> Address:
        address = self.node(name).address
        assert address is not None
        return address

    def host(self, name: str) -> str:
        return self.address(name).host

    @property
    def login(self) -> list[str]:
        """The options with which assay enters the hosts."""
        some = self.address(self.cluster.nodes[0].name)
        return ["--user", USER, "--key", str(some.key), "--known-hosts", str(some.known_hosts)]

    def as_root(self, names: Sequence[str], command: str) -> None:
        """Run a shell command as root on each of the hosts."""
        parallel(lambda name: ssh(self.address(name), command, timeout_s=120), names)

    def make_plain(self) -> None:
        self.as_root([node.name for node in self.cluster.nodes], _PLAIN)

    def give_old_python(self, name: str, program: Path) -> None:
        self.as_root([name], _OLD_PYTHON.format(folder=program.parent.parent, program=program.name))

    def allow_sudo(self, names: Sequence[str]) -> None:
        self.as_root(names, _SUDO)


def start_theirs(hosts: PlainHosts, names: Sequence[str], distribution: Distribution) -> None:
    """Start a Hadoop on the hosts as another user would, with its client on each; and make alice's folder in HDFS."""
    nodes = tuple(hosts.node(name) for name in names)
    cluster = Cluster(_THEIRS, hosts.cluster.placement, nodes, hosts.cluster.lab, home="/home/theirs")
    parts = (Directories("ssd1"),)
    settings = {
        "yarn.nodemanager.resource.memory-mb": "2048",
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "dfs.replication": "1",
        "dfs.permissions.enabled": "true",
        "yarn.app.mapreduce.am.staging-dir": _STAGING,
        "mapreduce.jobhistory.intermediate-done-dir": f"{_STAGING}/history/done_intermediate",
        "mapreduce.jobhistory.done-dir": f"{_STAGING}/history/done",
    }
    java = "--add-opens=java.base/java.lang=ALL-UNNAMED"
    marker = "none"
    deployment = Deployment(
        cluster,
        Layout("theirs", parts, parts),
        settings,
        distribution.classpath_at("/opt/hadoop"),
        "java",
        java,
        marker,
        Ports(),
        cluster.hosts,
        "/home/theirs/hadoop",
    )
    launcher = LAUNCHER.format(
        conf="/opt/conf", java="java", options=java, classpath=distribution.classpath_at("/opt/hadoop")
    )
    for node in nodes:
        hosts.as_root([node.name], f"mkdir -p /opt/hadoop /opt/conf; mount --bind {distribution.home} /opt/hadoop")
        files = {f"/opt/conf/{name}": text for name, text in render(deployment, node).items()}
        files["/usr/local/bin/hadoop"] = launcher
        for path, text in files.items():
            ours = text.replace(f"-Dassay.deployment={marker}", "").replace("/assay/theirs/", "/theirs/")
            hosts.as_root([node.name], f"cat > {path} <<'END-OF-FILE'\n{ours}\nEND-OF-FILE")
        hosts.as_root([node.name], "chmod 755 /usr/local/bin/hadoop")
    lead = next(node for node in nodes if Role.MASTER in node.roles)
    _as_theirs(hosts, lead, f"hadoop {NAMENODE} -format -force -nonInteractive >/home/theirs/format.log 2>&1")
    for node in nodes:
        daemons = {**(MASTER_DAEMONS if node is lead else {}), **(WORKER_DAEMONS if Role.WORKER in node.roles else {})}
        for name, main_class in daemons.items():
            log = f"/home/theirs/{name}.log"
            _as_theirs(hosts, node, f"setsid hadoop {main_class} >{log} 2>&1 </dev/null &")
    _await_theirs(hosts.host(lead.name), len([node for node in nodes if Role.WORKER in node.roles]))
    fs = "hadoop org.apache.hadoop.fs.FsShell"
    folders = f"/user/{USER} {_STAGING}/history/done_intermediate"
    _as_theirs(hosts, lead, f"{fs} -mkdir -p {folders} && {fs} -chown {USER} /user/{USER} && {fs} -chmod -R 1777 /tmp")


def _as_theirs(hosts: PlainHosts, node: Node, command: str) -> None:
    hosts.as_root([node.name], f"cd /home/theirs; su theirs -c '{command}'")


def _await_theirs(host: str, workers: int) -> None:
    import time

    deadline, words = time.monotonic() + 90, ""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        try:
            with opener.open(f"http://{host}:9870/jmx?qry=Hadoop:service=NameNode,name=*", timeout=5) as reply:
                beans = {key: value for bean in json.load(reply)["beans"] for key, value in bean.items()}
            with opener.open(f"http://{host}:8088/ws/v1/cluster/metrics", timeout=5) as reply:
                metrics = json.load(reply)["clusterMetrics"]
            if not beans.get("Safemode") and (beans.get("NumLiveDataNodes"), metrics["activeNodes"]) == (workers,) * 2:
                return
            words = (
                f"{beans.get('Safemode')}, {beans.get('NumLiveDataNodes')} DataNodes, {metrics['activeNodes']} nodes"
            )
        except (OSError, ValueError, KeyError) as error:
            words = str(error)
        time.sleep(0.5)
    raise AssertionError(f"their Hadoop did not come up: {words}")
