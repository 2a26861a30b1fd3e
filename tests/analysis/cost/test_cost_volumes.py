"""Test the prices of network volumes: which volumes a price book prices, and for which capacity."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from assay.analysis.cost.volumes import unpriced_volumes, volume_type_of
from assay.foundation.errors import SpecificationError
from assay.model import Device, DeviceKind, PriceBook
from assay.questions.recommendation.instance_choice import volume_price_of
from assay.specs.instances import parse_volumes
from assay.specs.prices import prices_of
from assay.store.formats.instance_prices import VolumePrice, instance_price_book

FIELDS = ("--volumes", "--volume-price", "--iops-price")
VOLUME = VolumePrice(parse_volumes("gp3:1TB:4", "here"), Decimal("0.08"))


def _book(volumes: VolumePrice | None) -> PriceBook:
    text = instance_price_book(
        {"m7i.2xlarge": [Decimal("0.4")]},
        master="m7i.2xlarge",
        region="r",
        spot=False,
        source="s",
        date="2026-11-27",
        volumes=volumes,
    )
    return prices_of(text, "prices")


def _device(name: str, capacity_bytes: int = 10**12) -> Device:
    return Device(name, DeviceKind.SSD, 125e6, 125e6, 3000, 3000, capacity_bytes)


def test_a_volume_of_the_book_costs_its_gibibytes_per_month() -> None:
    item = next(item for item in _book(VOLUME).items if item.device_name)
    # 10^12 bytes are 931.3226 GiB.
    assert (item.per, item.device, item.device_name) == ("device-month", "ssd", "gp3")
    assert float(item.amount) == pytest.approx(931.3226 * 0.08, abs=1e-3)


@pytest.mark.parametrize(
    ("device", "volume_type"), [("gp3", "gp3"), ("gp34", "gp3"), ("local1", None), ("gp", None), ("st12", "st1")]
)
def test_a_volume_is_known_by_the_name_of_its_type(device: str, volume_type: str | None) -> None:
    assert volume_type_of(device) == volume_type


def test_volumes_without_a_price_are_named_once() -> None:
    devices = [_device("local1"), _device("gp31"), _device("gp32")]
    [text] = unpriced_volumes(_book(None), devices)
    assert "no separate price of gp3 volumes" in text
    assert unpriced_volumes(_book(VOLUME), devices) == ()
    assert unpriced_volumes(_book(None), devices[:1]) == ()


def test_a_price_of_another_capacity_is_refused() -> None:
    with pytest.raises(SpecificationError, match="is for 1 TB, and the gp3 volumes have 2 TB"):
        unpriced_volumes(_book(VOLUME), [_device("gp31", 2 * 10**12)])


def test_a_provisioned_volume_costs_its_capacity_and_its_iops() -> None:
    volumes = volume_price_of("io2:1TiB:4:16000", "$0.125", "$0.065", FIELDS)
    book = _book(volumes)
    # 1,024 GiB at $0.125 and 16,000 IOPS at $0.065.
    prices = {item.name: (float(item.amount), item.per, item.iops) for item in book.items if item.device_name}
    assert list(prices.values()) == [(128, "device-month", 16_000), (1040, "device-month", 16_000)]
    assert "16000 IOPS of one io2 volume" in prices
    device = replace(_device("io21", 2**40), read_iops=16_000)
    assert unpriced_volumes(book, [device]) == ()
    with pytest.raises(SpecificationError, match="is for 16,000 IOPS, and the io2 volumes have 32,000"):
        unpriced_volumes(book, [replace(device, read_iops=32_000)])


@pytest.mark.parametrize(
    ("volumes", "price", "iops_price", "problem"),
    [
        ("io2:1TB:4:16000", "$0.125", "", "also need the price of each provisioned IOPS"),
        ("io2:1TB:4:16000", "", "$0.065", "price per GiB and month is missing"),
        ("gp3:1TB:4", "$0.08", "$0.065", "no provisioned IOPS to price"),
        ("", "", "$0.065", "need"),
    ],
)
def test_half_a_price_is_refused(volumes: str, price: str, iops_price: str, problem: str) -> None:
    with pytest.raises(SpecificationError, match=problem):
        volume_price_of(volumes, price, iops_price, FIELDS)
