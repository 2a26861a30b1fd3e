"""Test the cost of an hour: rent, purchase, maintenance, power, exchange rate, validity, and missing prices."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.cost.job_cost import cost_per_job
from assay.analysis.cost.parts import Counts, counts_from_facts
from assay.analysis.cost.prices import bill_of_materials, run_price
from assay.analysis.cost.rate import hourly_rate, in_currency, rate_in_currency
from assay.analysis.cost.repricing import ENERGY, price_names
from assay.analysis.cost.run_cost import cost_per_run
from assay.foundation.errors import SpecificationError
from assay.model.clusters.price_book import Amortisation, Energy, Exchange, LineItem, PriceBook
from assay.model.runs.environment import ClusterFacts

COUNTS = Counts(nodes=7, masters=1, workers=6, layout_devices={"hdd": 2}, levels={"network": "ETH", "cluster": "c"})
MONEY = st.decimals(1, 10**6, places=2)


def book(*items: LineItem, **more: object) -> PriceBook:
    return PriceBook("test", "USD", "2026-01-01", "made up", items, **more)  # type: ignore[arg-type]


def item(amount: str, per: str, device: str | None = None, **more: object) -> LineItem:
    return LineItem(str(more.pop("name", per)), Decimal(amount), per, device, **more)  # type: ignore[arg-type]


def test_rents_add_up_by_what_they_are_counted_by() -> None:
    rate = hourly_rate(
        book(
            item("2", "cluster-hour"),
            item("0.5", "node-hour"),
            item("0.1", "master-hour"),
            item("0.2", "worker-hour"),
            item("0.01", "device-hour", "hdd"),
            item("0.3", "device-set-hour", "hdd"),
            item("0.05", "port-hour"),
            item("73", "cluster-month"),
            item("5", "device-hour", "ssd"),
        ),
        COUNTS,
        "HD2",
    )
    expected = 2 + 7 * 0.5 + 0.1 + 6 * 0.2 + 12 * 0.01 + 2 * 0.3 + 7 * 0.05 + 73 / 730
    assert float(rate.per_h) == pytest.approx(expected)


def test_a_gigabyte_is_one_of_the_layouts_capacity() -> None:
    counts = replace(COUNTS, capacity_bytes=4 * 10**12)
    priced = book(item("1", "node-hour"), item("0.0001", "GB-hour"))
    assert float(hourly_rate(priced, counts, "HD2").per_h) == pytest.approx(7 + 6 * 4000 * 0.0001)
    with pytest.raises(SpecificationError, match="do not record their number"):
        hourly_rate(priced, COUNTS, "HD2")


def test_a_purchase_is_written_off_with_maintenance_and_power() -> None:
    priced = book(
        item("8760", "node", power_w=Decimal(500)),
        item("876", "device", "hdd", maintenance=Decimal(0)),
        amortisation=Amortisation(Decimal(4), Decimal("0.2")),
        maintenance=Decimal("0.1"),
        energy=Energy(Decimal("0.20"), Decimal("1.5")),
    )
    rate = hourly_rate(priced, COUNTS, "HD2")
    by_name = {rated.price.name: float(rated.per_h) for rated in rate.items}
    assert by_name == pytest.approx({"node": 7 * (0.2 + 0.1), "device": 12 * 0.1 * 0.2, ENERGY: 3.5 * 0.2 * 1.5})


def test_a_purchase_without_a_writing_off_is_named() -> None:
    with pytest.raises(SpecificationError, match="'node' in price book 'test' is a purchase"):
        hourly_rate(book(item("10", "node"), item("1", "device", "hdd")), COUNTS, "HD2")


@given(
    MONEY, st.floats(1, 1e6), st.integers(1, 10), st.sampled_from(["0", "0.1", "0.5"]), st.sampled_from(["0", "0.05"])
)
def test_tco_over_the_years_of_the_writing_off_is_the_cost_per_run(
    price: Decimal, runtime_s: float, years: int, residual: str, maintenance: str
) -> None:
    priced = book(
        item(str(price), "cluster", power_w=Decimal(100)),
        item("0.25", "cluster-hour"),
        amortisation=Amortisation(Decimal(years), Decimal(residual)),
        maintenance=Decimal(maintenance),
        energy=Energy(Decimal("0.1"), Decimal("1.2")),
    )
    per_run = cost_per_run(hourly_rate(priced, COUNTS, "HD2").per_h, runtime_s)
    total = run_price(priced, COUNTS, "HD2", years=years).total
    assert cost_per_job(total, runtime_s, years) == pytest.approx(float(per_run))


@given(MONEY, st.floats(0.01, 1e6), st.floats(0.1, 100))
def test_cost_is_linear_in_time_and_in_price(rate: Decimal, duration_s: float, factor: float) -> None:
    cost = float(cost_per_run(rate, duration_s))
    assert float(cost_per_run(rate, duration_s * factor)) == pytest.approx(cost * factor)
    assert float(cost_per_run(3 * rate, duration_s)) == pytest.approx(3 * cost)


@given(MONEY, st.decimals("0.001", 1000, places=4))
def test_an_amount_survives_conversion_to_another_currency_and_back(amount: Decimal, rate: Decimal) -> None:
    priced = book(item(str(amount), "cluster-hour"), exchange={"EUR": Exchange(rate, "2026-01-01", "made up")})
    there = in_currency(amount, priced, "EUR")
    assert abs(there * rate - amount) < Decimal("1e-18")
    shown = rate_in_currency(hourly_rate(priced, COUNTS, "HD2"), priced, "EUR")
    assert (shown.currency, shown.per_h) == ("EUR", there)
    with pytest.raises(SpecificationError, match="no exchange rate for CHF; it has USD, EUR"):
        in_currency(amount, priced, "CHF")


@pytest.mark.parametrize(
    ("items", "missing"),
    [
        ([item("1", "worker-hour"), item("1", "device-hour", "hdd")], "masters"),
        ([item("1", "master-hour"), item("1", "device-hour", "hdd")], "workers"),
        ([item("1", "node-hour")], "hdd devices"),
        ([item("1", "node-hour"), item("1", "device-hour", "ssd")], "hdd devices"),
        ([item("1", "cluster-hour"), item("1", "device-set-hour", "ssd")], "hdd devices"),
        ([item("1", "device-hour", "hdd"), item("1", "cluster-hour", covers=("nodes",))], "network"),
        ([item("1", "cluster-hour", covers=("nodes", "network"))], "hdd devices"),
        ([item("1", "cluster-hour", covers=("devices", "network"))], "masters and workers"),
    ],
)
def test_an_unpriced_part_is_named(items: list[LineItem], missing: str) -> None:
    with pytest.raises(SpecificationError, match=f"no price for the {missing}"):
        hourly_rate(book(*items), COUNTS, "HD2")


def test_a_master_on_a_worker_is_paid_for_with_it_and_an_unknown_one_is_not() -> None:
    priced = book(item("1", "worker-hour"), item("0", "device", "hdd"))
    single = replace(COUNTS, nodes=1, workers=1)
    assert hourly_rate(priced, single, "HD2").per_h == 1
    with pytest.raises(SpecificationError, match="no price for the masters"):
        hourly_rate(priced, Counts(workers=6, layout_devices={"hdd": 2}), "HD2")


def test_an_explicit_zero_is_a_price() -> None:
    priced = book(item("1", "node-hour"), item("0", "device", "hdd"))
    assert hourly_rate(priced, COUNTS, "HD2").per_h == 7


def test_a_price_for_a_level_holds_for_no_other_and_every_level_needs_one() -> None:
    base, infiniband = item("3", "cluster-hour"), item("1", "cluster-hour", name="ib", when={"network": ("IB",)})
    assert hourly_rate(book(base, infiniband), replace(COUNTS, levels={"network": "IB"}), "HD2").per_h == 4
    with pytest.raises(SpecificationError, match="no price for network Ethernet"):
        hourly_rate(book(base, infiniband), COUNTS, "HD2")
    with pytest.raises(SpecificationError, match="depend on network"):
        hourly_rate(book(base, infiniband), replace(COUNTS, levels={}), "HD2")
    rest = item("0", "cluster-hour", name="none", when={"network": ("ETH", "unknown")})
    assert hourly_rate(book(base, infiniband, rest), COUNTS, "HD2").per_h == 3
    assert hourly_rate(book(base, infiniband, rest), replace(COUNTS, levels={}), "HD2").per_h == 3


def test_a_named_device_and_a_node_type_are_priced_apart_from_the_rest() -> None:
    counts = replace(
        COUNTS,
        layout_devices={"nvme": 3},
        device_names={"fast1": "nvme", "fast2": "nvme", "slow": "nvme"},
        node_types={"big": 1, "small": 6},
    )
    priced = book(
        item("10", "device-hour", "nvme", name="fast", device_name="fast"),
        item("1", "device-hour", "nvme"),
        item("100", "node-hour", name="big", node_type="big"),
        item("7", "node-hour"),
    )
    numbers = {counted.item.name: int(counted.count) for counted in bill_of_materials(priced, counts, "own")}
    assert numbers == {"fast": 12, "device-hour": 6, "big": 1, "node-hour": 6}


def test_prices_hold_on_their_days_only() -> None:
    priced = book(
        item("2", "cluster-hour", name="old", valid_to="2025-12-31"),
        item("1", "cluster-hour", name="new", valid_from="2026-01-01", valid_to="2026-06-30"),
        valid_from="2025-01-01",
    )
    assert hourly_rate(priced, COUNTS, "HD2").per_h == 1
    assert hourly_rate(priced, COUNTS, "HD2", on="2025-12-31").per_h == 2
    with pytest.raises(SpecificationError, match="does not price layout HD2"):
        hourly_rate(priced, COUNTS, "HD2", on="2026-07-01")
    with pytest.raises(SpecificationError, match="is valid since 2025-01-01, not on 2024-12-31"):
        hourly_rate(priced, COUNTS, "HD2", on="2024-12-31")


@pytest.mark.parametrize(
    ("code", "devices"),
    [
        ("HDD", {"hdd": 1}),
        ("HD5", {"hdd": 5}),
        ("SS2", {"ssd": 2}),
        ("HS5", {"hdd": 5, "ssd": 1}),
        ("NVE", {"nvme": 1}),
        ("HN10", {"hdd": 10, "nvme": 1}),
        ("HY4", {"hdd": 4, "ssd": 1}),
        ("SH11", {"hdd": 11, "ssd": 1}),
        ("HD100", {"hdd": 100}),
        ("RR3", {"remote": 3}),
        ("R2", {"remote": 2}),
        ("RL1", {"remote": 1, "hdd": 1}),
        ("RS2", {"remote": 2, "ssd": 1}),
        ("custom", {}),
        ("HD0", {}),
        ("", {}),
    ],
)
def test_a_layout_code_determines_the_devices(code: str, devices: dict[str, int]) -> None:
    assert counts_from_facts(None, code, {}).layout_devices == devices


def test_devices_recorded_by_a_run_override_its_layout_code() -> None:
    assert counts_from_facts(ClusterFacts(layout_devices={"ssd": 4}), "HD5", {}).layout_devices == {"ssd": 4}


def test_prices_of_one_name_are_named_by_the_properties_that_differ() -> None:
    layouts = ("HD1", "HD2", "HD3", "HD4")
    disks = [
        LineItem("disk", Decimal(n), "device-set-hour", "hdd", layouts, when={"cluster": (name,)})
        for n, name in enumerate(("c1", "c2"))
    ]
    ports = [LineItem("port", Decimal(1), per) for per in ("port-hour", "cluster-hour")]
    book = PriceBook("b", "USD", "2026-01-01", "test", (*disks, *ports, LineItem("node", Decimal(1), "node-hour")))
    assert price_names(book) == (
        "disk (cluster c1)",
        "disk (cluster c2)",
        "port (per port-hour)",
        "port (per cluster-hour)",
        "node",
    )
