"""Test dates, origins and commands on pages: no empty columns, no doubled words, no raw backticks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.interfaces.web.rendering.rendering import prose
from assay.model import Origin
from assay.store import Repository
from builders import make_run
from web_support import client_of


def runs(folder: Path, *started: str, **changes: object) -> Path:
    made = Repository.create(folder / "r")
    for number, start in enumerate(started):
        made.publish(make_run(number, started_at=start, duration_s=60.0 - number, **changes))
    return made.root


def times(page: str) -> list[str]:
    return re.findall(r'<td class="number"[^>]*>([0-9.]+)</td>', page)


def test_runs_without_dates_have_no_column_of_dashes_and_come_fastest_first(tmp_path: Path) -> None:
    client = client_of(runs(tmp_path, "", "", ""))
    page = client.get("/runs").text
    assert "Started (UTC)" not in page
    assert times(page) == ["58.0", "59.0", "60.0"]
    assert re.search(r'aria-sort="ascending"><a href="/runs\?sort=-duration_s">Time', page)
    assert times(client.get("/runs?sort=-duration_s").text) == ["60.0", "59.0", "58.0"]


def test_dated_runs_come_newest_first(tmp_path: Path) -> None:
    page = client_of(runs(tmp_path, "2026-01-05T10:00:00Z", "2026-01-07T10:00:00Z", "2026-01-06T10:00:00Z")).get(
        "/runs"
    )
    assert re.search(r'aria-sort="descending"><a href="/runs\?sort=started_unix_s">Started', page.text)
    assert times(page.text) == ["59.0", "58.0", "60.0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("started", "phrase"),
    [
        (("2026-01-05T10:00:00Z", "2026-01-07T10:00:00Z"), "2026-01-05 to 2026-01-07"),
        (("2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z"), "2026-01-05"),
        (("", ""), "no run has a date"),
    ],
)
def test_the_card_of_one_origin_says_when_it_was_and_not_the_origin_again(
    started: tuple[str, str], phrase: str, tmp_path: Path
) -> None:
    page = client_of(runs(tmp_path, *started)).get("/").text
    card = page.partition('<b class="words">')[2].partition("</li>")[0]
    assert re.findall(r"<span>([^<]*)</span>", card) == [phrase]
    assert card.count("measured") == 2, "in the badge's class and its word"


@pytest.mark.slow
def test_the_card_of_several_origins_counts_each(tmp_path: Path) -> None:
    root = runs(tmp_path, "", "")
    Repository(root).publish(make_run(9, origin=Origin.SIMULATED))
    card = client_of(root).get("/").text.partition('<b class="words">')[2].partition("</li>")[0]
    assert "2 measured, 1 simulated" in card


def test_commands_in_messages_are_code_and_everything_else_is_text() -> None:
    text = "<b> `assay anomalies --second-opinion` & `x<y` lists `them"
    assert prose(text) == (
        "&lt;b&gt; <code>assay anomalies --second-opinion</code> &amp; <code>x&lt;y</code> lists `them"
    )


@pytest.mark.slow
def test_no_page_prints_a_backtick(tmp_path: Path) -> None:
    made = Repository.create(tmp_path / "r")
    number = 0
    for layout in ("HD2", "SS2"):
        for block in ("16MiB", "32MiB", "64MiB", "128MiB", "256MiB"):
            for factor in (1.0, 1.02, 0.99, 30.0 if block == "64MiB" else 1.01):
                number += 1
                made.publish(
                    make_run(
                        number,
                        layout=layout,
                        levels={"layout": layout, "dfs.blocksize": block},
                        parameters={"dfs.blocksize": block},
                        duration_s=factor * (60.0 if layout == "HD2" else 30.0),
                    )
                )
    client = client_of(made.root)
    addresses = (
        "/predict",
        "/predict?where=workload=terasort&where=layout=SS2",
        "/predict?where=nothing=1",
        "/runs/nothing",
    )
    pages = [client.get(address).text for address in addresses]
    assert any("<code>assay anomalies" in page for page in pages), "the notices name commands"
    assert not [page for page in pages if "`" in re.sub(r"(?s)<script.*?</script>", "", page)]


@pytest.mark.slow
def test_an_unanswered_question_has_its_next_step_in_words_and_a_link_to_the_plan(tmp_path: Path) -> None:
    root = runs(tmp_path, "", "", "", workload="sort")
    client = client_of(root)
    page = client.get("/").text
    cards = {
        name: text.partition("</section>")[0]
        for name, text in re.findall(r'data-question="(\w+)"(.*?)(?=data-question|$)', page, re.DOTALL)
    }
    assert "Next: Plan 6 runs of Sort with Ethernet and InfiniBand, about 6 min." in cards["network"]
    assert not re.search(
        r"[{}`]|factors:", re.sub(r"<script.*?</script>", "", "".join(cards.values()), flags=re.DOTALL)
    )
    for name, field in (("network", "network: ETH, IB"), ("storage", 'value="HD2, SS2"')):
        address = re.search(r'href="(/plan\?[^"]*)"', cards[name])
        assert address is not None
        plan = client.get(address[1].replace("&amp;", "&")).text
        assert field in plan
        assert '<option value="sort" selected>' in plan
    copied = re.search(r'<p class="command"><code>([^<]*)</code> <button[^>]* data-copy="([^"]*)"', cards["cheapest"])
    assert copied is not None
    assert copied[1] == copied[2] == f"assay decide cheapest --prices FILE --repository {root}"
