"""Test the hardware of runs: the cluster file and the measured baseline of its devices."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assay.interfaces.report.hardware import hardware_chapter
from assay.interfaces.report.output.document import ReportFigure, Table, plain_text
from assay.interfaces.report.output.pictures import svg
from assay.model.clusters.device_baseline import DeviceBaseline, Measurement
from assay.questions.clusters.hardware import READ, hardware_of
from assay.store import Repository
from builders import make_run
from paths import ROOT

LAB = ROOT / "examples" / "lab" / "cluster.yaml"
NAME = "hdd-vs-ssd"


def read_of(node: str, device: str, value: float) -> Measurement:
    return Measurement(node, device, READ, value, 6e6, modelled=True)


def repository_with_baseline(root: Path, *, described: bool = True, text: str | None = None) -> Repository:
    repository = Repository.create(root)
    run = replace(make_run(1), cluster=NAME, campaign_id="campaign-1", baseline_id="b-1")
    reads = [read_of("worker1", "hdd1", 5e6), read_of("worker1", "hdd2", 6e6), read_of("worker2", "hdd1", 2e6)]
    baseline = DeviceBaseline("b-1", NAME, "2026-11-22T12:00:00Z", {"fio": "3"}, tuple(reads))
    repository.publish(run, files={"baseline.json": msgspec.json.encode(baseline)})
    folder = repository.folders.campaigns / "campaign-1"
    folder.mkdir(parents=True)
    if text is not None:
        (folder / "cluster.yaml").write_text(text)
    elif described:
        shutil.copy(LAB, folder / "cluster.yaml")
    return repository


def test_like_devices_are_one_row_with_the_median_of_what_they_reached(tmp_path: Path) -> None:
    repository = repository_with_baseline(tmp_path / "r")
    view = hardware_of(repository, repository.runs())
    assert [(row.name, row.nodes, row.cores) for row in view.nodes] == [("master", 1, 12), ("worker", 3, 6)]
    hdd, ssd = view.devices
    assert (hdd.devices, hdd.kind, hdd.capacity_bytes) == (("hdd1", "hdd2"), "hdd", 500 * 10**9)
    assert hdd.read is not None
    assert (hdd.read.median, hdd.read.lowest, hdd.read.n) == (5e6, 2e6, 3)
    assert hdd.read.share == pytest.approx(5 / 6)
    assert ssd.read is None
    chapter = hardware_chapter(view)
    assert chapter is not None
    texts = [plain_text(c) for block in chapter.blocks if isinstance(block, Table) for row in block.rows for c in row]
    assert "5 MB/s (83.3 %)" in texts
    assert "not measured" in texts
    (figure,) = [block for block in chapter.blocks if isinstance(block, ReportFigure)]
    disks = "2 hard disks, 2 SSDs, 10 Gbit/s"
    assert figure.make(980)["description"] == f"Cluster: 1 × master with 10 Gbit/s; 3 × worker with {disks}"
    labels = re.findall(r">([^<>]+)</text>", svg(figure))
    assert {"Network", "3 × worker (worker)", "2 hard disks of 500 GB", "2 SSDs of 480 GB", "10 Gbit/s"} <= set(labels)


def test_vendor_models_of_devices_are_shown_and_separate_the_devices(tmp_path: Path) -> None:
    text = LAB.read_text().replace("{kind: hdd, ", "{kind: hdd, model: Maker HD-500, ")
    assert "Maker" in text
    repository = repository_with_baseline(tmp_path / "r", text=text)
    view = hardware_of(repository, repository.runs())
    assert [row.product for row in view.devices] == ["Maker HD-500", ""]
    chapter = hardware_chapter(view)
    assert chapter is not None
    texts = [plain_text(c) for block in chapter.blocks if isinstance(block, Table) for row in block.rows for c in row]
    assert "2 × HDD (hdd1, hdd2), Maker HD-500" in texts
    assert sum("Maker" in line for line in texts) == 1


@pytest.mark.parametrize("text", [None, "cluster: [", "cluster: other\nnodes: 3\n"])
def test_a_cluster_without_a_readable_description_is_named_as_unknown(tmp_path: Path, text: str | None) -> None:
    repository = repository_with_baseline(tmp_path / "r", described=False, text=text)
    view = hardware_of(repository, repository.runs())
    assert (view.nodes, view.devices, view.unknown) == ((), (), (NAME,))
    assert hardware_chapter(view) is None
