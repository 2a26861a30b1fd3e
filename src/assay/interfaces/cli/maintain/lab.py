"""``assay lab``: make, show, enter and remove the emulated cluster, and say what this machine can emulate."""

import os
from pathlib import Path
from typing import Any

import click

from assay.execution.lab import lifecycle
from assay.execution.lab.probe import Capability, probe
from assay.foundation.errors import LabError
from assay.foundation.process import terminable
from assay.foundation.units import format_bit_rate, format_bytes
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json, print_table, say


def _require_root() -> None:
    if os.geteuid() != 0:
        raise LabError(
            "labs are root's: this user can neither see nor change them", hint="run assay as root, with sudo"
        )


def _clear_abandoned() -> None:
    for words in lifecycle.clear_abandoned():
        say(words)


@click.group(cls=AssayGroup)
def lab() -> None:
    """Make, show and remove the emulated cluster."""


@lab.command()
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="The lab's name; the cluster's by default.")
def up(cluster: Path, name: str | None) -> None:
    """Make the lab that the file CLUSTER describes; it stays until `assay lab down`."""
    from assay.specs import load_cluster

    described = load_cluster(cluster)
    _clear_abandoned()
    with terminable():
        made = lifecycle.Lab.up(described, name=name or described.name, persistent=True, progress=say)
    made.detach()
    for words in made.facts["warnings"]:
        say(f"warning: {words}")
    say(f"lab {made.name}: up after {made.facts['elapsed_s']:.1f} s")
    _print_nodes(made.facts)


@lab.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Remove every lab on this machine.")
def down(name: str | None, everything: bool) -> None:
    """Remove the lab NAME, or the only one there is."""
    _require_root()
    _clear_abandoned()
    names = [status.name for status in lifecycle.labs()]
    if name is None and not everything and len(names) > 1:
        raise click.UsageError(f"name one of {', '.join(names)}, or say --all")
    for chosen in [name] if name else names:
        lifecycle.remove(chosen)
        say(f"lab {chosen}: removed")
    if not names and not name:
        say("there is no lab")


@lab.command()
@json_option
def status(as_json: bool) -> None:
    """Show every lab on this machine."""
    _require_root()
    _clear_abandoned()
    found = lifecycle.labs()
    if as_json:
        print_json([_status_json(one) for one in found])
        return
    if not found:
        say("there is no lab")
        return
    print_table(
        ("lab", "state", "nodes", "scale", "made by", "used by"),
        [
            (
                one.name,
                one.state,
                str(len(one.cluster.nodes)) if one.cluster else "",
                f"1/{1 / one.cluster.scale:g}" if one.cluster else "",
                str(one.owner or ""),
                str(one.used_by or ""),
            )
            for one in found
        ],
    )
    for one in found:
        if one.facts:
            click.echo()
            _print_nodes(one.facts)


def _status_json(one: lifecycle.LabStatus) -> dict[str, Any]:
    def owner_json(owner: Any) -> dict[str, Any] | None:
        return {"pid": owner.pid, "since_unix_s": owner.since_unix_s} if owner else None

    return {
        "name": one.name,
        "state": one.state,
        "persistent": one.persistent,
        "owner": owner_json(one.owner),
        "used_by": owner_json(one.used_by),
        "directory": str(one.directory),
        "cluster": one.cluster.name if one.cluster else None,
        "facts": one.facts,
    }


def _print_nodes(facts: dict[str, Any]) -> None:
    print_table(
        ("node", "address", "link", "memory", "disks"),
        [
            (
                name,
                node["address"],
                format_bit_rate(node["link_bits_per_s"]),
                format_bytes(node["memory_bytes"]),
                " ".join(node["devices"]),
            )
            for name, node in facts["nodes"].items()
        ],
        title=f"{facts['name']} at scale 1/{1 / facts['scale']:g}",
    )
    for words in facts["not_emulated"]:
        click.echo(f"not emulated: {words}")


@lab.command(name="probe")
@json_option
def probe_command(as_json: bool) -> int:
    """Try what a lab needs on this machine; exit status 4 when something required is missing."""
    capabilities = probe()
    if as_json:
        print_json(
            [
                {"name": item.name, "ok": item.ok, "required": item.required, "detail": item.detail}
                for item in capabilities.items
            ]
        )
    else:
        print_table(("capability", "", "what was found"), [(i.name, _verdict(i), i.detail) for i in capabilities.items])
    return LabError.exit_code if capabilities.missing else 0


def _verdict(item: Capability) -> str:
    return "yes" if item.ok else "no" if item.required else "without"


@lab.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("node")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def ssh(name: str, node: str, command: tuple[str, ...]) -> None:
    """Enter NODE of the lab NAME, or run COMMAND there."""
    _require_root()
    status = next((one for one in lifecycle.labs() if one.name == name and one.cluster), None)
    if status is None or status.cluster is None:
        raise LabError(f"no lab {name} is up", hint="assay lab status shows what there is")
    nodes = {one.name: one for one in status.cluster.nodes}
    address = nodes[node].address if node in nodes else None
    if address is None:
        raise LabError(f"the lab {name} has no node {node}", hint=f"its nodes: {', '.join(nodes)}")
    options = [
        "-o",
        "IdentitiesOnly=yes",
        "-i",
        str(address.key),
        "-p",
        str(address.port),
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        f"UserKnownHostsFile={address.known_hosts}",
    ]
    os.execvp("ssh", ["ssh", *options, f"{address.user}@{address.host}", *command])  # noqa: S606 - this process becomes the user's ssh
