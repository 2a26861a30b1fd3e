"""Write examples/instances/aws.csv from the PyPI package moto: ``python tools/instances.py moto-….whl``.

moto (Apache-2.0) has the result of Amazon's call DescribeInstanceTypes as ``ec2/resources/instance_types.json.gz``.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from assay.specs.instances import COLUMNS, InstanceRow

ROOT = Path(__file__).parents[1]
RESOURCE = "moto/ec2/resources/instance_types.json.gz"
ACCELERATORS = {
    "GpuInfo": "Gpus",
    "NeuronInfo": "NeuronDevices",
    "InferenceAcceleratorInfo": "Accelerators",
    "FpgaInfo": "Fpgas",
    "MediaAcceleratorInfo": "Accelerators",
}
MAC_SUFFIX = "_mac"


def row_of(entry: dict[str, Any], source: str) -> InstanceRow:
    """Return the table's row for an entry of DescribeInstanceTypes."""
    processor, cpus = entry["ProcessorInfo"], entry["VCpuInfo"]
    cards = entry["NetworkInfo"].get("NetworkCards", [])
    volumes = entry["EbsInfo"].get("EbsOptimizedInfo", {})
    storage = entry.get("InstanceStorageInfo", {})
    disks = storage.get("Disks", [])
    disk_kind = ""
    if disks:
        disk_kind = (
            "nvme" if storage.get("NvmeSupport") == "required" and disks[0]["Type"] == "ssd" else disks[0]["Type"]
        )
    clock_ghz = processor.get("SustainedClockSpeedInGhz")
    counts = [part.get("Count", 1) for key, name in ACCELERATORS.items() for part in entry.get(key, {}).get(name, [])]
    return InstanceRow(
        provider="aws",
        instance_type=entry["InstanceType"],
        architecture=next(name for name in reversed(processor["SupportedArchitectures"])),
        processor=processor.get("Manufacturer", ""),
        clock_ghz=clock_ghz,
        cores=cpus["DefaultCores"],
        vcpus=cpus["DefaultVCpus"],
        memory_mib=entry["MemoryInfo"]["SizeInMiB"],
        accelerators=sum(counts),
        disk_kind=disk_kind,
        disks=disks[0]["Count"] if disks else 0,
        disk_gb=disks[0]["SizeInGB"] if disks else 0,
        network_gbit_per_s=_total(cards, "BaselineBandwidthInGbps"),
        network_burst_gbit_per_s=_total(cards, "PeakBandwidthInGbps"),
        volume_mb_per_s=volumes.get("BaselineThroughputInMBps"),
        volume_burst_mb_per_s=volumes.get("MaximumThroughputInMBps"),
        volume_iops=volumes.get("BaselineIops"),
        volume_burst_iops=volumes.get("MaximumIops"),
        burstable="yes" if entry["BurstablePerformanceSupported"] else "no",
        current_generation="yes" if entry["CurrentGeneration"] else "no",
        source=source,
    )


def _total(cards: list[dict[str, Any]], key: str) -> float | None:
    rates = [card[key] for card in cards if card.get(key) is not None]
    return round(sum(rates), 3) if rates else None


def main(wheel: Path) -> int:
    """Write the table; Mac computers are left out, since Hadoop clusters run Linux."""
    source = " ".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as archive:
        entries: dict[str, dict[str, Any]] = json.loads(gzip.decompress(archive.read(RESOURCE)))
    rows = [row_of(entry, source) for _, entry in sorted(entries.items())]
    rows = [row for row in rows if not row.architecture.endswith(MAC_SUFFIX)]
    target = ROOT / "examples/instances/aws.csv"
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            values = [getattr(row, field.name) for field in fields(row)]
            writer.writerow(
                ["" if value is None else f"{value:g}" if isinstance(value, float) else value for value in values]
            )
    sys.stdout.write(f"{target}: {len(rows)} instance types, {sum(bool(row.disks) for row in rows)} with local disks\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
