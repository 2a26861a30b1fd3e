"""``assay device``: from what fio measured of a real disk to its entry in a cluster file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.units import format_byte_rate
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json

if TYPE_CHECKING:
    from assay.analysis.devices.calibration import CalibratedValue, Calibration

_UNITS = {
    "read": "B/s",
    "write": "B/s",
    "capacity": "B",
    "write_cache": "B",
    "inner_share": "%",
    "seek_track": "s",
    "seek_full": "s",
    "read_latency": "s",
    "write_latency": "s",
}
"""What is not here is a plain number."""


@click.group(cls=AssayGroup)
def device() -> None:
    """Put a disk of your own into the lab: from fio's report of it to its numbers."""


@device.command()
@click.argument("report", metavar="FIO.json", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="The device's name in the cluster file; its kind by default.")
@click.option("--kind", type=click.Choice(["hdd", "ssd", "nvme"]), help="What it is; by default, as it behaves.")
@click.option("--capacity", help="Its capacity, such as 4TB, which fio does not report.")
@click.option("--rpm", type=click.IntRange(1000, 100_000), help="How fast an HDD turns, by its data sheet.")
@json_option
def calibrate(
    report: Path, name: str | None, kind: str | None, capacity: str | None, rpm: int | None, as_json: bool
) -> None:
    """Print the cluster file's entry of the disk that fio measured, and where each number comes from."""
    from assay.analysis.devices.calibration import calibrate as calibrated
    from assay.foundation.errors import FormatError
    from assay.model import DeviceKind
    from assay.store.formats.bare.fio import parse_fio
    from assay.store.formats.bare.fio_figures import cached_jobs, figures

    capacity_bytes = _capacity_bytes(capacity)
    try:
        fio = parse_fio(report.read_bytes())
        found = calibrated(
            figures(fio), kind=DeviceKind(kind) if kind else None, capacity_bytes=capacity_bytes, rpm=rpm
        )
    except FormatError as error:
        raise FormatError(error.message, where=error.where or str(report), hint=error.hint) from error
    called, cached = _name(name or found.kind.value), cached_jobs(fio)
    if as_json:
        print_json(_json(called, found, fio.version) | {"left_out": list(cached)})
        return
    click.echo(f"# {report.name}, {fio.version}. Goes under node_types: NAME: devices:")
    click.echo("\n".join(entry_lines(called, found)))
    for check in found.checks:
        measured, modelled = format_byte_rate(check.measured_bytes_per_s), format_byte_rate(check.modelled_bytes_per_s)
        click.echo(f"# {check.what}: {measured} measured, {modelled} by these numbers")
    for job in cached:
        click.echo(f"# job {job}: left out, as it went through the page cache (no direct=1)")


def _capacity_bytes(text: str | None) -> int | None:
    from assay.specs.fields import SIZE

    try:
        return SIZE.parse(text) if text else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--capacity") from error


def _name(text: str) -> str:
    from assay.specs.fields import HOST_NAME

    try:
        return str(HOST_NAME.parse(text))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--name") from error


def entry_lines(name: str, found: Calibration) -> list[str]:
    """Return the YAML of the device's entry, each number with its source behind it."""
    values = [("kind", found.kind.value, "")] + [(n.key, value_text(n), n.source) for n in found.numbers]
    width = max(len(f"  {key}: {value}") for key, value, _ in values)
    lines = [f"  {key}: {value}".ljust(width) + (f"  # {source}" if source else "") for key, value, source in values]
    return [f"{name}:", *(line.rstrip() for line in lines)]


def value_text(number: CalibratedValue) -> str:
    """Return the value as a cluster file has it, with its unit and four digits."""
    value, unit = number.value, _UNITS.get(number.key)
    if unit == "B/s":
        return f"{_plain(value / 1e6)}MB/s"
    if unit == "B":
        whole = round(value)
        prefix, power = next((pair for pair in (("T", 12), ("G", 9), ("M", 6)) if whole % 10 ** pair[1] == 0), ("", 0))
        return f"{whole // 10**power}{prefix}B" if whole else "0"
    if unit == "%":
        return f"{_plain(value * 100)}%"
    if unit == "s":
        return f"{_plain(value * 1e3)}ms" if value >= 1e-3 else f"{_plain(value * 1e6)}us"
    return f"{round(value)}"


def _plain(value: float) -> str:
    """Return four digits without an exponent."""
    return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")


def _json(name: str, found: Calibration, version: str) -> dict[str, Any]:
    entry = {"kind": found.kind.value, **{number.key: value_text(number) for number in found.numbers}}
    return {
        "name": name,
        "fio": version,
        "entry": entry,
        "numbers": [
            {
                "key": n.key,
                "value": n.value,
                "unit": _UNITS.get(n.key, "").replace("%", "share"),
                "source": n.source,
                "measured": n.measured,
            }
            for n in found.numbers
        ],
        "checks": [
            {
                "what": c.what,
                "measured_bytes_per_s": c.measured_bytes_per_s,
                "modelled_bytes_per_s": c.modelled_bytes_per_s,
            }
            for c in found.checks
        ],
    }


@device.command("fio-job")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--size", default="16GiB", show_default=True, help="How much of a file is used; a device is used whole.")
@click.option("--seconds", type=click.IntRange(1, 3600), default=15, show_default=True, help="How long each job lasts.")
@click.option("--read-only", is_flag=True, help="Leave out the jobs that write.")
def fio_job(path: Path, size: str, seconds: int, read_only: bool) -> None:
    """Print the fio job file that measures the disk at PATH: a file on it, which is made, or a block device.

    Writing to a block device destroys what is on it.
    """
    from assay.store.formats.bare.fio_figures import job_file

    if "\n" in str(path) or ":" in str(path):
        raise click.BadParameter("fio takes no path with a colon or a line break", param_hint="PATH")
    capacity_bytes = _capacity_bytes(size) or 0
    is_device = path.is_relative_to("/dev")
    click.echo(job_file(str(path), None if is_device else capacity_bytes, seconds, writes=not read_only), nl=False)
    if is_device and not read_only:
        click.echo(f"warning: running it destroys everything on {path}; --read-only leaves writes out", err=True)
