"""``assay layout plan``: into how many directories to split devices, and what that does to how they fill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.common import json_option, print_json, print_table
from assay.errors import SpecificationError
from assay.units import format_byte_rate, format_bytes, parse_bytes

if TYPE_CHECKING:
    from assay.devices.directories import Bandwidth, Fill, Split
    from assay.model.baseline import Baseline
    from assay.model.cluster import Cluster, Device

DIRECTORIES_MAX = 16
DIFFERENCE = 0.10


@click.group()
def layout() -> None:
    """Plan which devices hold what, in how many directories."""


@layout.command("plan")
@click.argument("cluster", type=click.Path(path_type=Path))
@click.option("--hdfs", metavar="DEVICES", help="Devices for HDFS, such as hdd1,hdd2,ssd1.  [default: all]")
@click.option("--intermediate", metavar="DEVICES", help="Devices for intermediate data.  [default: all]")
@click.option("--data", metavar="BYTES", help="Data per node, such as 33GB, to show how full each device gets.")
@click.option("--replication", type=click.IntRange(1), help="Copies in HDFS.  [default: 3, or the number of workers]")
@click.option(
    "--intermediate-ratio",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Bytes of intermediate data for each byte of data; a sort has 1.",
)
@click.option("--baseline", type=click.Path(path_type=Path), help="Baseline as `assay baseline --json` prints it.")
@click.option(
    "--repository",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="ASSAY_REPOSITORY",
    help="Take the newest baseline of this cluster from the runs in this folder.",
)
@click.option(
    "--directories-max",
    type=click.IntRange(1, 1000),
    default=DIRECTORIES_MAX,
    show_default=True,
    help="Most directories on one device.",
)
@click.option(
    "--difference",
    type=click.FloatRange(0, 10),
    default=DIFFERENCE,
    show_default=True,
    help="By how much bandwidths per directory may differ.",
)
@click.option("--name", default="split", show_default=True, help="Name of the layout.")
@json_option
def plan(
    cluster: Path, name: str, as_json: bool, baseline: Path | None, repository: Path | None, **options: Any
) -> None:
    """Split the devices of a worker of the file CLUSTER into directories in proportion to their bandwidth.

    Prints a layout to paste into a plan. Bandwidths are those of a baseline where there is one, else the
    specification's.
    """
    from assay.spec import load_cluster

    described = load_cluster(cluster)
    measured, source = _baseline(described, baseline, repository)
    planned = _plan(described, measured, source, options)
    if as_json:
        print_json({"name": name, **_json(planned)})
    else:
        _print(name, planned)


@dataclass(frozen=True, slots=True)
class _Planned:
    """Everything that is printed. Bytes are one worker's, at full scale."""

    source: str
    devices: tuple[Device, ...]
    rates: Mapping[str, Bandwidth]
    hdfs: Split
    intermediate: Split
    difference: float
    replication: int
    ratio: float
    data_bytes: float | None
    fill: Fill
    used: Mapping[str, float]
    warnings: tuple[str, ...]


def _baseline(cluster: Cluster, file: Path | None, repository: Path | None) -> tuple[Baseline | None, str]:
    """Return the baseline to use and in words where the bandwidths come from."""
    import msgspec

    from assay.model.baseline import Baseline

    path = file
    if path is None and repository is not None:
        from assay.repository import Repository

        opened = Repository.open(repository)
        made = [run for run in opened.runs(environment=False) if run.cluster == cluster.name and run.baseline_id]
        path = opened.bundle_path(max(made, key=lambda r: r.started_at).run_id) / "baseline.json" if made else None
    if path is None:
        return None, "the specification: no baseline was measured (assay baseline, or a run's)"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise SpecificationError(f"the baseline can't be read: {error.strerror}", where=str(path)) from None
    except msgspec.MsgspecError as error:
        raise SpecificationError(
            f"this is no baseline: {error}", where=str(path), hint="write one with: assay baseline CLUSTER --json"
        ) from None
    if found.cluster != cluster.name:
        raise SpecificationError(f"this is a baseline of {found.cluster!r}, not of {cluster.name!r}", where=str(path))
    return found, f"the baseline of {found.measured_at}"


def _chosen(option: str, text: str | None, devices: tuple[Device, ...]) -> list[str]:
    from assay.spec.fields import unknown

    names = [device.name for device in devices]
    if text is None:
        return names
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    for word in wanted:
        if word not in names:
            raise SpecificationError(unknown("device", word, names), where=option)
        if wanted.count(word) > 1:
            raise SpecificationError(f"device {word!r} is given twice", where=option)
    if not wanted:
        raise SpecificationError(f"a device is needed; valid: {', '.join(names)}", where=option)
    return wanted


def _plan(cluster: Cluster, baseline: Baseline | None, source: str, options: Mapping[str, Any]) -> _Planned:
    from assay.devices.directories import Use, bandwidths, fill, split

    devices = cluster.workers[0].type.devices
    rates = bandwidths(cluster, baseline)
    parts = {
        part: split(
            {name: rates[name].bytes_per_s for name in _chosen(f"--{part}", options[part], devices)},
            error=options["difference"],
            most=options["directories_max"],
        )
        for part in ("hdfs", "intermediate")
    }
    replication = options["replication"] or min(3, len(cluster.workers))
    ratio: float = options["intermediate_ratio"]
    uses = [Use(parts["hdfs"].directories, replication), Use(parts["intermediate"].directories, ratio)]
    capacities = {d.name: float(d.capacity_bytes) for d in devices if any(d.name in u.directories for u in uses)}
    try:
        data = float(parse_bytes(options["data"])) if options["data"] else None
    except ValueError as error:
        raise SpecificationError(str(error), where="--data") from None
    filled = fill(capacities, uses)
    planned = _Planned(
        source,
        tuple(d for d in devices if d.name in capacities),
        rates,
        parts["hdfs"],
        parts["intermediate"],
        options["difference"],
        replication,
        ratio,
        data,
        filled,
        filled.used_bytes(data or 0.0, capacities, uses),
        (),
    )
    return _warned(planned, cluster)


def _warned(planned: _Planned, cluster: Cluster) -> _Planned:
    from dataclasses import replace

    from assay.devices.directories import available_space

    words = [
        f"{part}: with at most so many directories, bandwidths per directory still differ by {found.spread:.0%}; "
        "raise --directories-max"
        for part, found in (("hdfs", planned.hdfs), ("intermediate", planned.intermediate))
        if found.spread > planned.difference + 1e-9
    ]
    unmeasured = [device.name for device in planned.devices if not planned.rates[device.name].measured]
    if unmeasured and len(unmeasured) < len(planned.devices):
        words.append(f"the baseline lacks {', '.join(unmeasured)}: the specification's bandwidth stands for it")
    order = list(planned.fill.full_after.items())
    first = {name for name, at in order if at <= order[0][1] * (1 + 1e-9)} if order else set()
    if first and len(first) < len(planned.devices):
        after, room = order[0][1], planned.fill.ends_at
        fills = (
            f"{', '.join(sorted(first))} {'fills' if len(first) == 1 else 'fill'} first, after {format_bytes(after)}"
        )
        goes_on = room > after * (1 + 1e-9)
        rest = (
            f"from then on the others take all, at their pace, until {format_bytes(room)}"
            if goes_on
            else "then HDFS or the intermediate data have no place left, whatever is free elsewhere"
        )
        words.append(f"{fills} of data per node; {rest}")
    if planned.data_bytes is not None and planned.data_bytes > planned.fill.ends_at:
        words.append(
            f"{format_bytes(planned.data_bytes)} per node do not fit: there is room for "
            f"{format_bytes(planned.fill.ends_at)}"
        )
    spaced = available_space(planned.devices, planned.hdfs.directories, cluster.scale)
    if spaced.preferred:
        total = sum(planned.hdfs.directories.values())
        even = sum(planned.hdfs.directories[name] for name in spaced.preferred) / total
        steered = sum(spaced.shares[name] for name in spaced.preferred)
        words.append(
            "HDFS's AvailableSpaceVolumeChoosingPolicy (dfs.datanode.fsdataset.volume.choosing.policy) would keep "
            f"devices from filling first, and undo the split: {', '.join(spaced.preferred)}, with more room, would "
            f"get {steered:.0%} of the blocks instead of {even:.0%}"
        )
    return replace(planned, warnings=tuple(words))


def _yaml(name: str, planned: _Planned) -> str:
    lines = ["layouts:", f"  {name}:"]
    for part, found in (("hdfs", planned.hdfs), ("intermediate", planned.intermediate)):
        inside = ", ".join(f"{device}: {count}" for device, count in found.directories.items())
        lines.append(f"    {part}: {{{inside}}}")
    return "\n".join(lines)


def _json(planned: _Planned) -> dict[str, Any]:
    return {
        "bandwidths_from": planned.source,
        "layout": {"hdfs": planned.hdfs.directories, "intermediate": planned.intermediate.directories},
        "difference": {"hdfs": planned.hdfs.spread, "intermediate": planned.intermediate.spread},
        "replication": planned.replication,
        "intermediate_ratio": planned.ratio,
        "data_per_node_bytes": planned.data_bytes,
        "room_per_node_bytes": planned.fill.ends_at if planned.fill.full_after else None,
        "devices": [
            {
                "device": device.name,
                "kind": str(device.kind),
                "measured": planned.rates[device.name].measured,
                "bandwidth_bytes_per_s": planned.rates[device.name].bytes_per_s,
                "capacity_bytes": device.capacity_bytes,
                "bytes_per_byte_of_data": planned.fill.shares[device.name],
                "used_bytes": planned.used[device.name] if planned.data_bytes is not None else None,
                "full_after_data_per_node_bytes": planned.fill.full_after.get(device.name),
            }
            for device in planned.devices
        ],
        "warnings": list(planned.warnings),
    }


def _print(name: str, planned: _Planned) -> None:
    with_data = planned.data_bytes is not None
    rows = []
    for device in planned.devices:
        row = [
            device.name,
            str(device.kind),
            format_byte_rate(planned.rates[device.name].bytes_per_s),
            str(planned.hdfs.directories.get(device.name, "–")),
            str(planned.intermediate.directories.get(device.name, "–")),
            format_bytes(device.capacity_bytes),
        ]
        if with_data:
            used = planned.used[device.name]
            row += [format_bytes(used), f"{used / device.capacity_bytes:.0%}"]
        full = planned.fill.full_after.get(device.name)
        rows.append([*row, format_bytes(full) if full is not None else "never"])
    headers = ["device", "kind", "bandwidth", "HDFS directories", "intermediate directories", "capacity"]
    headers += ["used", "full"] if with_data else []
    copies = f"{planned.replication} {'copy' if planned.replication == 1 else 'copies'}"
    data = f"{format_bytes(planned.data_bytes)} of data per node, " if planned.data_bytes is not None else ""
    click.echo(f"One worker: {data}{copies}, {planned.ratio:g} byte of intermediate data for each byte of data.")
    click.echo(f"Bandwidths are those of {planned.source}.\n")
    print_table([*headers, "full after data per node of"], rows)
    click.echo(f"\n{_yaml(name, planned)}\n")
    for words in planned.warnings:
        click.echo(f"note: {words}", err=True)
