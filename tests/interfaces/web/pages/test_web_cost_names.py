"""Test the matching of prices by item, and messages about incomplete price books and labs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from assay.analysis.cost.parts import Counts
from assay.analysis.cost.prices import run_price
from assay.interfaces.cli.main import assay
from assay.questions.costs.job_cost import LAB_NOTE
from assay.specs.prices import prices_of
from assay.store import Repository
from builders import make_run
from web_support import client_of

BOOK = """\
prices: two-ssds
source: a test
date: 2026-01-05
currency: USD
amortisation: {years: 3, residual: 10%}
maintenance: 5%
energy: {price: $0.1, pue: 1.5}
items:
  - {name: node, price: "$4,000", per: node, power: 200W}
  - {name: SSD, price: $400, per: cluster, layouts: [SS2]}
  - {name: SSD (cache), price: $300, per: cluster, layouts: [HS2]}
  - {name: "SSD: spare", price: $0, per: cluster, layouts: [HS2]}
  - {name: rack, price: $10, per: cluster-month, layouts: [HS2, HD2]}
"""


def client(tmp_path: Path, layouts: tuple[str, ...], book: str = BOOK, lab_scale: float | None = 0.05) -> TestClient:
    made = Repository.create(tmp_path / "r")
    for number in range(4):
        layout = layouts[number % len(layouts)]
        made.publish(make_run(number, layout=layout, levels={"layout": layout}, lab_scale=lab_scale))
    return client_of(made.root, book=prices_of(book, "prices"), book_text=book)


def test_a_bills_lines_say_which_price_they_follow_from() -> None:
    bill = run_price(prices_of(BOOK, "prices"), Counts(nodes=4, masters=1, workers=3), "HS2")
    assert [(line.name, line.price) for line in bill.items] == [
        ("node", "node"),
        ("node: residual value", "node"),
        ("node: maintenance", "node"),
        ("node: power", "energy (kWh)"),
        ("SSD (cache)", "SSD (cache)"),
        ("SSD (cache): residual value", "SSD (cache)"),
        ("SSD (cache): maintenance", "SSD (cache)"),
        ("SSD: spare", "SSD: spare"),
        ("SSD: spare: residual value", "SSD: spare"),
        ("SSD: spare: maintenance", "SSD: spare"),
        ("rack (3 years)", "rack"),
    ]


@pytest.mark.slow
def test_prices_over_years_are_those_that_the_layouts_pay(tmp_path: Path) -> None:
    page = client(tmp_path, ("HS2", "HD2")).get("/cost?view=years").text
    for name in ("node", "SSD (cache)", "rack", "energy (kWh)"):
        assert f'data-price="{name}"' in page
    assert 'data-price="SSD"' not in page, "SSD is paid for on layout SS2 alone"


def test_changing_the_energy_price_changes_the_years(tmp_path: Path) -> None:
    asked = client(tmp_path, ("HS2", "HD2"))
    dear = asked.get("/cost", params={"view": "years", "price.energy (kWh)": "10"}).text
    assert dear.count('class="changed"') == 1
    assert dear != asked.get("/cost?view=years").text


def test_a_price_error_is_shown_on_the_overview(tmp_path: Path) -> None:
    only_ssds = BOOK.replace("per: node, power: 200W", "per: cluster, layouts: [SS2]").replace("[HS2, HD2]", "[SS2]")
    page = client(tmp_path, ("HD2",), only_ssds).get("/").text
    section = page.partition('id="cost-effective"')[2].partition("</section>")[0]
    assert 'role="alert"' in section
    assert "does not price layout HD2" in section
    assert "add a line item" in section or "/cost" in section


@pytest.mark.slow
@pytest.mark.parametrize("lab_scale", [0.05, None])
def test_money_of_a_lab_is_marked_wherever_it_is_shown(lab_scale: float | None, tmp_path: Path) -> None:
    asked = client(tmp_path, ("HS2", "HD2"), lab_scale=lab_scale)
    for address in ("/cost", "/cost?view=years", "/"):
        assert (LAB_NOTE in asked.get(address).text) is (lab_scale is not None), address
    (tmp_path / "book.yaml").write_text(BOOK)
    words = ["--prices", str(tmp_path / "book.yaml"), "--repository", str(tmp_path / "r")]
    for options, note in (([], LAB_NOTE), (["--years", "3"], "measured in a lab at scale 1/20")):
        done = CliRunner().invoke(assay, ["cost", *options, *words])
        assert (note in done.output) is (lab_scale is not None), done.output
