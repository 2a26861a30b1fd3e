"""Calibrate the model of a disk from fio's report on it.

In: the report of ``fio --output-format=json``, and the capacity and rotation speed, which it does not record. Out: the
numbers of the disk's entry in a cluster file, with the source of each.
"""

from dataclasses import dataclass

from assay.analysis.devices.calibration import Calibration, calibrate
from assay.model import DeviceKind
from assay.store.formats.bare.fio import parse_fio
from assay.store.formats.bare.fio_figures import cached_jobs, device_measurements


@dataclass(frozen=True, slots=True)
class CalibratedDevice:
    """A disk's numbers, the version of fio, and the jobs that did not count."""

    calibration: Calibration
    fio_version: str
    left_out: tuple[str, ...]
    """Names of the jobs that used the page cache, so that they did not measure the disk."""


def calibrated_device(
    report: bytes, kind: DeviceKind | None = None, capacity_bytes: int | None = None, rpm: int | None = None
) -> CalibratedDevice:
    """Return the calibration from fio's report. Raises FormatError if the report is damaged or measures no bandwidth.

    ``kind``: None for the kind that fits the figures. ``rpm`` of a hard disk: None for the typical value.
    """
    fio = parse_fio(report)
    calibration = calibrate(device_measurements(fio), kind=kind, capacity_bytes=capacity_bytes, rpm=rpm)
    return CalibratedDevice(calibration, fio.version, cached_jobs(fio))
