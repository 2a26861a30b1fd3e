"""A small catalogue with prices, and recommendations from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.model.clusters.price_book import PriceBook
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.recommendation.measured_types import TimeSources
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import RecommendRequest
from assay.specs.prices import load_prices

CATALOGUE = """\
catalogue: small
source: a test
parameters: {dfs.replication: 2}
workers:
  node:
    count: [3, 5]
    cores: 8
    cpu: {speed: 3, low: 2, high: 4}
    memory: 32GB
    networks: {10G: 10Gbit/s}
    devices:
      hdd: {kind: hdd, count: [0, 2, 4], read: 150MB/s, write: 150MB/s, iops: 120, capacity: 1TB}
      ssd: {kind: ssd, count: [0, 1], read: 500MB/s, write: 450MB/s, capacity: 1TB}
"""
PRICES = """\
prices: small
currency: USD
date: 2026-01-01
source: a test
amortisation: {years: 3}
items:
  - {name: node, price: "$4,000", per: node, low: "$3,500", high: "$5,000"}
  - {name: hdd, price: $200, per: device, device: hdd}
  - {name: ssd, price: $SSD, per: device, device: ssd}
"""
MIX = ("terasort:4GB:4/day", "wordcount:2GB:daily")


def book(folder: Path, ssd: int = 400) -> PriceBook:
    (folder / "prices.yaml").write_text(PRICES.replace("$SSD", f"${ssd}"))
    return load_prices(folder / "prices.yaml")


def answer(pool: SimulatorPool, prices: PriceBook, text: str = CATALOGUE, **asked: Any) -> Recommendation:
    return recommend(RecommendRequest(MIX, **asked), catalogue_of(text), prices, TimeSources(shipped_profile()), pool)
