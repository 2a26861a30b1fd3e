"""Test the clusters that a search compares: their labels, order and prices, and which differ in one choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.analysis.cost.bills import bills
from assay.estimation.recommendation.candidates import candidates, parts_of
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.questions.recommendation.request import Objective
from assay.questions.recommendation.search import best_first
from assay.specs.prices import load_prices
from paths import EXAMPLES

DISKS = """\
catalogue: disks
source: a test
workers:
  node:
    count: 3
    cores: 8
    memory: 32GB
    networks: {10G: 10Gbit/s}
    devices:
      hdd: {kind: hdd, count: [0, 2, 4], read: 150MB/s, write: 150MB/s, iops: 120, capacity: 1TB}
      ssd: {kind: ssd, count: [0, 1], read: 500MB/s, write: 450MB/s, capacity: 1TB}
"""


def test_prices_that_count_as_equal_are_ordered_by_time() -> None:
    amounts, day_s = np.array([100.0, 100.9, 101.1, 300.0]), np.array([30.0, 20.0, 10.0, 5.0])
    assert best_first(Objective.PRICE, amounts, day_s).tolist() == [1, 0, 2, 3]
    assert best_first(Objective.DAY_COST, amounts, day_s).tolist() == [0, 1, 2, 3]
    assert best_first(Objective.PRICE, amounts[:0], day_s[:0]).tolist() == []


def test_a_label_has_words_for_storage_network_and_compression() -> None:
    options = candidates(load_catalogue(EXAMPLES / "hardware" / "catalogue.yaml"))
    labels = [options.label(row) for row in range(len(options))]
    assert len(set(labels)) == len(labels)
    assert "4 × small-server (16 cores, 64 GB), 1 NVMe drive of 3.84 TB, 10 Gbit/s, Snappy compression" in labels
    assert any(
        "4 hard disks of 12 TB (HDFS) + 1 NVMe drive of 3.84 TB (intermediate data), 25 Gbit/s, no compression" in label
        for label in labels
    )


def test_candidates_that_differ_in_one_choice_have_distinct_levels() -> None:
    options = candidates(load_catalogue(EXAMPLES / "hardware" / "catalogue.yaml"))
    levels = [options.levels(row) for row in range(len(options))]
    assert {(level["worker"], level["cores"]) for level in levels} == {("small-server", "16"), ("large-server", "32")}
    row = next(
        row
        for row in range(len(options))
        if options.label(row)
        == "12 × small-server (16 cores, 64 GB), 1 NVMe drive of 3.84 TB, 25 Gbit/s, Snappy compression"
    )
    neighbours = [levels[other] for other in np.flatnonzero(options.differ_in_one_choice(row))]
    assert row not in np.flatnonzero(options.differ_in_one_choice(row))
    assert {other["workers"] for other in neighbours} == {"11", "12", "13"}
    assert all(len(set(other.items()) - set(levels[row].items())) <= 3 for other in neighbours)
    assert any(other["network"] == "10G" and other["memory"] == "64 GB" for other in neighbours)
    assert not any(other["network"] == "10G" and other["memory"] == "128 GB" for other in neighbours)


def test_a_layout_that_the_catalogue_names_is_described_by_its_disks() -> None:
    options = candidates(load_catalogue(EXAMPLES / "sandisk-2014" / "catalogue.yaml"))
    assert {options.label(row) for row in range(len(options))} == {
        "6 × datanode (6 cores, 16 GB), 2 hard disks of 500 GB (All-HDD), 10 Gbit/s",
        "6 × datanode (6 cores, 16 GB), 2 SSDs of 480 GB (All-SSD), 10 Gbit/s",
    }


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/catalogue.yaml")), ids=lambda path: path.parent.name)
def test_every_catalogue_has_clusters_and_its_price_book_prices_them(path: Path) -> None:
    options = candidates(load_catalogue(path))
    priced = bills(load_prices(path.parent / "prices.yaml"), parts_of(options))
    assert len(options) > (path.parent.name != "log-machines"), "only the machines of a log are one cluster"
    assert priced.priced.all()


def test_a_layout_decides_which_disks_are_bought() -> None:
    options = candidates(catalogue_of(DISKS))
    layouts = {machine.layout.name: machine.kinds for machine in options.machines}
    assert layouts["HS2"] == layouts["HY2"] == {"hdd": 2, "ssd": 1}
    assert layouts["SSD"] == {"ssd": 1}
    assert not set(layouts) & {"HS0", ""}
    [split] = [machine for machine in options.machines if machine.layout.name == "HS4"]
    assert {device.name for device in split.intermediate} == {"ssd1"}
