"""``assay layout plan``: split devices into directories in proportion to bandwidth, and print how full they get."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_byte_rate, format_bytes, format_percent, parse_bytes
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json, print_table
from assay.text import plural

if TYPE_CHECKING:
    from assay.questions.clusters.directories import DirectoryPlan

DIRECTORIES_MAX = 16
"""Default maximum number of directories on a device."""
DIFFERENCE_MAX = 0.10
"""Default maximum relative difference between bandwidths per directory."""


def _names(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _bytes(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    try:
        return float(parse_bytes(text)) if text else None
    except ValueError as error:
        raise SpecificationError(str(error), where="--data") from None


@click.group(cls=AssayGroup)
def layout() -> None:
    """Plan the directories of each device."""


@layout.command("plan")
@click.argument("cluster", type=click.Path(path_type=Path))
@click.option(
    "--hdfs", metavar="DEVICES", callback=_names, help="Devices for HDFS, such as hdd1,hdd2,ssd1. Default: all."
)
@click.option("--intermediate", metavar="DEVICES", callback=_names, help="Devices for intermediate data. Default: all.")
@click.option(
    "--data",
    "data_bytes",
    metavar="BYTES",
    callback=_bytes,
    help="Data per node, such as 33GB: shows how full each device gets.",
)
@click.option(
    "--replication", type=click.IntRange(1), help="Replicas in HDFS. Default: 3, or fewer with fewer workers."
)
@click.option(
    "--intermediate-ratio",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Intermediate data per byte of data; 1 for a sort.",
)
@click.option("--baseline", type=click.Path(path_type=Path), help="Baseline file, from `assay baseline --json`.")
@click.option(
    "--repository",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="ASSAY_REPOSITORY",
    help="Use the newest baseline of this cluster from the runs in this folder.",
)
@click.option(
    "--directories-max",
    type=click.IntRange(1, 1000),
    default=DIRECTORIES_MAX,
    show_default=True,
    help="Maximum number of directories on a device.",
)
@click.option(
    "--difference",
    type=click.FloatRange(0, 10),
    default=DIFFERENCE_MAX,
    show_default=True,
    help="Maximum relative difference between bandwidths per directory.",
)
@click.option("--name", default="split", show_default=True, help="Name of the layout.")
@json_option
def plan(
    cluster: Path, name: str, as_json: bool, baseline: Path | None, repository: Path | None, **options: Any
) -> None:
    """Split the devices of a worker into directories in proportion to bandwidth, and print a layout for a plan.

    CLUSTER is a cluster file. Bandwidths come from a baseline, or else from the specification.
    """
    from assay.questions.clusters.directories import DirectoryRequest, directory_plan, newest_baseline, read_baseline
    from assay.specs import load_cluster
    from assay.store import Repository

    loaded_cluster = load_cluster(cluster)
    if baseline is None and repository is not None:
        baseline = newest_baseline(Repository.open(repository), loaded_cluster.name)
    measured_rates = read_baseline(baseline, loaded_cluster.name) if baseline else None
    directories_plan = directory_plan(loaded_cluster, measured_rates, DirectoryRequest(**options))
    if as_json:
        print_json({"name": name, **_json(directories_plan)})
    else:
        _print(name, directories_plan)


def _yaml(name: str, directories_plan: DirectoryPlan) -> str:
    lines = ["layouts:", f"  {name}:"]
    for purpose, purpose_layout in (("hdfs", directories_plan.hdfs), ("intermediate", directories_plan.intermediate)):
        counts_text = ", ".join(f"{device}: {count}" for device, count in purpose_layout.directories.items())
        lines.append(f"    {purpose}: {{{counts_text}}}")
    return "\n".join(lines)


def _json(directories_plan: DirectoryPlan) -> dict[str, Any]:
    return {
        "bandwidths_from": directories_plan.bandwidths_from,
        "layout": {
            "hdfs": directories_plan.hdfs.directories,
            "intermediate": directories_plan.intermediate.directories,
        },
        "difference": {
            "hdfs": directories_plan.hdfs.imbalance,
            "intermediate": directories_plan.intermediate.imbalance,
        },
        "replication": directories_plan.replication,
        "intermediate_ratio": directories_plan.ratio,
        "data_per_node_bytes": directories_plan.data_bytes,
        "room_per_node_bytes": directories_plan.fill.room_bytes if directories_plan.fill.full_after_bytes else None,
        "devices": [
            {
                "device": device.name,
                "kind": str(device.kind),
                "measured": directories_plan.rates[device.name].measured,
                "bandwidth_bytes_per_s": directories_plan.rates[device.name].bytes_per_s,
                "capacity_bytes": device.capacity_bytes,
                "bytes_per_byte_of_data": directories_plan.fill.shares[device.name],
                "used_bytes": directories_plan.used[device.name] if directories_plan.data_bytes is not None else None,
                "full_after_data_per_node_bytes": directories_plan.fill.full_after_bytes.get(device.name),
            }
            for device in directories_plan.devices
        ],
        "warnings": list(directories_plan.warnings),
    }


def _print(name: str, directories_plan: DirectoryPlan) -> None:
    has_data = directories_plan.data_bytes is not None
    rows = []
    for device in directories_plan.devices:
        row = [
            device.name,
            str(device.kind),
            format_byte_rate(directories_plan.rates[device.name].bytes_per_s),
            str(directories_plan.hdfs.directories.get(device.name, "–")),
            str(directories_plan.intermediate.directories.get(device.name, "–")),
            format_bytes(device.capacity_bytes),
        ]
        if has_data:
            used_bytes = directories_plan.used[device.name]
            row += [format_bytes(used_bytes), format_percent(used_bytes / device.capacity_bytes)]
        full_at_bytes = directories_plan.fill.full_after_bytes.get(device.name)
        rows.append([*row, format_bytes(full_at_bytes) if full_at_bytes is not None else "never"])
    headers = [
        "device",
        "kind",
        "bandwidth",
        "HDFS directories",
        "intermediate directories",
        "capacity",
        *(["used", "full"] if has_data else []),
        "full at data per node",
    ]
    copies = plural(directories_plan.replication, "replica")
    data = (
        f"{format_bytes(directories_plan.data_bytes)} of data per node, "
        if directories_plan.data_bytes is not None
        else ""
    )
    click.echo(f"One worker: {data}{copies}, {directories_plan.ratio:g} bytes of intermediate data per byte of data.")
    click.echo(f"Bandwidths from {directories_plan.bandwidths_from}.\n")
    print_table(headers, rows)
    click.echo(f"\n{_yaml(name, directories_plan)}\n")
    for warning in directories_plan.warnings:
        click.echo(f"note: {warning}", err=True)
