"""``assay instances``: list the machines that cloud providers rent, and make a hardware catalogue of them."""

from pathlib import Path
from typing import Any

import click

from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import all_option, json_option, print_json, print_rows, print_table, row_limit
from assay.model import DeviceKind
from assay.model.clusters.instance_type import InstanceType
from assay.text import NO_VALUE

TABLE = click.option(
    "--table",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Table of instance types (CSV). Default: Amazon's types, shipped with assay.",
)


@click.group("instances", cls=AssayGroup)
def instances() -> None:
    """List instance types as hardware, or write a hardware catalogue of some of them for assay recommend."""


@instances.command("list")
@click.argument("pattern", default="*")
@click.option("--architecture", type=click.Choice(["x86_64", "arm64"]), help="Processor architecture.")
@click.option("--disks", type=click.Choice([*map(str, DeviceKind), "none"]), help="Kind of the local disks.")
@click.option("--cores", type=click.IntRange(min=0), default=0, help="Minimum number of physical cores.")
@click.option("--vcpus", type=click.IntRange(min=0), default=0, help="Minimum number of hardware threads.")
@click.option("--memory", default="", metavar="SIZE", help="Minimum memory: 64GB.")
@click.option("--previous-generation", is_flag=True, help="Also types that the provider calls previous generation.")
@click.option("--accelerators", is_flag=True, help="Also types with GPUs and other accelerators.")
@TABLE
@all_option
@json_option
def list_command(all_rows: bool, as_json: bool, **fields: Any) -> None:
    """List instance types whose name matches PATTERN, such as 'i4i.*'."""
    from assay.questions.json_values import json_value
    from assay.questions.recommendation.instances import InstanceRequest, list_instances

    answer = list_instances(InstanceRequest(**fields))
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(f"{len(answer.instances):,} of {answer.total:,} instance types match.")
    headers = ("Type", "Architecture", "Cores", "vCPUs", "Memory", "Local disks", "Network", "Network volumes")
    if answer.instances:
        print_rows(headers, [_row(instance) for instance in answer.instances], limit=row_limit(all_rows))


def _row(instance: InstanceType) -> tuple[str, ...]:
    facts = _facts(instance)
    return (
        instance.name,
        *(facts[key] for key in ("Architecture", "Cores", "vCPUs", "Memory", "Local disks")),
        facts["Network, baseline"],
        facts["Network volumes, baseline"],
    )


def _cpu_credits(instance: InstanceType) -> str:
    from assay.text import share

    if not instance.burstable:
        return "no"
    per_h = instance.cpu_credits_per_h
    if instance.cpu_baseline is None or per_h is None:
        return "yes: full speed only while it has credits"
    return f"{per_h:g} per hour, at most {24 * per_h:g}; without credits {share(instance.cpu_baseline)} of its cores"


def _facts(instance: InstanceType) -> dict[str, str]:
    from assay.foundation.units import format_bit_rate, format_byte_rate, format_bytes

    disks = instance.disks
    bit_rate = {
        key: format_bit_rate(value) if value else NO_VALUE
        for key, value in (
            ("Network, baseline", instance.network_bits_per_s),
            ("Network, burst", instance.network_burst_bits_per_s),
        )
    }
    byte_rate = {
        key: format_byte_rate(value) if value else NO_VALUE
        for key, value in (
            ("Network volumes, baseline", instance.volume_bytes_per_s),
            ("Network volumes, burst", instance.volume_burst_bytes_per_s),
        )
    }
    return {
        "Architecture": instance.architecture,
        "Processor": " ".join(
            filter(None, (instance.processor, f"{instance.clock_hz / 1e9:g} GHz" if instance.clock_hz else ""))
        ),
        "Cores": str(instance.cores),
        "vCPUs": str(instance.vcpus),
        "CPU credits": _cpu_credits(instance),
        "Memory": format_bytes(instance.memory_bytes),
        "Local disks": f"{disks.count} × {format_bytes(disks.capacity_bytes)} {disks.kind}" if disks else "none",
        "Rate of local disks": "not stated by the source" if disks else NO_VALUE,
        **bit_rate,
        **byte_rate,
        "Accelerators": str(instance.accelerators),
        "Source": instance.source,
    }


@instances.command("show")
@click.argument("name", metavar="TYPE")
@TABLE
@json_option
def show(name: str, table: Path | None, as_json: bool) -> None:
    """Show everything that the table states about one type."""
    from assay.questions.json_values import json_value
    from assay.questions.recommendation.instances import one_instance

    instance = one_instance(name, table)
    if as_json:
        print_json(json_value(instance))
        return
    print_table((instance.name, ""), list(_facts(instance).items()))


@instances.command("catalogue")
@click.argument("types", metavar="TYPE...", nargs=-1, required=True)
@click.option("--count", default="4-20", show_default=True, help="Numbers of workers to choose from.")
@click.option(
    "--disk-rates",
    multiple=True,
    metavar="WHICH=READ:WRITE",
    help="Sequential rates of one local disk, for a type or a kind of disk: nvme=1.4GB/s:900MB/s. Repeatable.",
)
@click.option(
    "--volumes", default="", metavar="TYPE:SIZE:COUNT[:IOPS]", help="Network volumes of each worker: gp3:1TB:4."
)
@click.option(
    "--cpu-speed",
    "cpu_speeds",
    multiple=True,
    metavar="ARCHITECTURE=SPEED[:LOW:HIGH]",
    help="Speed of a core relative to the profile's machine, with its 90 % interval; one per architecture. "
    "Default: x86_64=1:0.5:2; required for ARM.",
)
@click.option("--name", default="instances", show_default=True, help="Name of the catalogue.")
@TABLE
def catalogue(types: tuple[str, ...], table: Path | None, **values: Any) -> None:
    """Print a hardware catalogue of the named types for assay recommend."""
    from assay.questions.recommendation.instances import CatalogueRequest, catalogue_text

    click.echo(catalogue_text(CatalogueRequest(types=types, table=table, **values)), nl=False)
