"""``assay device``: convert fio's report on a disk to the disk's entry in a cluster file."""

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
"""Unit of each key in the entry; other keys have no unit."""


@click.group(cls=AssayGroup)
def device() -> None:
    """Emulate one of your disks in a lab, from fio's report on it."""


@device.command()
@click.argument("report", metavar="FIO.json", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="Name of the device. Default: its kind.")
@click.option(
    "--kind",
    type=click.Choice(["hdd", "ssd", "nvme"]),
    help="Kind of the device. Default: the kind that fits its figures.",
)
@click.option("--capacity", help="Capacity, such as 4TB; fio does not report it.")
@click.option("--rpm", type=click.IntRange(1000, 100_000), help="Rotations per minute of a hard disk.")
@json_option
def calibrate(
    report: Path, name: str | None, kind: str | None, capacity: str | None, rpm: int | None, as_json: bool
) -> None:
    """Print the cluster file entry of the disk that fio measured, with the source of each number."""
    from assay.foundation.errors import FormatError
    from assay.model import DeviceKind
    from assay.questions.clusters.device_calibration import calibrated_device

    capacity_bytes = _capacity_bytes(capacity)
    try:
        answer = calibrated_device(report.read_bytes(), DeviceKind(kind) if kind else None, capacity_bytes, rpm)
    except FormatError as error:
        raise FormatError(error.message, where=error.where or str(report), hint=error.hint) from error
    calibration = answer.calibration
    entry_name = _name(name or calibration.kind.value)
    if as_json:
        print_json(_json(entry_name, calibration, answer.fio_version) | {"left_out": list(answer.left_out)})
        return
    click.echo(f"# {report.name}, {answer.fio_version}. Paste under node_types: NAME: devices:")
    click.echo("\n".join(entry_lines(entry_name, calibration)))
    for check in calibration.checks:
        measured_rate, modelled_rate = (
            format_byte_rate(check.measured_bytes_per_s),
            format_byte_rate(check.modelled_bytes_per_s),
        )
        click.echo(f"# {check.what}: {measured_rate} measured, {modelled_rate} with these numbers")
    for job in answer.left_out:
        click.echo(f"# job {job}: left out, because it used the page cache (no direct=1)")


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


def entry_lines(name: str, calibration: Calibration) -> list[str]:
    """Return the device's entry as lines of YAML. A comment states the source of each number."""
    values = [("kind", calibration.kind.value, "")] + [(n.key, value_text(n), n.source) for n in calibration.numbers]
    width = max(len(f"  {key}: {value}") for key, value, _ in values)
    lines = [f"  {key}: {value}".ljust(width) + (f"  # {source}" if source else "") for key, value, source in values]
    return [f"{name}:", *(line.rstrip() for line in lines)]


def value_text(number: CalibratedValue) -> str:
    """Return a value as text for a cluster file, with its unit and four significant digits."""
    value, unit = number.value, _UNITS.get(number.key)
    if unit == "B/s":
        return f"{_decimal_text(value / 1e6)}MB/s"
    if unit == "B":
        whole_bytes = round(value)
        prefix, power = next(
            (pair for pair in (("T", 12), ("G", 9), ("M", 6)) if whole_bytes % 10 ** pair[1] == 0), ("", 0)
        )
        return f"{whole_bytes // 10**power}{prefix}B" if whole_bytes else "0"
    if unit == "%":
        return f"{_decimal_text(value * 100)}%"
    if unit == "s":
        return f"{_decimal_text(value * 1e3)}ms" if value >= 1e-3 else f"{_decimal_text(value * 1e6)}us"
    return f"{round(value)}"


def _decimal_text(value: float) -> str:
    """Return a number with four significant digits, without an exponent."""
    return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")


def _json(name: str, calibration: Calibration, version: str) -> dict[str, Any]:
    entry = {"kind": calibration.kind.value, **{number.key: value_text(number) for number in calibration.numbers}}
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
            for n in calibration.numbers
        ],
        "checks": [
            {
                "what": c.what,
                "measured_bytes_per_s": c.measured_bytes_per_s,
                "modelled_bytes_per_s": c.modelled_bytes_per_s,
            }
            for c in calibration.checks
        ],
    }


@device.command("fio-job")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--size", default="16GiB", show_default=True, help="Size of the test file. A block device is used whole.")
@click.option("--seconds", type=click.IntRange(1, 3600), default=15, show_default=True, help="Duration of each job.")
@click.option("--read-only", is_flag=True, help="Leave out the jobs that write.")
def fio_job(path: Path, size: str, seconds: int, read_only: bool) -> None:
    """Print the fio job file that measures the disk at PATH: a file to create on it, or a block device.

    Writing to a block device destroys its data.
    """
    from assay.store.formats.bare.fio_figures import job_file

    if "\n" in str(path) or ":" in str(path):
        raise click.BadParameter("fio accepts no path with a colon or a line break", param_hint="PATH")
    capacity_bytes = _capacity_bytes(size) or 0
    is_device = path.is_relative_to("/dev")
    click.echo(job_file(str(path), None if is_device else capacity_bytes, seconds, writes=not read_only), nl=False)
    if is_device and not read_only:
        click.echo(f"warning: this job file destroys all data on {path}; --read-only leaves out writes", err=True)
