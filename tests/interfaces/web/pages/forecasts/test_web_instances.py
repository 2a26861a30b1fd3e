"""Test the page that chooses instance types: filters, chosen types in the address, and the questions it leads to."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.interfaces.web.server.app import create_app
from assay.questions.recommendation.instances import CatalogueRequest, catalogue_text
from assay.specs.prices import prices_of
from assay.store import Repository
from browser_support import watched_page
from web_support import client_of, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FACTS = {
    "speed-x86_64": "1:0.6:1.6",
    "rates-nvme": "1.4GB/s:900MB/s",
    "price-i4i.2xlarge": "$0.686",
    "price-m6id.2xlarge": "0.4746",
    "date": "2026-11-27",
}
CHOSEN = {"type": ["m6id.2xlarge", "i4i.2xlarge"], "count": "3-8", **FACTS}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Repository.create(tmp_path_factory.mktemp("instances") / "r").root


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with client_of(root) as client_:
        yield client_


def _names(page: str) -> list[str]:
    return [part.split('"', 1)[0] for part in page.split('name="type" value="')[1:]]


def _links(page: str) -> dict[str, str]:
    """Return the links below the chosen types: text to address."""
    listed = page.split('id="next"', 1)[1].split("</ul>", 1)[0]
    parts = [part.split('">', 1) for part in listed.split('<a href="')[1:]]
    return {text.split("<", 1)[0]: unescape(address) for address, text in parts}


def test_filters_select_by_hardware_and_are_in_the_form(client: TestClient) -> None:
    filters = {"name": "*.2xlarge", "vcpus": "8", "memory": "60GB", "disks": "nvme", "architecture": "arm64"}
    page = client.get("/instances", params=filters).text
    names = _names(page)
    assert "i4g.2xlarge" in names
    assert not {"i4i.2xlarge", "m7g.2xlarge", "c6gd.2xlarge"} & set(names)
    assert 'name="memory" value="60GB"' in page
    assert "<option selected>nvme</option>" in page
    everything = client.get("/instances").text
    assert len(_names(everything)) == 50
    assert 'name="max_price"' not in everything
    assert "This server's catalogues have no prices of instance types" in unescape(everything)
    assert '<td class="number" data-label="Memory">64 GiB</td>' in page
    assert _names(client.get("/instances", params={"max_price": "$1"}).text) == []  # no stored book has prices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"vcpus": "many"}, "is not a number of vCPUs"),
        ({"memory": "much"}, "much"),
        ({"disks": "tape"}, "is none of"),
        ({"max_price": "-1"}, "price"),
        ({"type": "i4i.2xlrge"}, "did you mean"),
        ({"type": "m7g.2xlarge"}, "speed of a core of arm64 relative to the profile's machine is not known"),
        ({**CHOSEN, "rates-hdd": "1MB/s:1MB/s", "rates-nvme": ""}, "No source states the rate of the local disks"),
        ({**CHOSEN, "price-i4i.2xlarge": ""}, "has the price of i4i.2xlarge"),
        ({**CHOSEN, "date": "yesterday"}, "yesterday"),
        ({**CHOSEN, "volumes": "gp9:1TB:1"}, "Unknown volume type"),
        ({**CHOSEN, "volumes": "gp3:1TB:1", "volume_price": "cheap"}, "cheap"),
    ],
)
def test_missing_facts_and_invalid_filters_are_explained(
    client: TestClient, params: dict[str, str | list[str]], words: str
) -> None:
    answer = client.get("/instances", params=params)
    page = unescape(answer.text)
    assert answer.status_code == 200
    assert words in page.split('role="alert"', 1)[1].split("</div>", 1)[0]
    assert 'id="next"' not in page


@pytest.mark.slow
def test_chosen_types_lead_to_the_questions_with_their_catalogue_and_prices(client: TestClient) -> None:
    page = client.get("/instances", params=CHOSEN).text
    assert _names(page)[:2] == CHOSEN["type"]
    links = _links(page)
    best, size, whatif = (links[text] for text in list(links)[:3])
    fields = parse_qs(urlsplit(best).query)
    expected = catalogue_text(
        CatalogueRequest(
            ("m6id.2xlarge", "i4i.2xlarge"), "3-8", ("nvme=1.4GB/s:900MB/s",), cpu_speeds=("x86_64=1:0.6:1.6",)
        )
    )
    assert fields["catalogue_text"] == [expected]
    assert [worker.name for worker in catalogue_of(expected).workers] == ["m6id-2xlarge", "i4i-2xlarge"]
    worker, other, master, _rest = prices_of(fields["prices_text"][0], "prices").items
    assert (worker.node_type, str(worker.amount)) == ("m6id-2xlarge", "0.4746")
    assert (other.node_type, str(other.amount), master.per) == ("i4i-2xlarge", "0.686", "master-hour")
    for address in (best, size):
        opened = client.get(address)
        assert opened.status_code == 200
        assert "catalogue: instances" in opened.text
        assert 'role="alert"' not in opened.text
    assert parse_qs(urlsplit(whatif).query) == {
        "worker.type": ["m6id.2xlarge"],
        "worker.devices.local.read": ["1.4GB/s"],
        "worker.devices.local.write": ["900MB/s"],
        "worker.cpu.speed": ["1"],
    }


@pytest.mark.slow
def test_a_stated_price_of_volumes_is_in_the_price_book(client: TestClient) -> None:
    with_volumes = {**CHOSEN, "volumes": "gp3:1TB:2"}
    priced = client.get("/instances", params={**with_volumes, "volume_price": "$0.08"}).text
    book = prices_of(parse_qs(urlsplit(next(iter(_links(priced).values()))).query)["prices_text"][0], "prices")
    [volume] = [item for item in book.items if item.device_name]
    assert (volume.device_name, volume.per, str(volume.amount)) == ("gp3", "device-month", "74.5058")
    provisioned = {**CHOSEN, "volumes": "io2:1TB:2:16000", "volume_price": "$0.125"}
    assert "also need the price of each provisioned IOPS" in client.get("/instances", params=provisioned).text
    page = client.get("/instances", params={**provisioned, "iops_price": "$0.065"}).text
    book = prices_of(parse_qs(urlsplit(next(iter(_links(page).values()))).query)["prices_text"][0], "prices")
    assert [str(item.amount) for item in book.items if item.device_name] == ["116.4153", "1040"]
    extras = {"storage_price": "$0.023", "egress_price": "0.09", "extra_costs": "storage=2TB,idle=3h"}
    links = _links(client.get("/instances", params={**CHOSEN, **extras}).text)
    fields = parse_qs(urlsplit(next(iter(links.values()))).query)
    book = prices_of(fields["prices_text"][0], "prices")
    assert {name: str(extra.amount) for name, extra in book.extras.items()} == {"storage": "0.023", "egress": "0.09"}
    assert fields["extra_costs"] == ["storage=2TB,idle=3h"]
    unpriced = client.get("/instances", params=with_volumes).text
    assert "device-month" not in unpriced
    assert 'name="volume_price" value=""' in unpriced


@pytest.mark.slow
def test_types_need_no_facts_but_prices(client: TestClient) -> None:
    chosen = {"type": ["m6id.2xlarge", "d3.2xlarge"], "price-m6id.2xlarge": "$0.4746", "price-d3.2xlarge": "$1"}
    page = client.get("/instances", params=chosen).text
    links = _links(page)
    assert "as fast as one of the log" in unescape(page)
    assert 'name="volumes" value="gp3:1TB:4"' in page
    [whatif, _other] = [parse_qs(urlsplit(links[text]).query) for text in links if text.startswith("Simulate my")]
    assert whatif == {"worker.type": ["m6id.2xlarge"], "worker.volumes": ["gp3:1TB:4"]}
    page = client.get("/instances", params={**chosen, "rates-hdd": "190MB/s:190MB/s", "price-m6id.2xlarge": ""}).text
    assert "not compared: m6id.2xlarge, whose local disks have an unknown rate" in unescape(page)
    assert "Simulate my runs on m6id.2xlarge" not in _links(page)


@pytest.mark.browser
@pytest.mark.parametrize("width_px", [1440, 390])
def test_a_visitor_filters_chooses_and_reaches_the_search(browser: Browser, root: Path, width_px: int) -> None:
    with served(create_app(root)) as url, watched_page(browser, url, width_px) as watched:
        page = watched.open("/instances")
        page.locator("[name=name]").fill("i4i.*")
        page.locator("[name=vcpus]").fill("8")
        page.get_by_role("button", name="Show").click()
        page.get_by_label("i4i.2xlarge", exact=True).check()
        page.get_by_role("button", name="Choose").click()
        page.locator("[name='price-i4i.2xlarge']").fill("$0.686")
        assert page.locator("[name='speed-x86_64']").input_value() == "1:0.5:2"
        assert page.locator("[name=volumes]").input_value() == "gp3:1TB:4"
        page.get_by_role("button", name="Apply").click()
        assert "type=i4i.2xlarge" in page.url
        assert "vcpus=8" in page.url
        assert "local disks of i4i.2xlarge are not used" in page.locator("#next").inner_text()
        page.locator("[name='speed-x86_64']").fill("1.2")
        page.locator("[name='rates-nvme']").fill("1.4GB/s:900MB/s")
        page.get_by_role("button", name="Apply").click()
        assert "stated without an interval; a factor of 2" in page.locator("#next").inner_text()
        watched.check()
        page.get_by_role("link", name="Size from a log with these types").click()
        page.wait_for_url("**/size?*")
        assert "i4i-2xlarge" in page.locator("[name=catalogue_text]").input_value()
        watched.check()
