"""Test ``assay cost`` and ``assay prices``: text, JSON, and errors."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import AssayError, FormatError, RepositoryError, SpecificationError
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.clusters.cluster_facts import first_facts
from assay.questions.costs.cost_effectiveness import cost_effectiveness_of_table, default_factors
from assay.questions.costs.cost_rows import CostEffectivenessRequest, RowVerdict
from assay.specs import load_prices
from assay.store import Repository
from assay.store.formats.aloja.clusters import COLUMNS, AlojaCluster, parse_clusters
from assay.store.formats.aloja.price_book import price_book_text
from assay.text import levels_text
from builders import make_run
from command import invoke
from paths import ROOT

BOOK = """\
prices: rack
currency: USD
date: 2026-01-01
source: "a shop"
exchange:
  EUR: {rate: 1.25, date: 2026-01-01, source: "a bank"}
amortisation: {years: 3}
items:
  - {name: node, price: $2628, low: $2000, high: $4000, per: node}
  - {name: hard disk, price: $100, per: device, device: hdd}
  - {name: solid-state disk, price: $400, per: device, device: ssd}
"""


def run_of(number: int, layout: str, duration_s: float, **changes: Any) -> Run:
    return make_run(number, layout=layout, duration_s=duration_s, levels={"layout": layout}, **changes)


def sample_runs() -> list[Run]:
    times = {"HD2": [100.0, 104.0, 98.0], "SS2": [60.0, 62.0, 61.0]}
    runs = [
        run_of(i * 10 + j, layout, s)
        for i, (layout, seconds) in enumerate(times.items())
        for j, s in enumerate(seconds)
    ]
    slow = [run_of(50 + j, "SS2", s, parameters={"dfs.blocksize": "32MiB"}) for j, s in enumerate([90.0, 95.0])]
    bad = run_of(70, "SS2", 1.0, status=RunStatus.INVALID)
    other = run_of(80, "HD2", 20.0, workload="wordcount")
    return [*runs, *slow, bad, other]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    created = Repository.create(tmp_path / "r")
    for run in sample_runs():
        created.publish(run)
    (tmp_path / "prices.yaml").write_text(BOOK)
    return tmp_path


def test_costs_are_printed_with_ranking_front_and_flips(repository: Path) -> None:
    arguments = ("cost", "--take", "best", "--prices", repository / "prices.yaml", "--repository", repository / "r")
    brief = invoke(*arguments).output
    assert brief.splitlines()[0].startswith("Cost per run of each job")
    assert "solid-state disk" not in brief
    result = invoke(*arguments, "--details")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert " ".join(lines[0]).startswith("2 SSDs per worker (SS2) have the lowest mean cost")
    assert lines[1][:4] == ["Cost", "per", "run:", "TeraSort,"]
    headers = "Rank Storage layout Runs Time (s) Price per hour Cost per run 95 % interval Pareto front Front in "
    headers += "Verdict"
    first = lines.index(headers.split())
    assert lines[first + 1][:8] == ["1", "2", "SSDs", "(SS2)", "3", "of", "5", "61.0"]
    assert lines[first + 2][1:7] == ["2", "hard", "disks", "(HD2)", "3", "101"]
    assert "lowest mean cost per job" in result.output or "is the cheapest per job" in result.output
    assert "Cost per run: WordCount" in result.output
    assert "1 run does not count" in result.output
    assert "solid-state disk" in result.output


def test_json_has_exact_rates_and_what_the_draws_say(repository: Path) -> None:
    arguments = ("--prices", repository / "prices.yaml", "--repository", repository / "r", "--json")
    terasort, wordcount = json.loads(invoke("cost", "--take", "best", *arguments).output)
    first, second = terasort["rows"]
    assert (first["levels"], first["n"], first["n_all"]) == ({"layout": "SS2"}, 3, 5)
    assert first["rate_per_h"] == pytest.approx((4 * 2628 + 6 * 400) / 3 / 8760)
    assert first["cost"] == pytest.approx(first["rate_per_h"] * first["time_s"] / 3600)
    assert first["time_low_s"] < first["time_s"] < first["time_high_s"]
    assert first["on_pareto_front"]
    assert first["pareto_front_probability"] > 0.99
    assert second["pareto_front_probability"] < 0.01
    assert sum(item["per_h"] for item in first["rate"]["items"]) == pytest.approx(first["rate_per_h"])
    switching = next(row for row in terasort["switching_prices"] if row["price"]["name"] == "solid-state disk")
    assert (switching["above_winner"], switching["within_range"]) == ("HD2", False)
    assert terasort["includes_flagged"] is True
    old_names = {"break_even_prices": "switching_prices", "flagged_count": "includes_flagged"}
    assert all(terasort[old] == terasort[name] for old, name in old_names.items())
    ratio = second["time_s"] / first["time_s"]
    assert switching["above"] == pytest.approx((ratio * (4 * 2628 + 6 * 100) - 4 * 2628) / 6)
    assert [row["levels"]["layout"] for row in wordcount["rows"]] == ["HD2"]
    euros, _ = json.loads(invoke("cost", "--take", "best", *arguments, "--currency", "EUR").output)
    assert euros["currency"] == "EUR"
    assert euros["rows"][0]["cost"] == pytest.approx(first["cost"] / 1.25)


def views(runs: list[Run], tmp_path: Path, text: str = BOOK, **asked: Any) -> Any:
    (tmp_path / "book.yaml").write_text(text)
    table = table_of(runs)
    question = CostEffectivenessRequest(by=asked.pop("by", default_factors(table)), **asked)
    return cost_effectiveness_of_table(
        table,
        first_facts(({**run.levels, "cluster": run.cluster, "layout": run.layout}, run.recorded) for run in runs),
        load_prices(tmp_path / "book.yaml"),
        question,
    )


def test_a_verdict_from_matched_runs_within_the_cheapest_interval_is_explained(tmp_path: Path) -> None:
    seconds = {f"{8 * number}MiB": 60.0 + 12 * number for number in range(1, 11)}
    groups = [(size, layout) for size in seconds for layout in ("HD2", "SS2")]
    runs = [
        run_of(index * 10 + number, layout, seconds[size] + number, parameters={"dfs.blocksize": size})
        for index, (size, layout) in enumerate(groups)
        for number in range(4)
    ]
    (view,) = views(runs, tmp_path)
    explained = "A verdict compares otherwise equal runs"
    assert any(sentence.startswith(explained) for sentence in view.limits)
    assert [row.verdict for row in view.rows] == [RowVerdict.CHEAPEST, RowVerdict.DEARER]
    (clear,) = views([run for run in runs if run.parameters["dfs.blocksize"] == "64MiB"], tmp_path)
    assert not any(sentence.startswith(explained) for sentence in clear.limits)


def test_the_option_take_chooses_the_runs_of_a_row(tmp_path: Path) -> None:
    runs = [run for run in sample_runs() if run.workload == "terasort"]
    times = {}
    for take in ("best", "all", "fastest"):
        (view,) = views(runs, tmp_path, take=take)
        row = next(row for row in view.rows if row.label == "SS2")
        times[take] = (row.n, row.n_all, round(row.time_s, 1))
        assert ("dfs.blocksize" in row.configuration) is False
    assert times == {"best": (3, 5, 61.0), "all": (5, 5, 72.0), "fastest": (1, 5, 60.0)}


def test_jobs_of_another_size_or_origin_are_never_in_one_plane(tmp_path: Path) -> None:
    runs = [
        run_of(1, "HD2", 100.0),
        run_of(2, "HD2", 10.0, data_bytes=1),
        run_of(3, "HD2", 5.0, origin=Origin.PUBLISHED),
    ]
    assert [view.rows[0].time_s for view in views(runs, tmp_path)] == [100.0, 10.0, 5.0]


def test_warm_runs_do_not_count_together_with_cold_ones(tmp_path: Path) -> None:
    (view,) = views([run_of(1, "HD2", 100.0), run_of(2, "HD2", 10.0, cold=False)], tmp_path)
    assert (view.rows[0].time_s, view.left_out) == (100.0, 1)


def test_runs_that_tell_neither_layout_nor_cluster_can_be_priced_as_a_whole(tmp_path: Path) -> None:
    text = BOOK[: BOOK.index("  - {name: node")] + "  - {name: all, price: $3.60, per: cluster-hour}\n"
    (view,) = views([make_run(1, layout="", cluster="", levels={}, environment={}, duration_s=10.0)], tmp_path, text)
    assert (view.by, view.rows[0].label, view.rows[0].cost) == ((), "", Decimal("0.01"))


def test_a_layout_without_a_price_is_left_out_by_name_and_refused_alone(tmp_path: Path) -> None:
    nvme = run_of(
        9, "NVE", 30.0, environment={"cluster": {"nodes": 4, "masters": 1, "workers": 3, "layout_devices": {"nvme": 1}}}
    )
    with pytest.raises(SpecificationError, match="no price for the nvme devices of layout NVE"):
        views([nvme], tmp_path)
    (view,) = views([run_of(1, "HD2", 100.0), nvme], tmp_path)
    assert [row.label for row in view.rows] == ["HD2"]
    assert list(view.unpriced) == ["NVE"]


def test_a_wrong_request_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="no run has a factor 'disk'"):
        views(sample_runs(), tmp_path, by=("disk",))
    with pytest.raises(RepositoryError, match="no valid run to price"):
        views([run_of(1, "HD2", 5.0, status=RunStatus.FAILED)], tmp_path)
    with pytest.raises(SpecificationError, match="prices layout HD2 at 0"):
        views(
            [run_of(1, "HD2", 5.0)],
            tmp_path,
            BOOK.replace("$2628, low: $2000, high: $4000", "$0").replace("$100", "$0"),
        )


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--on", "yesterday", "is not a date"),
        ("--currency", "CHF", "no exchange rate"),
        ("--by", "disk", "no run has a factor"),
    ],
)
def test_wrong_options_are_errors_without_a_traceback(repository: Path, option: str, value: str, words: str) -> None:
    result = invoke("cost", "--prices", repository / "prices.yaml", "--repository", repository / "r", option, value)
    assert isinstance(result.exception, AssayError)
    assert words in str(result.exception)


CLUSTERS = (
    ",".join([*COLUMNS, "attached_volumes", "disk_size_GB", "disks", "nets", "description"])
    + """
1,rack-01,on-premise,On-premise,8,R,,12,64,3.50,0.20,0.70,0.80,5,980,HDD SSD,ETH IB,
2,cloud-02,azure,IaaS,8,A7,,8,56,7.92,0.042,0,0,0,256,SSD,,
3,shell-03,google,PaaS,8,n1,,4,15,$(bc <<< ,$(bc <<< ,0,0,0,40,HDD,,
4,none-04,rackspace,PaaS,8,n1,,4,15,0,0,0,0,0,40,HDD,,
5,stand-in-05,hdinsight,PaaS,8,n1,,4,15,1000,0.17,0,0,0,40,RR1,,
"""
)


def aloja_run(number: int, cluster: str, layout: str, network: str | None = "ETH", duration_s: float = 3600.0) -> Run:
    levels = {"layout": layout} | ({"network": network} if network else {})
    return replace(
        make_run(number, cluster=cluster, layout=layout, duration_s=duration_s, environment={}), levels=levels
    )


@pytest.mark.parametrize(
    ("cluster", "layout", "network", "cost"),
    [
        ("rack-01", "SS2", "IB", 3.5 + 1.4 + 0.8),
        ("rack-01", "HS5", "ETH", 3.5 + 1.0 + 0.7),
        ("rack-01", "HDD", "ETH", 3.7),
        ("cloud-02", "RR3", "ETH", 7.92 + 3 * 0.042),
        ("cloud-02", "RL2", None, 7.92 + 2 * 0.042),
        ("cloud-02", "SSD", "IB", 7.92),
    ],
)
def test_alojas_clusters_cost_the_result_of_alojas_formula(
    tmp_path: Path, cluster: str, layout: str, network: str | None, cost: float
) -> None:
    text = price_book_text(parse_clusters(CLUSTERS), source="list.csv", date="2015-10-01")
    (view,) = views([aloja_run(1, cluster, layout, network)], tmp_path, text)
    assert float(view.rows[0].cost) == pytest.approx(cost)


def test_rows_have_titles_in_words_and_labels_of_codes(tmp_path: Path) -> None:
    text = price_book_text(parse_clusters(CLUSTERS), source="list.csv", date="2015-10-01")
    (view,) = views([aloja_run(1, "rack-01", "SS2", "IB"), aloja_run(2, "rack-01", "HS5")], tmp_path, text)
    titles = {row.label: levels_text(row.levels) for row in view.rows}
    assert titles == {"SS2 IB": "2 SSDs (SS2), InfiniBand", "HS5 ETH": "5 hard disks + 1 SSD (HS5), Ethernet"}


@pytest.mark.parametrize("cluster", ["shell-03", "none-04", "stand-in-05", "rack-99"])
def test_alojas_clusters_without_a_price_are_left_out_with_a_comment(tmp_path: Path, cluster: str) -> None:
    text = price_book_text(parse_clusters(CLUSTERS), source="list.csv", date="2015-10-01")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert len(comments) == 3
    assert (cluster in comments[-1]) is (cluster != "rack-99")
    with pytest.raises(SpecificationError, match=f"no price for cluster {cluster}"):
        views([aloja_run(1, cluster, "HDD")], tmp_path, text)


def test_the_command_prints_alojas_prices_and_the_storage_view(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(CLUSTERS)
    result = invoke("prices", "aloja", tmp_path / "list.csv", "--date", "2014-09-30")
    assert result.exit_code == 0, result.output
    (tmp_path / "book.yaml").write_text(result.output)
    assert load_prices(tmp_path / "book.yaml").date == "2014-09-30"
    lisa = ROOT / "examples" / "lisa14" / "prices.yaml"
    shown = invoke("prices", "storage", lisa, "--gain", "1.27")
    assert "35 × SATA hard disk" in shown.output
    (against,) = json.loads(invoke("prices", "storage", lisa, "--gain", "1.27", "--json").output)["against"]
    assert round(against["cost_per_performance"], 1) == 2.5
    nothing = invoke("prices", "storage", tmp_path / "book.yaml")
    assert "no device in price book 'aloja'" in str(nothing.exception)


ONE_EXEC = """\
id_exec,id_cluster,exec,bench,exe_time,start_time,end_time,net,disk,bench_type,maps,iosf,replication,iofilebuf,comp,\
blk_size,valid
7,1,20140310_101500_conf_IB_HS2_b_m8_i10_r1_I65536_c3_z64/terasort,terasort,600.000,2014-03-10 10:20:00,\
2014-03-10 10:30:00,IB,HS2,b,8,10,1,65536,3,64,1
"""


def test_alojas_prices_are_the_same_from_the_list_its_folder_and_a_repository(tmp_path: Path) -> None:
    tables, repository = tmp_path / "tables", tmp_path / "repository"
    tables.mkdir()
    clusters, execs = tables / "aloja-clusters.csv", tables / "execs.csv"
    clusters.write_text(CLUSTERS)
    execs.write_text(ONE_EXEC)
    assert invoke("import", "aloja", execs, clusters, "--repository", repository).exit_code == 0
    books = [invoke("prices", "aloja", source) for source in (clusters, tables, repository)]
    assert [book.exit_code for book in books] == [0, 0, 0]
    assert len({book.output for book in books}) == 1
    assert "rack-01" in books[0].output


def test_alojas_prices_of_a_repository_without_the_list_are_refused(tmp_path: Path, repository: Path) -> None:
    refused = invoke("prices", "aloja", repository / "r").exception
    assert isinstance(refused, SpecificationError)
    assert "there is no aloja-clusters.csv in this repository" in str(refused)


@given(
    st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\ufeff"), min_size=1, max_size=30),
    st.decimals("0.000001", 998, places=6),
)
def test_any_cluster_name_and_price_survive_the_price_book(name: str, price: Decimal) -> None:
    cells = dict.fromkeys([*COLUMNS], "0") | {"conf_name": name, "cost_hour": f"{price:f}"}
    text = io.StringIO()
    csv.writer(text).writerows([list(cells), list(cells.values())])
    clusters = parse_clusters_or_none(text.getvalue())
    if clusters is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.yaml"
        path.write_text(price_book_text(clusters, source="list.csv", date="2015-10-01"), encoding="utf-8")
        item = load_prices(path).items[0]
    assert item.when == {"cluster": (clusters[0].name,)}
    assert item.amount == price


def parse_clusters_or_none(text: str) -> list[AlojaCluster] | None:
    """Return the clusters; None where the list itself is refused, such as a name that means none."""
    try:
        return parse_clusters(text)
    except FormatError:
        return None
