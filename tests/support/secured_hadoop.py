"""Run a secured Hadoop on this machine: a KDC, HDFS with HTTPS and encrypted transfer, YARN with SPNEGO.

Secrets are random for each test, and listed in :attr:`Secured.planted`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from assay.execution.engines.hadoop.deployment.distribution import Distribution, find
from attached_subject import LAUNCHER
from hosts_support import free_port
from paths import ARCHIVED_JAVA

REALM = "ASSAY.TEST"
DAEMONS = {
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
}
_KRB5 = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  localhost = {realm}
"""
_KDC = """\
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    supported_enctypes = aes256-cts:normal
  }}
"""


@dataclass(frozen=True, slots=True)
class Secured:
    """A secured Hadoop: its folder, secrets and daemons. ``environment`` lets Kerberos' programs find the KDC."""

    folder: Path
    environment: Mapping[str, str]
    planted: tuple[bytes, ...]
    """Secrets that no output may contain: passwords, and the keys of keytabs."""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    """Its daemons by name."""

    @property
    def client(self) -> Path:
        return self.folder / "client"

    @property
    def authorities(self) -> Path:
        return self.folder / "ca.pem"

    def keytab(self, name: str) -> Path:
        return self.folder / f"{name}.keytab"

    def kinit(self, name: str, cache: str, *options: str) -> None:
        """Put a ticket of a user into a cache."""
        command = ["kinit", *options, "-k", "-t", str(self.keytab(name)), "-c", cache, name]
        subprocess.run(command, check=True, env={**os.environ, **self.environment}, capture_output=True)

    def start(self, *names: str) -> None:
        """Start daemons."""
        for name in names:
            with (self.folder / f"{name}.log").open("ab") as log:
                command = [str(self.client), DAEMONS[name]]
                environment = {**os.environ, **self.environment, "JAVA_HOME": str(ARCHIVED_JAVA)}
                self.running[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def kill(self, *names: str) -> None:
        """Kill daemons."""
        for name in names:
            self.running[name].kill()
            self.running.pop(name).wait(15)

    def hadoop(self, *words: str) -> None:
        """Run a command of Hadoop's as its superuser."""
        self.kinit("hadoop/localhost", f"FILE:{self.folder}/super")
        environment = {**os.environ, **self.environment, "KRB5CCNAME": f"FILE:{self.folder}/super"}
        subprocess.run([str(self.client), *words], check=True, env=environment, capture_output=True, timeout=120)


@contextlib.contextmanager
def secured_hadoop(folder: Path) -> Iterator[Secured]:
    """Run it until the block ends; skip the test where this machine cannot run it."""
    for program in ("krb5kdc", "kinit", "kadmin.local", "curl", "openssl", "keytool"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            pytest.skip(f"there is no {program} here: a secured cluster is NOT tested")
    distribution = find()
    if distribution is None:
        pytest.skip("there is no Hadoop here: `assay hadoop fetch`")
    folder.mkdir(parents=True, exist_ok=True)
    processes: list[subprocess.Popen[bytes]] = []
    made: Secured | None = None
    try:
        made = _kdc(folder, processes)
        values = _settings(made)
        for name, text in _files(made, values).items():
            (folder / "conf" / name).write_text(text)
        _launcher(made, distribution)
        _start(made, values)
        yield made
    finally:
        daemons = list(made.running.values()) if made else []
        for process in reversed([*processes, *daemons]):  # a NodeManager ends its containers on SIGTERM
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            process.wait(5)


def _kdc(folder: Path, processes: list[subprocess.Popen[bytes]]) -> Secured:
    port, password = free_port(), secrets.token_hex(12)
    (folder / "conf").mkdir()
    (folder / "krb5.conf").write_text(_KRB5.format(realm=REALM, port=port))
    (folder / "kdc.conf").write_text(_KDC.format(realm=REALM, port=port, folder=folder))
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    environment = {"KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(folder / "kdc.conf"), "PATH": path}
    variables = {**os.environ, **environment}
    command = ["kdb5_util", "create", "-s", "-r", REALM, "-P", password]
    subprocess.run(command, check=True, env=variables, capture_output=True)
    lines = []
    for name in ("hadoop/localhost", "HTTP/localhost", "alice"):
        lines += [f"addprinc -randkey {name}", f"ktadd -k {folder}/{name}.keytab {name}"]
        (folder / f"{name}.keytab").parent.mkdir(exist_ok=True)
    lines.append(f"ktadd -k {folder}/hadoop/localhost.keytab -norandkey HTTP/localhost")
    subprocess.run(["kadmin.local"], input="\n".join(lines).encode(), check=True, env=variables, capture_output=True)
    with (folder / "kdc.log").open("wb") as log:
        processes.append(subprocess.Popen(["krb5kdc", "-n"], env=variables, stdout=log, stderr=log))
    _await(port, processes[-1], folder / "kdc.log")
    store = secrets.token_hex(12)
    keys = tuple((folder / f"{name}.keytab").read_bytes()[-36:-4] for name in ("alice", "HTTP/localhost"))
    (folder / "secret").write_text(secrets.token_hex(16))
    planted = (password.encode(), store.encode(), b"planted" + secrets.token_hex(8).encode(), *keys)
    _certificates(folder, store)
    return Secured(folder, environment, planted)


def _certificates(folder: Path, password: str) -> None:
    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=folder)

    ec = ("-newkey", "rsa:2048", "-nodes")
    run("openssl", "req", "-x509", *ec, "-subj", "/CN=our own", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2")
    run("openssl", "req", *ec, "-subj", "/CN=localhost", "-keyout", "host.key", "-out", "host.csr")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    run("openssl", "x509", "-req", "-in", "host.csr", *signing, "-out", "host.pem")
    store = ("-out", "host.p12", "-name", "host", "-passout", f"pass:{password}")
    run("openssl", "pkcs12", "-export", "-in", "host.pem", "-inkey", "host.key", *store)
    trust = ("-keystore", "trust.p12", "-storetype", "PKCS12", "-storepass", password, "-alias", "ca", "-noprompt")
    run("keytool", "-importcert", "-file", "ca.pem", *trust)


def _settings(made: Secured) -> dict[str, str]:
    folder = made.folder
    keytab = str(folder / "hadoop" / "localhost.keytab")
    names = (
        "rpc",
        "nn",
        "dn",
        "dnhttp",
        "dnipc",
        "rm",
        "sched",
        "track",
        "admin",
        "rmweb",
        "nmweb",
        "local",
        "shuffle",
    )
    port = dict(zip(names, _ports(len(names)), strict=True))
    principal, web = f"hadoop/localhost@{REALM}", f"HTTP/localhost@{REALM}"
    values = {
        "fs.defaultFS": f"hdfs://localhost:{port['rpc']}",
        "hadoop.tmp.dir": f"{folder}/tmp",
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": web,
        "hadoop.http.authentication.kerberos.keytab": keytab,
        "hadoop.http.authentication.signature.secret.file": f"{folder}/secret",
        "fs.s3a.secret.key": made.planted[2].decode(),
        "dfs.replication": "1",
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.data.transfer.protection": "privacy",
        "dfs.block.access.token.enable": "true",
        "dfs.web.authentication.kerberos.principal": web,
        "dfs.web.authentication.kerberos.keytab": keytab,
        "dfs.namenode.https-address": f"localhost:{port['nn']}",
        "dfs.datanode.address": f"localhost:{port['dn']}",
        "dfs.datanode.https.address": f"localhost:{port['dnhttp']}",
        "dfs.datanode.ipc.address": f"localhost:{port['dnipc']}",
        "dfs.datanode.hostname": "localhost",
        "dfs.namenode.safemode.min.datanodes": "1",
        "yarn.resourcemanager.hostname": "localhost",
        "yarn.resourcemanager.address": f"localhost:{port['rm']}",
        "yarn.resourcemanager.scheduler.address": f"localhost:{port['sched']}",
        "yarn.resourcemanager.resource-tracker.address": f"localhost:{port['track']}",
        "yarn.resourcemanager.admin.address": f"localhost:{port['admin']}",
        "yarn.resourcemanager.webapp.address": f"localhost:{port['rmweb']}",
        "yarn.resourcemanager.webapp.spnego-principal": web,
        "yarn.resourcemanager.webapp.spnego-keytab-file": keytab,
        "yarn.nodemanager.hostname": "localhost",
        "yarn.nodemanager.address": "localhost:0",
        "yarn.nodemanager.webapp.address": f"localhost:{port['nmweb']}",
        "yarn.nodemanager.localizer.address": f"localhost:{port['local']}",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.resource.memory-mb": "3072",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.nodemanager.local-dirs": f"{folder}/local",
        "yarn.nodemanager.log-dirs": f"{folder}/containers",
        "mapreduce.framework.name": "yarn",
        "mapreduce.shuffle.port": str(port["shuffle"]),
        "mapreduce.map.memory.mb": "512",
        "mapreduce.map.java.opts": f"-Xmx256m -Djava.security.krb5.conf={folder}/krb5.conf",
        "yarn.app.mapreduce.am.resource.mb": "768",
        "yarn.app.mapreduce.am.command-opts": f"-Xmx384m -Djava.security.krb5.conf={folder}/krb5.conf",
    }
    for daemon in ("dfs.namenode.kerberos", "dfs.datanode.kerberos"):
        values[f"{daemon}.principal"] = principal
    values |= {"dfs.namenode.keytab.file": keytab, "dfs.datanode.keytab.file": keytab}
    for daemon in ("resourcemanager", "nodemanager"):
        values |= {f"yarn.{daemon}.principal": principal, f"yarn.{daemon}.keytab": keytab}
    return values


def _ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for listener in held:
        listener.bind(("127.0.0.1", 0))
    ports = [int(listener.getsockname()[1]) for listener in held]
    for listener in held:
        listener.close()
    return ports


def _files(made: Secured, values: Mapping[str, str]) -> dict[str, str]:
    password, folder = made.planted[1].decode(), made.folder
    server = {
        "ssl.server.keystore.location": f"{folder}/host.p12",
        "ssl.server.keystore.password": password,
        "ssl.server.keystore.keypassword": password,
        "ssl.server.keystore.type": "PKCS12",
    }
    client = {
        "ssl.client.truststore.location": f"{folder}/trust.p12",
        "ssl.client.truststore.password": password,
        "ssl.client.truststore.type": "PKCS12",
    }
    return {
        **{f"{name}-site.xml": _xml(values) for name in ("core", "hdfs", "yarn", "mapred")},
        "ssl-server.xml": _xml(server),
        "ssl-client.xml": _xml(client),
        "capacity-scheduler.xml": _xml(
            {
                "yarn.scheduler.capacity.root.queues": "default",
                "yarn.scheduler.capacity.root.default.capacity": "100",
                "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
            }
        ),
    }


def _xml(values: Mapping[str, str]) -> str:
    properties = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in values.items()
    )
    return f"<configuration>{''.join(properties)}</configuration>"


def _launcher(made: Secured, distribution: Distribution) -> None:
    classpath = distribution.classpath_at(str(distribution.home))
    values = {
        "conf": made.folder / "conf",
        "java": ARCHIVED_JAVA / "bin" / "java",
        "options": _options(made),
        "classpath": classpath,
    }
    made.client.write_text(LAUNCHER.format(**values))
    made.client.chmod(0o755)
    jars = {"yarn.application.classpath": classpath, "mapreduce.application.classpath": classpath}
    for name in ("yarn", "mapred"):
        path = made.folder / "conf" / f"{name}-site.xml"
        path.write_text(path.read_text().replace("</configuration>", _xml(jars).removeprefix("<configuration>")))


def _options(made: Secured) -> str:
    opened = "--add-opens=java.base/java.lang=ALL-UNNAMED"
    return f"-Djava.security.krb5.conf={made.folder}/krb5.conf {opened}"


def _start(made: Secured, values: Mapping[str, str]) -> None:
    environment = {**os.environ, **made.environment}
    format_it = [str(made.client), DAEMONS["namenode"], "-format", "-force", "-nonInteractive"]
    subprocess.run(format_it, check=True, env=environment, capture_output=True, timeout=120)
    made.start(*DAEMONS)
    keys = {"namenode": "dfs.namenode.https-address", "resourcemanager": "yarn.resourcemanager.webapp.address"}
    for name, key in keys.items():
        _await(int(values[key].split(":")[1]), made.running[name], made.folder / f"{name}.log")
    for attempt in range(5):  # it leaves safe mode when its DataNode is there
        with contextlib.suppress(subprocess.CalledProcessError):
            fs = "org.apache.hadoop.fs.FsShell"
            made.hadoop(fs, "-mkdir", "-p", "/tmp", "/user/alice")
            made.hadoop(fs, "-chmod", "1777", "/tmp")
            made.hadoop(fs, "-chown", "alice", "/user/alice")
            return
        time.sleep(2 * (attempt + 1))
    pytest.fail(f"HDFS did not come up: {(made.folder / 'namenode.log').read_text()[-3000:]}")


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    pytest.fail(f"it did not come up: {log.read_text(errors='replace')[-3000:]}")
