"""Test a published site: what its files say, what is removed, and what a second publication writes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.interfaces.publish.site_folder import LISTING, STAGING, SiteFile, write_site
from assay.model import Check, Trace
from assay.store import Repository
from builders import make_run
from command import printed
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from question_table import BSC, PRICES

pytestmark = pytest.mark.slow
PRIVATE = ("zebra17", "10.99.88.77", "/srv/quagga", "alice.okapi", "quagga-secret")
"""Names that the planted run has in private fields."""


def published(repository: Path, site: Path, *options: str) -> Result:
    return CliRunner().invoke(assay, ["publish", str(site), "--repository", str(repository), *options])


def contents(site: Path) -> dict[str, bytes]:
    return {str(path.relative_to(site)): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def bsc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("publish") / "bsc"
    printed("import", BSC / "measured" / "runs.csv", "--repository", folder)
    return folder


@pytest.fixture(scope="module")
def site(bsc: Path) -> Path:
    done = published(bsc, bsc.parent / "site", "--prices", PRICES)
    assert done.exit_code == 0, done.output
    return bsc.parent / "site"


COMMANDS = ("next_command", "plan_command")


def test_the_decide_page_has_the_answer_of_the_command(bsc: Path, site: Path) -> None:
    page = " ".join(re.sub(r"<[^>]+>", " ", (site / "index.html").read_text()).split())
    views = json.loads(printed("decide", "--prices", PRICES, "--repository", bsc, "--json"))
    for view in views:
        assert view["question"] in page
        assert view["answer"] in page
    storage = json.loads(printed("decide", "storage", "--prices", PRICES, "--repository", bsc, "--json"))
    decisions = json.loads((site / "downloads" / "decisions.json").read_text())
    for view in [*views, *decisions["questions"]]:  # commands of a site name no folder of the machine that wrote it
        view |= {name: re.sub(r" --(prices|repository) \S+", "", view[name] or "") for name in COMMANDS}
    assert decisions["questions"] == views
    assert decisions["decisions"]["storage"] == storage
    assert storage[0]["decision"]["results"][0]["time"]["ratio"] > 0


def test_pages_link_to_files_of_the_site_alone(site: Path) -> None:
    for page in site.rglob("*.html"):
        for address in re.findall(r'(?:href|src)="([^"#]*)', page.read_text()):
            if address:
                assert (page.parent / address).resolve().is_file(), (page.name, address)


def test_the_downloads_have_every_run_and_can_be_pulled(bsc: Path, site: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((site / "downloads" / "runs.csv").read_text())))
    runs = {run.run_id: run for run in Repository.open(bsc).runs()}
    assert {row["run_id"]: float(row["duration_s"]) for row in rows} == {i: r.duration_s for i, r in runs.items()}
    printed("pull", site / "downloads" / "runs.tar.gz", "--repository", tmp_path / "pulled")
    printed("import", site / "downloads" / "runs.parquet", "--repository", tmp_path / "imported")
    for name in ("pulled", "imported"):
        assert {run.run_id for run in Repository.open(tmp_path / name).runs()} == runs.keys()
    words = ("decide", "storage", "--prices", PRICES, "--json", "--repository")
    assert printed(*words, tmp_path / "pulled") == printed(*words, bsc)


def test_every_run_has_a_page_with_the_answers_of_the_command(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "r")
    run = hybrid_run()
    for run_id in (run.run_id, make_run(10).run_id):
        store.publish(replace(run, run_id=run_id), tasks=hybrid_tasks(), trace=hybrid_trace())
    assert published(store.root, tmp_path / "site").exit_code == 0
    page = (tmp_path / "site" / "runs" / f"{run.run_id}.html").read_text()
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    limits = printed("show", run.run_id, "--limits", "--repository", store.root)
    assert limits.splitlines()[0] in words
    chart = json.loads(re.search(r'data-for="over-time">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    titles = " ".join(panel["title"]["text"] for panel in chart["vconcat"])
    assert "Tasks, a lane for each container" in titles
    assert "Network sent" in titles
    assert '"linked":"all"' in (tmp_path / "site" / "data" / "runs.js").read_text()


def test_the_page_of_a_long_run_on_many_nodes_is_small(tmp_path: Path) -> None:
    trace, times_s = Trace(), [float(second) for second in range(2400)]
    for node in range(40):
        for subject, metric in (("disk:sda", "read_bytes"), ("disk:sda", "write_bytes"), ("cpu", "user_s")):
            values = [second * 1e6 * (1 + node) + 1e5 * (node + math.sin(second)) / 3 for second in times_s]
            trace.append_series(times_s, values, f"w{node:02}", subject, metric, counter=True)
    store = Repository.create(tmp_path / "r")
    run = replace(hybrid_run(), duration_s=2400.0)
    store.publish(run, trace=trace)
    assert published(store.root, tmp_path / "site").exit_code == 0
    page = tmp_path / "site" / "runs" / f"{run.run_id}.html"
    assert 100_000 < page.stat().st_size < 1_000_000
    assert "busiest of 40" in page.read_text()


def test_a_second_publication_writes_only_what_changed(bsc: Path, tmp_path: Path) -> None:
    first = published(bsc, tmp_path / "site", "--json")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*")}
    again = published(bsc, tmp_path / "site", "--json")
    assert json.loads(first.stdout)["unchanged"] == 0
    assert json.loads(again.stdout)["written"] == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*")} == before
    priced = published(bsc, tmp_path / "site", "--prices", PRICES, "--json")
    assert json.loads(priced.stdout)["written"] == 6 + 16  # decisions, costs, and the links of all pages to Cost
    (tmp_path / "site" / "index.html").write_text("edited")
    repaired = published(bsc, tmp_path / "site", "--prices", PRICES, "--json")
    assert json.loads(repaired.stdout)["written"] == 1


def test_private_fields_are_removed_and_listed(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "r")
    names = {node: f"zebra17-{node}" for node in {task.node for task in hybrid_tasks()}}
    run = replace(
        hybrid_run(),
        cause="quagga-secret",
        checks=(Check("output", True, "read hdfs://zebra17/quagga-secret"),),
        environment={"nodes": {"zebra17": {"address": "10.99.88.77"}}, "user": "alice.okapi"},
        parameters={"dfs.data": "/srv/quagga/1", "owner": "alice.okapi", "dfs.replication": "3"},
    )
    trace = hybrid_trace()
    trace.node[:] = [f"zebra17-{node}" for node in trace.node]
    tasks = [msgspec.structs.replace(task, node=names[task.node]) for task in hybrid_tasks()]
    store.publish(run, tasks=tasks, trace=trace, logs={"client.log": b"alice.okapi@zebra17"})
    done = published(store.root, tmp_path / "site")
    assert done.exit_code == 0, done.output
    for field in ("cause", "checks: detail", "environment", "parameters: dfs.data", "parameters: owner"):
        assert f"  {field} (1 run): " in done.stdout
        assert f">{field}<" in (tmp_path / "site" / "data.html").read_text()
    printed("pull", tmp_path / "site" / "downloads" / "runs.tar.gz", "--repository", tmp_path / "pulled")
    pulled = Repository.open(tmp_path / "pulled")
    texts = [content.decode("latin1") for content in contents(tmp_path / "site").values()]
    texts += [repr(pulled.runs()), repr(pulled.tasks(run.run_id))]
    texts.append(repr(pulled.trace(run.run_id)))
    for text in texts:
        assert [name for name in PRIVATE if name in text] == []
    assert pulled.runs()[0].parameters == {"dfs.replication": "3"}
    assert len(pulled.tasks(run.run_id)) == len(tasks)
    assert len(pulled.trace(run.run_id)) == len(trace)


def test_kept_private_fields_are_published(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "r")
    store.publish(replace(hybrid_run(), parameters={"dfs.data": "/srv/quagga/1"}))
    done = published(store.root, tmp_path / "site", "--keep-private")
    assert "Removed" not in done.stdout
    assert "/srv/quagga/1" in (tmp_path / "site" / "downloads" / "runs.csv").read_text()
    assert "Nothing was removed" in (tmp_path / "site" / "data.html").read_text()


def test_a_folder_with_other_files_is_not_overwritten(bsc: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    done = published(bsc, tmp_path)
    assert isinstance(done.exception, SpecificationError)
    assert done.exception.message == "the folder holds other files, for example 'thesis.tex'; nothing was written"
    assert contents(tmp_path) == {"thesis.tex": b"mine"}


def test_a_file_in_the_place_of_a_new_page_is_not_overwritten(tmp_path: Path) -> None:
    files = [SiteFile("a.html", lambda: b"a")]
    write_site(tmp_path, files, lambda done, total: None)
    (tmp_path / "b.html").write_text("mine")
    with pytest.raises(SpecificationError, match="was not written by `assay publish`"):
        write_site(tmp_path, [*files, SiteFile("b.html", lambda: b"b")], lambda done, total: None)
    assert (tmp_path / "b.html").read_text() == "mine"


def test_files_that_the_site_no_longer_has_are_deleted(tmp_path: Path) -> None:
    write_site(tmp_path, [SiteFile("a", lambda: b"a"), SiteFile("b", lambda: b"b")], lambda done, total: None)
    summary = write_site(tmp_path, [SiteFile("a", lambda: b"a")], lambda done, total: None)
    assert (summary.written, summary.unchanged, summary.deleted, summary.size_bytes) == (0, 1, 1, 1)
    assert contents(tmp_path).keys() == {"a", LISTING}


def test_an_interrupted_publication_leaves_the_old_site(tmp_path: Path) -> None:
    def interrupted() -> bytes:
        raise KeyboardInterrupt

    write_site(tmp_path, [SiteFile("a", lambda: b"old")], lambda done, total: None)
    before = contents(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        write_site(tmp_path, [SiteFile("a", lambda: b"new"), SiteFile("b", interrupted)], lambda done, total: None)
    assert contents(tmp_path) == before
    write_site(tmp_path, [SiteFile("a", lambda: b"new"), SiteFile("b", lambda: b"b")], lambda done, total: None)
    assert {name: content for name, content in contents(tmp_path).items() if name != LISTING} == {
        "a": b"new",
        "b": b"b",
    }


def test_a_publication_continues_one_that_lost_power_while_it_replaced_files(tmp_path: Path) -> None:
    files = [SiteFile("a", lambda: b"a", key="1"), SiteFile("b", lambda: b"b", key="1")]
    listing = {"assay_site": 1, "files": {name: {"sha256": "", "key": ""} for name in ("a", "b")}}
    (tmp_path / LISTING).write_text(json.dumps(listing))
    (tmp_path / "a").write_text("a")
    (tmp_path / STAGING).mkdir()
    (tmp_path / STAGING / "b").write_text("b")
    summary = write_site(tmp_path, files, lambda done, total: None)
    assert (summary.written, summary.unchanged) == (1, 1)
    assert {name: content for name, content in contents(tmp_path).items() if name != LISTING} == {"a": b"a", "b": b"b"}


def pages_of_whole_site(site: Path) -> dict[str, bytes]:
    """Return the files of a site whose listing has their checksums, without the package, which has its time."""
    files = contents(site)
    listed = json.loads(files.pop(LISTING))["files"]
    assert {name: entry["sha256"] for name, entry in listed.items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items()
    }
    return {name: content for name, content in files.items() if not name.endswith(".tar.gz")}


def test_ctrl_c_leaves_the_old_or_the_new_site(bsc: Path, tmp_path: Path) -> None:
    assert published(bsc, tmp_path / "old", "--title", "Old").exit_code == 0
    assert published(bsc, tmp_path / "new", "--title", "New").exit_code == 0
    old, new = pages_of_whole_site(tmp_path / "old"), pages_of_whole_site(tmp_path / "new")
    assert old.keys() == new.keys()
    assert old != new
    codes = []
    for attempt in range(4):
        site = tmp_path / f"site{attempt}"
        shutil.copytree(tmp_path / "old", site)
        words = ["publish", str(site), "--title", "New", "--repository", str(bsc)]
        process = subprocess.Popen(
            ["env", "--default-signal=INT", sys.executable, "-m", "assay", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        end_s = time.monotonic() + 60
        while not (site / STAGING).exists() and process.poll() is None:
            assert time.monotonic() < end_s
            time.sleep(0.001)
        time.sleep(0.1 * attempt)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        codes.append(process.returncode)
        assert pages_of_whole_site(site) in (old, new), f"after {0.1 * attempt:.1f} s the site is a mixture"
    assert 130 in codes
