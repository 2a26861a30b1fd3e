"""``assay discover HOST…``: look at hosts over SSH, and write a cluster file that ``assay run`` takes as it is."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import HostError, SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand

if TYPE_CHECKING:
    from assay.execution.observation.survey import SurveyedHosts
    from assay.model import Address
    from assay.store.formats.inventory import HadoopHosts, Listed

_HTTP_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class _Login:
    """How all hosts are entered, as the options say it."""

    user: str | None
    port: int | None
    key: Path | None
    known_hosts: Path | None
    jump: str | None


@click.command(cls=AssayCommand)
@click.argument("hosts", nargs=-1, metavar="HOST…")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; else stdout.")
@click.option("--from-hadoop", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="CONF_DIR")
@click.option("--inventory", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="An Ansible inventory.")
@click.option("--name", default="discovered", show_default=True, help="The cluster's name.")
@click.option("--master", metavar="HOST", help="The host that is the master; else a running NameNode's, or the first.")
@click.option("--below", default="", metavar="FOLDER", help="The folder of each disk's mount in which assay may work.")
@click.option("--user", help="Login name, if it is not your SSH configuration's.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the SSH servers.")
@click.option("--key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Private key file.")
@click.option("--known-hosts", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="The hosts' keys.")
@click.option("--jump", metavar="USER@HOST:PORT", help="The host through which the others are reached.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def discover(
    hosts: tuple[str, ...],
    output: Path | None,
    from_hadoop: Path | None,
    inventory: Path | None,
    name: str,
    master: str | None,
    below: str,
    user: str | None,
    port: int | None,
    key: Path | None,
    known_hosts: Path | None,
    jump: str | None,
    force: bool,
) -> None:
    """Look at HOST… over SSH and write a cluster file; nothing is changed there. `worker[01:12]` stands for twelve.

    What no host tells is guessed, and marked so in a comment. Hosts that can't be asked are named, and left out.
    """
    from assay.foundation.output import write_whole
    from assay.specs.discovered import Reach, Wish, cluster_text

    if output and output.exists() and not force:
        raise SpecificationError("the file is there already", where=str(output), hint="--force writes over it")
    listed = _listed(hosts, from_hadoop, inventory)
    login = _common(listed, _Login(user, port, key, known_hosts, jump))
    found = asyncio.run(_survey({one.name: _address(one, login) for one in listed}))
    for error in found.failed.values():
        click.echo(f"left out: {error}", err=True)
    if not found.hosts:
        raise HostError("no host could be asked", hint="the lines above say why; `ssh HOST true` must work by itself")
    if master and master not in found.hosts:
        raise SpecificationError(f"--master {master}: it is not among the hosts that answered")
    addresses = {one.name: one.address for one in listed}
    reach = Reach(addresses, _ssh_section(login))
    text, notes = cluster_text(list(found.hosts.values()), reach, Wish(name, master, below))
    for note in notes:
        click.echo(f"note: {note}", err=True)
    if output:
        write_whole(output, text.encode())
        _report(output, found)
    else:
        click.echo(text, nl=False)
    if found.failed:
        sys.exit(HostError.exit_code)


def _report(output: Path, found: SurveyedHosts) -> None:
    """Say what was written, having read it as every other command will."""
    from assay.specs import load_cluster

    cluster = load_cluster(output)
    left = f", {len(found.failed)} left out" if found.failed else ""
    click.echo(f"{output}: {len(cluster.nodes)} nodes, {len(cluster.workers)} workers{left}", err=True)
    click.echo(f"next: assay check {output}", err=True)


def _listed(hosts: Sequence[str], from_hadoop: Path | None, inventory: Path | None) -> list[Listed]:
    """Return every host that is named, by whichever way, once."""
    from assay.model.clusters.host_address import parse_host_address
    from assay.store.formats.inventory import Listed, expanded, read_hadoop_hosts, read_inventory

    found: list[Listed] = []
    for word in (name for pattern in hosts for name in expanded(pattern)):
        try:
            address = parse_host_address(word)
        except ValueError as error:
            raise SpecificationError(str(error)) from error
        found.append(Listed(address.host, address.host, address.user, address.port))
    if inventory:
        found += read_inventory(inventory)
    if from_hadoop:
        named = read_hadoop_hosts(from_hadoop)
        workers = named.workers or _live_workers(named)
        found += [Listed(host, host) for host in dict.fromkeys([*named.masters, *workers])]
    if not found:
        raise SpecificationError("no host is named", hint="name hosts, or use --from-hadoop or --inventory")
    return list({one.name: one for one in found}.values())


def _live_workers(named: HadoopHosts) -> list[str]:
    """Ask a NameNode for its DataNodes, where no file lists the workers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    said = []
    for address in named.namenode_http:
        url = f"http://{address}/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
        try:
            with opener.open(url, timeout=_HTTP_TIMEOUT_S) as answer:
                beans = json.load(answer).get("beans") or [{}]
            live = json.loads(beans[0].get("LiveNodes") or "{}")
        except (OSError, ValueError) as error:
            said.append(f"{address}: {error}")
            continue
        if live:
            return sorted(name.split(":")[0] for name in live)
    raise HostError(
        f"there is no file with the workers, and no NameNode tells them: {'; '.join(said) or 'none has any'}",
        hint="name the workers beside --from-hadoop",
    )


def _common(listed: Sequence[Listed], login: _Login) -> _Login:
    """Return the login that all hosts share: a cluster file has one. The options are stronger than an inventory."""

    def one(what: str, given: object, values: set[object]) -> object:
        if given is not None or not values - {None}:
            return given
        if len(values) > 1:
            words = f"the hosts differ in their {what}: {', '.join(sorted(map(str, values)))}"
            raise SpecificationError(words, hint=f"--{what} sets it for all; your ~/.ssh/config can hold each host's")
        return values.pop()

    user = one("user", login.user, {host.user for host in listed})
    port = one("port", login.port, {host.port for host in listed})
    key = one("key", str(login.key) if login.key else None, {host.key for host in listed})
    return _Login(
        str(user) if user else None,
        int(str(port)) if port else None,
        Path(str(key)).expanduser() if key else None,
        login.known_hosts,
        login.jump,
    )


def _address(host: Listed, login: _Login) -> Address | None:
    from assay.model import Address

    key, known = (str(path.absolute()) if path else None for path in (login.key, login.known_hosts))
    return Address(host.address, login.port or 22, login.user, key, known, login.jump)


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
