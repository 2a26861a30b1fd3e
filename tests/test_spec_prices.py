"""Price books, and the mistakes in them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from assay.errors import SpecificationError
from assay.model.price import LineItem
from assay.spec import load_prices
from assay.spec.prices import COUNTED_BY, LineItemSection

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
        ("$2000.50", "€2000", "prices.yaml:7: €2,000 is in EUR, but the book's currency is USD "
         "and it has no exchange rate for EUR"),
        ("per: worker", "per: rack",
         "prices.yaml:7: per: unknown way to count 'rack'; valid: " + ", ".join(COUNTED_BY)),
        (", device: hdd", "",
         "prices.yaml:8: items: 'per: device' and the key device go together; valid devices: hdd, ssd, nvme, remote"),
        ("per: worker", "per: worker, device: ssd",
         "prices.yaml:7: items: 'per: device' and the key device go together; valid devices: hdd, ssd, nvme, remote"),
        ("device: hdd", "device: disk", "prices.yaml:8: device: unknown device kind 'disk'; valid: hdd, ssd, nvme, remote"),
        ("2014-06-01", "2014-02-30",
         "prices.yaml:3: date: '2014-02-30' is not a date; write year-month-day, such as 2014-06-01"),
        ("currency: USD", "currency: dollars",
         "prices.yaml:2: currency: 'dollars' is not a currency; write its ISO 4217 code: USD, EUR, CHF"),
        ('source: "a paper"\n', "", "prices.yaml:1: key 'source' is missing"),
        ("layouts: [HD2]", "layout: HD2",
         "prices.yaml:6: unknown key 'layout'; did you mean 'layouts'? "
         "valid: " + ", ".join(LineItemSection.model_fields)),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_file_line_and_choices(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = tmp_path / "prices.yaml"
    assert old in BOOK
    file.write_text(BOOK.replace(old, new, 1))
    with pytest.raises(SpecificationError) as caught:
        load_prices(file)
    assert expected in str(caught.value).replace(f"{tmp_path}/", "").split("\n")
