"""Read the client configuration of an externally managed Hadoop on its edge node.

In: the properties of the client's ``*-site.xml``. Out: the addresses of its daemons and folders; of an HA pair, the
active daemon. Federation and other file systems are rejected with an error. Properties as in Hadoop 3's
core-default.xml, hdfs-default.xml, yarn-default.xml and mapred-default.xml.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.execution.engines.hadoop.jobs.access import HttpAccess
from assay.execution.engines.hadoop.jobs.rest import PLAIN, Endpoint
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.store.formats.hadoop.configuration import read_conf

FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")
NAMENODE_HTTP, RESOURCEMANAGER_HTTP = 9870, 8088
NAMENODE_HTTPS, RESOURCEMANAGER_HTTPS = 9871, 8090
_STAGING = "/tmp/hadoop-yarn/staging"  # noqa: S108 - in HDFS, and Hadoop's own default
_REFERENCES_MAX = 20
"""Maximum number of replacements of references in one value, against endless loops."""


@dataclass(frozen=True, slots=True)
class ClientConfiguration:
    """The client's configuration and its location."""

    settings: Mapping[str, str]
    where: str
    user: str
    access: HttpAccess = PLAIN

    @property
    def is_secured(self) -> bool:
        """Whether a Kerberos ticket is needed."""
        return self.get("hadoop.security.authentication", "simple").lower() == "kerberos"

    @property
    def hdfs_tls(self) -> bool:
        """Whether HDFS's daemons accept only HTTPS."""
        return self.get("dfs.http.policy", "HTTP_ONLY").upper() == "HTTPS_ONLY"

    @property
    def yarn_tls(self) -> bool:
        """Whether YARN's daemons accept only HTTPS."""
        return self.get("yarn.http.policy", "HTTP_ONLY").upper() == "HTTPS_ONLY"

    def get(self, name: str, default: str = "") -> str:
        """Return a property with references to other properties replaced."""
        text = self.settings.get(name, default)
        for _ in range(_REFERENCES_MAX):
            match = re.search(r"\$\{([^}]+)\}", text)
            if match is None:
                break
            value = self.user if match[1] == "user.name" else self.settings.get(match[1], "")
            text = text[: match.start()] + value + text[match.end() :]
        return text

    @property
    def name_service(self) -> str | None:
        """The name of an HA pair of NameNodes; None for a single NameNode. Raises EngineError if assay does not
        support the file system."""
        services = [name for name in re.split(r"[,\s]+", self.get("dfs.nameservices")) if name]
        default = self.get("fs.defaultFS", self.get("fs.default.name"))
        if not default.startswith("hdfs://"):
            scheme = default.split(":")[0] or "no"
            raise EngineError(
                f"the default file system is {scheme!r}, but assay supports only HDFS (no Ozone, no object store)",
                where=self.where,
            )
        if len(services) > 1:
            raise EngineError(
                f"its HDFS is federated ({', '.join(services)}), which assay does not support", where=self.where
            )
        return services[0] if services and default.removeprefix("hdfs://").split("/")[0] == services[0] else None

    def check(self) -> None:
        """Raise EngineError if assay can't attach to this Hadoop."""
        _ = self.name_service  # raises for other file systems
        authentication = self.get("hadoop.security.authentication", "simple").lower()
        if authentication not in ("simple", "kerberos"):
            raise EngineError(
                f"Hadoop authenticates users by {authentication!r}",
                where=self.where,
                hint="assay supports simple and kerberos",
            )

    def namenodes(self) -> list[tuple[str, int]]:
        """Return the HTTP addresses of the NameNodes, one or a pair."""
        service = self.name_service
        key, default_port = (
            ("dfs.namenode.https-address", NAMENODE_HTTPS)
            if self.hdfs_tls
            else ("dfs.namenode.http-address", NAMENODE_HTTP)
        )
        if service is None:
            host = re.sub(r"^hdfs://([^/:]+).*", r"\1", self.get("fs.defaultFS", self.get("fs.default.name")))
            return [_address(self.get(key), host, default_port)]
        names = [name for name in re.split(r"[,\s]+", self.get(f"dfs.ha.namenodes.{service}")) if name]
        addresses = []
        for name in names:
            rpc_host = self.get(f"dfs.namenode.rpc-address.{service}.{name}").split(":")[0]
            addresses.append(_address(self.get(f"{key}.{service}.{name}"), rpc_host, default_port))
        return addresses

    def resourcemanagers(self) -> list[tuple[str, int]]:
        """Return the HTTP addresses of the ResourceManagers, one or a pair."""
        names = [name for name in re.split(r"[,\s]+", self.get("yarn.resourcemanager.ha.rm-ids")) if name]
        key, default_port = (
            ("yarn.resourcemanager.webapp.https.address", RESOURCEMANAGER_HTTPS)
            if self.yarn_tls
            else ("yarn.resourcemanager.webapp.address", RESOURCEMANAGER_HTTP)
        )
        if not names:
            host = self.get("yarn.resourcemanager.hostname")
            return [_address(self.get(key), host, default_port)]
        addresses = []
        for name in names:
            host = self.get(f"yarn.resourcemanager.hostname.{name}")
            addresses.append(_address(self.get(f"{key}.{name}"), host, default_port))
        return addresses

    def history_folders(self) -> list[str]:
        """Return the HDFS folders with histories of ended jobs: the user's, then all users'."""
        staging = self.get("yarn.app.mapreduce.am.staging-dir", _STAGING)
        intermediate_folder = self.get(
            "mapreduce.jobhistory.intermediate-done-dir", f"{staging}/history/done_intermediate"
        )
        done_folder = self.get("mapreduce.jobhistory.done-dir", f"{staging}/history/done")
        return [f"{intermediate_folder}/{self.user}", done_folder]


def _address(text: str, host: str, port: int) -> tuple[str, int]:
    stated_host, _, stated_port = text.rpartition(":")
    if stated_host in ("", "0.0.0.0"):  # noqa: S104 - what a daemon binds to is not an address to call
        stated_host = host
    return stated_host, int(stated_port) if stated_port.isdecimal() else port


async def read_site(edge: Transport, folder: str) -> ClientConfiguration:
    """Return the client's configuration on the edge node. Raises EngineError if it is missing."""
    settings: dict[str, str] = {}
    for name in FILES:
        try:
            content = await edge.read_file(f"{folder}/{name}")
        except HostError as error:
            if name == "core-site.xml":
                hint = "set attached: configuration in the cluster file to the client's configuration directory"
                message = f"there is no Hadoop configuration: {error.message}"
                raise EngineError(message, where=f"{edge.name}: {folder}/{name}", hint=hint) from error
            continue
        settings |= {
            entry.name: entry.value for entry in read_conf(content, source=f"{edge.name}: {folder}/{name}").values()
        }
    user = (await edge.run(["id", "-un"], timeout_s=20)).stdout.decode().strip()
    return ClientConfiguration(settings, f"{edge.name}: {folder}", user)


async def active_namenode(edge: Transport, site: ClientConfiguration) -> Endpoint:
    """Return the active NameNode. Raises EngineError if none is active."""

    async def state(endpoint: Endpoint) -> str | None:
        return (await endpoint.bean("Hadoop:service=NameNode,name=NameNodeStatus")).get("State")

    endpoints = [Endpoint(edge, host, port, site.access, site.hdfs_tls) for host, port in site.namenodes()]
    return await _active_endpoint("NameNode", endpoints, state, site)


async def active_resourcemanager(edge: Transport, site: ClientConfiguration) -> Endpoint:
    """Return the active ResourceManager. Raises EngineError if none is active."""

    async def state(endpoint: Endpoint) -> str | None:
        return ((await endpoint.get("/ws/v1/cluster/info")).get("clusterInfo") or {}).get("haState")

    endpoints = [Endpoint(edge, host, port, site.access, site.yarn_tls) for host, port in site.resourcemanagers()]
    return await _active_endpoint("ResourceManager", endpoints, state, site)


async def _active_endpoint(
    service_name: str,
    endpoints: Sequence[Endpoint],
    state_of: Callable[[Endpoint], Awaitable[str | None]],
    site: ClientConfiguration,
) -> Endpoint:
    """Return the first endpoint that reports to be active, or the only endpoint, which has no HA state."""
    messages = []
    for endpoint in endpoints:
        name = f"{endpoint.host}:{endpoint.port}"
        try:
            state = await state_of(endpoint)
        except (EngineError, HostError) as error:
            messages.append(f"{name}: {error.message}")
            continue
        if state is None or state.lower() == "active":
            return endpoint
        messages.append(f"{name}: {state}")
    raise EngineError(f"no {service_name} is active ({'; '.join(messages) or 'none is named'})", where=site.where)
