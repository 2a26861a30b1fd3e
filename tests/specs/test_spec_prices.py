"""Test price books and their error messages."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from assay.foundation.errors import SpecificationError
from assay.foundation.units import Money
from assay.interfaces.cli.decide.prices import prices
from assay.model.clusters.price_book import Amortisation, Energy, Exchange, LineItem
from assay.specs import load_prices
from assay.specs.prices import PRICE_UNITS, LineItemSection

BOOK = """\
prices: book
currency: USD
date: 2014-06-01
source: "a paper"
items:
  - {name: All-HDD configuration, price: "$37,561", per: cluster, layouts: [HD2]}
  - {name: worker, price: $2000.50, per: worker, source: "a shop"}
  - {name: hard disk, price: 100 USD, per: device, device: hdd}
"""


def test_a_price_book_holds_its_items_exactly(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(BOOK)
    book = load_prices(file)
    assert (book.name, book.currency, book.date, book.source) == ("book", "USD", "2014-06-01", "a paper")
    assert book.items == (
        LineItem("All-HDD configuration", Decimal(37561), "cluster", layouts=("HD2",)),
        LineItem("worker", Decimal("2000.50"), "worker", source="a shop"),
        LineItem("hard disk", Decimal(100), "device", device="hdd"),
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "$2000.50",
            "€2000",
            "prices.yaml:7: €2,000 is in EUR, but the book's currency is USD and it has no exchange rate for EUR",
        ),
        ("per: worker", "per: rack", "prices.yaml:7: per: unknown unit 'rack'; valid: " + ", ".join(PRICE_UNITS)),
        (
            ", device: hdd",
            "",
            "prices.yaml:8: items: 'per: device' and the key device go together; valid devices: hdd, ssd, nvme, remote",
        ),
        (
            "per: worker",
            "per: worker, device: ssd",
            "prices.yaml:7: items: 'per: device' and the key device go together; valid devices: hdd, ssd, nvme, remote",
        ),
        (
            "device: hdd",
            "device: disk",
            "prices.yaml:8: device: unknown device kind 'disk'; valid: hdd, ssd, nvme, remote",
        ),
        (
            "2014-06-01",
            "2014-02-30",
            "prices.yaml:3: date: '2014-02-30' is not a date; write year-month-day, such as 2014-06-01",
        ),
        (
            "currency: USD",
            "currency: dollars",
            "prices.yaml:2: currency: 'dollars' is not a currency; write its ISO 4217 code: USD, EUR, CHF",
        ),
        ('source: "a paper"\n', "", "prices.yaml:1: key 'source' is missing"),
        (
            "layouts: [HD2]",
            "layout: HD2",
            "prices.yaml:6: unknown key 'layout'; did you mean 'layouts'? "
            "valid: " + ", ".join(LineItemSection.model_fields),
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_and_choices(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = tmp_path / "prices.yaml"
    assert old in BOOK
    file.write_text(BOOK.replace(old, new, 1))
    with pytest.raises(SpecificationError) as caught:
        load_prices(file)
    assert expected in str(caught.value).replace(f"{tmp_path}/", "").split("\n")


FULL = """\
prices: full
currency: USD
date: 2026-01-01
source: "a shop"
valid: {since: 2025-01-01, until: 2026-12-31}
exchange:
  EUR: {rate: 1.25, date: 2026-01-01, source: "a bank"}
amortisation: {years: 4, residual: 10%}
maintenance: 5 %
energy: {price: $0.12, high: $0.20, pue: 1.5}
items:
  - {name: node, price: €4000, low: €3000, high: €5000, per: node, node_type: big, power: 350W, maintenance: 0%}
  - {name: fast, price: $300, per: device, device: nvme, device_name: fast, capacity: 2TB, bandwidth: 3GB/s}
  - {name: volume, price: $0.05, per: GB-month, device: remote, covers: [devices]}
  - {name: link, price: $0.80, per: cluster-hour, when: {network: [IB]}, valid: {since: 2026-01-01}}
  - {name: rack, price: $100, per: cluster, amortisation: {years: 10}}
"""


def test_a_page_instead_of_a_price_book_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("<!doctype html>")
    with pytest.raises(SpecificationError, match="the price book can't be read: the file holds plain text") as caught:
        load_prices(path)
    assert caught.value.where == f"{path}:1"
    hint = caught.value.hint or ""
    assert "examples/lab/prices.yaml" in hint
    assert all(f"`assay prices {name}`" in hint for name in prices.commands if name != "storage"), "every converter"


def test_rents_purchases_power_exchange_and_validity_are_read(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(FULL)
    book = load_prices(file)
    assert (book.valid_from, book.valid_to) == ("2025-01-01", "2026-12-31")
    assert book.exchange == {"EUR": Exchange(Decimal("1.25"), "2026-01-01", "a bank")}
    assert book.amortisation == Amortisation(Decimal(4), Decimal("0.1"))
    assert book.maintenance == Decimal("0.05")
    assert book.energy == Energy(Decimal("0.12"), Decimal("1.5"), None, Decimal("0.20"))
    node, fast, volume, link, rack = book.items
    assert [node.amount, node.low, node.high] == [5000, 3750, 6250]
    assert node.original == Money(Decimal(4000), "EUR")
    assert (node.node_type, node.power_w, node.maintenance) == ("big", Decimal(350), Decimal(0))
    assert (fast.device_name, fast.capacity_bytes, fast.bandwidth_bytes_per_s) == ("fast", 2 * 10**12, 3e9)
    assert (volume.unit, volume.period_h, volume.covers) == ("GB", 730, ("devices",))
    assert (link.when, link.valid_from, link.valid_to) == ({"network": ("IB",)}, "2026-01-01", None)
    assert rack.amortisation == Amortisation(Decimal(10))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("€4000", "€2000", "prices.yaml:12: €2,000 is not between its low and its high price"),
        ("price: $0.12", "price: £1", "prices.yaml:10: £1 is in GBP, but the book's currency is USD and it has no"),
        (
            "until: 2026-12-31",
            "until: 2024-12-31",
            "prices.yaml:5: its first day 2025-01-01 is after its last day 2024-12-31",
        ),
        ("EUR: {rate", "USD: {rate", "prices.yaml:7: USD is the book's own currency"),
        ("rate: 1.25", "rate: 0", "prices.yaml:7: rate: '0' is not a number from 0.000001 to 1000000; write 1.08"),
        ("years: 4", "years: 0", "prices.yaml:8: years: '0' is not a number of years from 0.1 to 100; write 3"),
        ("10%", "110%", "prices.yaml:8: residual: '110%' is not a percentage from 0 to 100; write 10%"),
        ("5 %", "5", "prices.yaml:9: maintenance: '5' is not a percentage from 0 to 100; write 10%"),
        ("pue: 1.5", "pue: 0.9", "pue: '0.9' is not a power usage effectiveness from 1 to 10; write 1.5"),
        ("350W", "350", "power: '350' is not a power from 0 to 1000000000; write 350W"),
        (
            "energy: {price: $0.12, high: $0.20, pue: 1.5}\n",
            "",
            "'node' draws power, but the book has no price of energy",
        ),
        ("per: node, node_type", "per: worker, node_type", "the key node_type goes together with 'per: node'"),
        ("per: device, device: nvme", "per: port", "the key device_name goes together with 'per: device'"),
        (
            "per: cluster, amort",
            "per: cluster-hour, amort",
            "cluster-hour' is a rent, and only purchases have amortisation",
        ),
        ("covers: [devices]", "covers: [disks]", "unknown part 'disks'; valid: nodes, devices, network"),
        (
            "name: rack, price: $100, per: cluster",
            "name: link, price: $0.90, per: cluster-hour, when: {network: [IB]}",
            "is a rent",
        ),
    ],
)
def test_contradictory_prices_are_named(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = tmp_path / "prices.yaml"
    assert old in FULL
    file.write_text(FULL.replace(old, new, 1))
    with pytest.raises(SpecificationError) as caught:
        load_prices(file)
    assert expected in str(caught.value).replace(f"{tmp_path}/", "")


def test_one_price_twice_is_refused_unless_their_days_are_apart(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    again = "  - {name: worker, price: $1900, per: worker, valid: {since: 2015-01-01}}\n"
    file.write_text(BOOK + again)
    with pytest.raises(SpecificationError, match=r":9: 'worker' already exists for the same days"):
        load_prices(file)
    file.write_text(BOOK.replace("per: worker", "per: worker, valid: {until: 2014-12-31}") + again)
    assert len(load_prices(file).items) == 4


def test_prices_older_than_a_year_get_a_warning_with_their_date(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(BOOK)
    book = load_prices(file)
    assert book.age_warning(date(2015, 6, 1)) is None
    assert book.age_warning(date(2013, 1, 1)) is None
    assert book.age_warning(date(2015, 6, 2)) == (
        "warning: the prices of book are of 2014-06-01, more than a year ago: use current prices"
    )
