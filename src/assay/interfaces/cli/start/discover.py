"""``assay discover HOST…``: inspect hosts over SSH and write a cluster file for ``assay run``."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import HostError, SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import request_of

if TYPE_CHECKING:
    from assay.execution.observation.survey import SurveyedHosts
    from assay.model import Address
    from assay.store.formats.inventory import HadoopHosts, ListedHost

_HTTP_TIMEOUT_S = 5.0
"""Maximum wait for an answer of a NameNode, in seconds."""


@dataclass(frozen=True, slots=True)
class _Login:
    """SSH login options that apply to all hosts."""

    user: str | None
    port: int | None
    key: Path | None
    known_hosts: Path | None
    jump: str | None


@click.command(cls=AssayCommand)
@click.argument("hosts", nargs=-1, metavar="HOST…")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Cluster file to write. Default: standard output.",
)
@click.option(
    "--from-hadoop",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="CONF_DIR",
    help="Read the hosts from the configuration folder of a Hadoop cluster.",
)
@click.option(
    "--inventory",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Read the hosts from an Ansible inventory.",
)
@click.option("--name", default="discovered", show_default=True, help="Name of the cluster.")
@click.option("--master", metavar="HOST", help="Master host. Default: the host of a running NameNode, or the first.")
@click.option(
    "--below", default="", metavar="FOLDER", help="Folder below the mount point of each disk where assay may write."
)
@click.option("--user", help="Login name. Default: as in your SSH configuration.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the SSH servers.")
@click.option("--key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Private key file.")
@click.option(
    "--known-hosts", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="File with the host keys."
)
@click.option("--jump", metavar="USER@HOST:PORT", help="SSH jump host.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def discover(
    hosts: tuple[str, ...],
    output: Path | None,
    from_hadoop: Path | None,
    inventory: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Inspect HOST… over SSH and write a cluster file. The hosts are not changed. `worker[01:12]` means twelve hosts.

    A comment marks each guessed value. Hosts that cannot be reached are listed and left out.
    """
    from assay.foundation.output import write_output
    from assay.specs.discovered import DiscoveryOptions, HostAccess, cluster_text

    if output and output.exists() and not force:
        raise SpecificationError("the file exists", where=str(output), hint="overwrite it with --force")
    listed_hosts = _hosts_to_inspect(hosts, from_hadoop, inventory)
    login = _common_login(listed_hosts, request_of(_Login, options))
    survey = asyncio.run(_survey({host.name: _address(host, login) for host in listed_hosts}))
    for error in survey.errors.values():
        click.echo(f"left out: {error}", err=True)
    if not survey.hosts:
        raise HostError(
            "no host could be reached", hint="see the lines above; `ssh HOST true` must work without a password"
        )
    if options["master"] and options["master"] not in survey.hosts:
        raise SpecificationError(f"--master {options['master']} is not among the hosts that answered")
    addresses = {host.name: host.address for host in listed_hosts}
    access = HostAccess(addresses, _ssh_section(login))
    text, notes = cluster_text(list(survey.hosts.values()), access, request_of(DiscoveryOptions, options))
    for note in notes:
        click.echo(f"note: {note}", err=True)
    if output:
        write_output(output, text.encode())
        _report(output, survey)
    else:
        click.echo(text, nl=False)
    if survey.errors:
        sys.exit(HostError.exit_code)


def _report(output: Path, survey: SurveyedHosts) -> None:
    """Load the written cluster file, which validates it, and print its number of nodes."""
    from assay.specs import load_cluster

    cluster = load_cluster(output)
    left_out_text = f", {len(survey.errors)} left out" if survey.errors else ""
    click.echo(f"{output}: {len(cluster.nodes)} nodes, {len(cluster.workers)} workers{left_out_text}", err=True)
    click.echo(f"next: assay check {output}", err=True)


def _hosts_to_inspect(hosts: Sequence[str], from_hadoop: Path | None, inventory: Path | None) -> list[ListedHost]:
    """Return the hosts from the arguments, the inventory and the Hadoop configuration, without duplicates."""
    from assay.model.clusters.host_address import parse_host_address
    from assay.store.formats.inventory import ListedHost, expanded_names, read_hadoop_hosts, read_inventory

    listed_hosts: list[ListedHost] = []
    for name in (name for pattern in hosts for name in expanded_names(pattern)):
        try:
            address = parse_host_address(name)
        except ValueError as error:
            raise SpecificationError(str(error)) from error
        listed_hosts.append(ListedHost(address.host, address.host, address.user, address.port))
    if inventory:
        listed_hosts += read_inventory(inventory)
    if from_hadoop:
        hadoop_hosts = read_hadoop_hosts(from_hadoop)
        workers = hadoop_hosts.workers or _live_workers(hadoop_hosts)
        listed_hosts += [ListedHost(host, host) for host in dict.fromkeys([*hadoop_hosts.masters, *workers])]
    if not listed_hosts:
        raise SpecificationError("no host given", hint="give hosts, --from-hadoop or --inventory")
    return list({entry.name: entry for entry in listed_hosts}.values())


def _live_workers(hadoop_hosts: HadoopHosts) -> list[str]:
    """Return the live DataNodes that a NameNode reports over JMX. Raises HostError if no NameNode reports DataNodes."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    problems = []
    for address in hadoop_hosts.namenode_http:
        url = f"http://{address}/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
        try:
            with opener.open(url, timeout=_HTTP_TIMEOUT_S) as answer:
                beans = json.load(answer).get("beans") or [{}]
            live_nodes = json.loads(beans[0].get("LiveNodes") or "{}")
        except (OSError, ValueError) as error:
            problems.append(f"{address}: {error}")
            continue
        if live_nodes:
            return sorted(name.split(":")[0] for name in live_nodes)
    raise HostError(
        "no file lists the workers, and no NameNode reports live DataNodes: "
        + ("; ".join(problems) or "its list is empty"),
        hint="give the workers in addition to --from-hadoop",
    )


def _common_login(listed_hosts: Sequence[ListedHost], login: _Login) -> _Login:
    """Return the login for all hosts. Options override the inventory.

    Raises SpecificationError if the hosts differ, because a cluster file has a single login.
    """

    def common_value(field_name: str, option_value: object, values: set[object]) -> object:
        if option_value is not None or not values - {None}:
            return option_value
        if len(values) > 1:
            message = f"the hosts differ in their {field_name}: {', '.join(sorted(map(str, values)))}"
            raise SpecificationError(
                message, hint=f"set it for all with --{field_name}, or for each host in ~/.ssh/config"
            )
        return values.pop()

    user = common_value("user", login.user, {host.user for host in listed_hosts})
    port = common_value("port", login.port, {host.port for host in listed_hosts})
    key = common_value("key", str(login.key) if login.key else None, {host.key for host in listed_hosts})
    return _Login(
        str(user) if user else None,
        int(str(port)) if port else None,
        Path(str(key)).expanduser() if key else None,
        login.known_hosts,
        login.jump,
    )


def _address(host: ListedHost, login: _Login) -> Address | None:
    from assay.model import Address

    key, known_hosts = (str(path.absolute()) if path else None for path in (login.key, login.known_hosts))
    return Address(host.address, login.port or 22, login.user, key, known_hosts, login.jump)


def _ssh_section(login: _Login) -> Mapping[str, str]:
    values = {
        "user": login.user,
        "port": login.port,
        "key": login.key.absolute() if login.key else None,
        "known_hosts": login.known_hosts.absolute() if login.known_hosts else None,
        "jump": login.jump,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


async def _survey(addresses: Mapping[str, Address | None]) -> SurveyedHosts:
    from assay.execution.observation.survey import survey_all

    return await survey_all(addresses)
