"""Price books: dated, sourced purchase prices in one currency, apart from clusters and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from assay.model.cluster import DeviceKind
from assay.model.price import LineItem, PriceBook
from assay.spec.document import Problems, read_document
from assay.spec.fields import CurrencyCode, Date, Label, Name, Price, Text, choice
from assay.spec.section import Section, parse

COUNTED_BY = ("cluster", "node", "master", "worker", "device")


class LineItemSection(Section):
    """One price."""

    name: Text
    """What is bought."""
    price: Price
    """Price of one, in the book's currency."""
    per: Annotated[str, choice("way to count", COUNTED_BY)]
    """What it is counted by: once for the cluster, or for each node, master, worker or device."""
    device: Annotated[str, choice("device kind", DeviceKind)] | None = None
    """With ``per: device``: the kind of device, counted once for each that the layout uses."""
    layouts: list[Label] = Field(default_factory=list)
    """Only these layouts cost this; all do when absent."""
    source: Text | None = None
    """Where this price is from, when it is not the book's source."""

    @model_validator(mode="after")
    def _device_when_counted_by_device(self) -> Self:
        if (self.per == "device") != (self.device is not None):
            raise ValueError(f"'per: device' and the key device go together; valid devices: {', '.join(DeviceKind)}")
        return self


class PriceFile(Section):
    """A price book."""

    prices: Name
    """The price book's name."""
    currency: CurrencyCode
    """Currency of every price in it."""
    date: Date
    """Day on which the prices held."""
    source: Text
    """Where the prices are from."""
    items: list[LineItemSection] = Field(min_length=1)
    """What is paid for."""


def load_prices(path: str | Path) -> PriceBook:
    """Return the price book at ``path``; raise :class:`SpecificationError` naming file and line."""
    document = read_document(path)
    file = parse(PriceFile, document)
    problems = Problems(document)
    for index, item in enumerate(file.items):
        if item.price.currency != file.currency:
            message = f"{item.price} is in {item.price.currency}, but the book's currency is {file.currency}"
            problems.add(("items", index, "price"), message)
    problems.raise_if_any()
    items = tuple(
        LineItem(item.name, item.price.amount, item.per, item.device, tuple(item.layouts), item.source)
        for item in file.items
    )
    return PriceBook(file.prices, file.currency, file.date, file.source, items)
