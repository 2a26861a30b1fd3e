"""Test the cost of devices per capacity and per performance: the baseline and refusals."""

from __future__ import annotations

import pytest

from assay.foundation.errors import SpecificationError
from assay.questions.clusters.storage import storage_view
from assay.specs import load_prices
from builders import price_book
from paths import EXAMPLES

LISA14 = EXAMPLES / "lisa14" / "prices.yaml"


def test_the_baseline_is_the_books_first_device_or_the_one_that_is_named() -> None:
    book = load_prices(LISA14)
    first, second = (setup.name for setup in storage_view(book).devices)
    assert storage_view(book).baseline == first
    named = storage_view(book, baseline=second)
    assert named.baseline == second
    (against,) = named.against
    assert against.candidate.name.endswith(first)
    assert against.per_tb_ratio < 1 < storage_view(book).against[0].per_tb_ratio


def test_there_is_no_cost_per_performance_without_a_gain() -> None:
    (unknown,) = storage_view(load_prices(LISA14)).against
    assert unknown.cost_per_performance is None
    (known,) = storage_view(load_prices(LISA14), gain=2.0).against
    assert known.cost_per_performance == pytest.approx(known.price_ratio / 2)


def test_a_book_without_devices_and_an_unknown_baseline_are_refused_with_the_valid_choices() -> None:
    with pytest.raises(SpecificationError, match="no device in price book 'sandisk-2014'"):
        storage_view(price_book())
    with pytest.raises(SpecificationError, match="has no device 'tape'") as refused:
        storage_view(load_prices(LISA14), baseline="tape")
    assert storage_view(load_prices(LISA14)).baseline in str(refused.value.hint)
