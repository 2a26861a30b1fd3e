"""``assay lab``: create, show, log in to and remove emulated clusters, and test whether this machine can run them."""

import os
from pathlib import Path
from typing import Any

import click

from assay.execution.lab import lifecycle
from assay.execution.lab.probe import probe
from assay.foundation.errors import LabError
from assay.foundation.process import terminable
from assay.foundation.units import format_bit_rate, format_bytes
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json, print_table, say


def _require_root() -> None:
    if os.geteuid() != 0:
        raise LabError("only root can see and change labs", hint="run assay as root, with sudo")


def _clear_abandoned() -> None:
    for message in lifecycle.clear_abandoned():
        say(message)


@click.group(cls=AssayGroup)
def lab() -> None:
    """Create, show and remove emulated clusters."""


@lab.command()
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="Name of the lab. Default: that of the cluster.")
def up(cluster: Path, name: str | None) -> None:
    """Create a lab from the file CLUSTER. It exists until `assay lab down`."""
    from assay.specs import load_cluster

    loaded_cluster = load_cluster(cluster)
    _clear_abandoned()
    with terminable():
        created_lab = lifecycle.Lab.up(loaded_cluster, name=name or loaded_cluster.name, persistent=True, progress=say)
    created_lab.detach()
    for warning in created_lab.facts["warnings"]:
        say(f"warning: {warning}")
    say(f"lab {created_lab.name}: up after {created_lab.facts['elapsed_s']:.1f} s")
    _print_nodes(created_lab.facts)


@lab.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Remove every lab on this machine.")
def down(name: str | None, everything: bool) -> None:
    """Remove the lab NAME. Default: the only lab."""
    _require_root()
    _clear_abandoned()
    names = [status.name for status in lifecycle.labs()]
    if name is None and not everything and len(names) > 1:
        raise click.UsageError(f"Several labs: {', '.join(names)}. Give the name of one, or --all.")
    for lab_name in [name] if name else names:
        lifecycle.remove(lab_name)
        say(f"lab {lab_name}: removed")
    if not names and not name:
        say("no lab")


@lab.command()
@json_option
def status(as_json: bool) -> None:
    """Show every lab on this machine."""
    _require_root()
    _clear_abandoned()
    statuses = lifecycle.labs()
    if as_json:
        print_json([_status_json(lab_status) for lab_status in statuses])
        return
    if not statuses:
        say("no lab")
        return
    print_table(
        ("lab", "state", "nodes", "scale", "created by", "used by"),
        [
            (
                lab_status.name,
                lab_status.state,
                str(len(lab_status.cluster.nodes)) if lab_status.cluster else "",
                f"1/{1 / lab_status.cluster.scale:g}" if lab_status.cluster else "",
                str(lab_status.owner or ""),
                str(lab_status.used_by or ""),
            )
            for lab_status in statuses
        ],
    )
    for lab_status in statuses:
        if lab_status.facts:
            click.echo()
            _print_nodes(lab_status.facts)


def _status_json(lab_status: lifecycle.LabStatus) -> dict[str, Any]:
    def owner_json(owner: Any) -> dict[str, Any] | None:
        return {"pid": owner.pid, "since_unix_s": owner.since_unix_s} if owner else None

    return {
        "name": lab_status.name,
        "state": lab_status.state,
        "persistent": lab_status.persistent,
        "owner": owner_json(lab_status.owner),
        "used_by": owner_json(lab_status.used_by),
        "directory": str(lab_status.directory),
        "cluster": lab_status.cluster.name if lab_status.cluster else None,
        "facts": lab_status.facts,
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
    for device in facts["not_emulated"]:
        click.echo(f"not emulated: {device}")


@lab.command(name="probe")
@json_option
def probe_command(as_json: bool) -> int:
    """Test whether this machine can run a lab.

    Exit code 4: a required capability is missing.
    """
    capabilities = probe()
    if as_json:
        print_json(
            [
                {"name": item.name, "ok": item.ok, "required": item.required, "detail": item.detail}
                for item in capabilities.items
            ]
        )
    else:
        print_table(
            ("capability", "", "detail"),
            [
                (i.name, "yes" if i.ok else "no" if i.required else "no (optional)", i.detail)
                for i in capabilities.items
            ],
        )
    return LabError.exit_code if capabilities.missing else 0


@lab.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("node")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def ssh(name: str, node: str, command: tuple[str, ...]) -> None:
    """Log in to NODE of the lab NAME, or run COMMAND there."""
    _require_root()
    status = next(
        (lab_status for lab_status in lifecycle.labs() if lab_status.name == name and lab_status.cluster), None
    )
    if status is None or status.cluster is None:
        raise LabError(f"no lab {name}", hint="list the labs with `assay lab status`")
    nodes = {lab_node.name: lab_node for lab_node in status.cluster.nodes}
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
