"""Test the API: answers, access, refusals, and bundles."""

from __future__ import annotations

import io
import shutil
import tarfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.model.runs.imported import ImportedRun, foreign_run
from assay.model.runs.phase import Phase
from assay.model.runs.run import Check
from assay.store import Repository
from assay.store.bundles.bundle import write_sums
from assay.store.exchange.remote import digest_header, digest_of
from assay.store.exchange.transfer import pack
from builders import PRICES_YAML, coded_warnings, make_run, make_trace
from web_support import EVIL, READ, UPLOAD, client_of, filled, guarded

pytestmark = pytest.mark.slow

API = "/api/v1"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("web") / "repository").root


@pytest.fixture(scope="module")
def client(root: Path) -> TestClient:
    return client_of(root)


@pytest.fixture
def writable(root: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "own"
    shutil.copytree(root, copy)
    return copy


@pytest.mark.slow
def test_runs_are_filtered_with_counts_for_each_choice(client: TestClient) -> None:
    page = client.get(f"{API}/runs", params={"where": ["workload=terasort", "layout=HD2"]}).json()
    assert (page["total"], page["of"]) == (4, 21)
    assert {run["columns"]["layout"] for run in page["runs"]} == {"HD2"}
    facets = {facet["column"]: {level["level"]: level["runs"] for level in facet["levels"]} for facet in page["facets"]}
    assert facets["layout"] == {"HD2": 4, "SS2": 3}, "what the other layout would give is said, too"
    assert facets["status"] == {"valid": 3, "invalid": 1}


def test_several_levels_of_one_column_mean_any_of_them(client: TestClient) -> None:
    where = ["workload=terasort", "workload=dfsio-read"]
    assert client.get(f"{API}/runs", params={"where": where}).json()["total"] == 14


def test_runs_are_sorted_and_paged(client: TestClient) -> None:
    def times(**options: str | int) -> list[float]:
        page = client.get(f"{API}/runs", params={"sort": "duration_s", "limit": 5, **options}).json()
        return [run["duration_s"] for run in page["runs"]]

    every = times(limit=1000)
    assert every == sorted(every)
    assert times() == every[:5]
    assert times(offset=5) == every[5:10]
    assert times(sort="-duration_s") == every[::-1][:5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/runs?where=colour=red", 400),
        ("/runs?where=layout=nowhere", 400),
        ("/runs?where=layout", 400),
        ("/runs?sort=colour", 400),
        ("/runs?limit=0", 422),
        ("/runs?offset=-1", 422),
        ("/runs/nothing", 404),
        ("/runs/0000", 404),
        ("/runs/..%2f..%2fetc", 404),
        ("/speedup?by=colour", 400),
        ("/speedup?by=origin", 400),
        ("/speedup/published?method=lisa14", 400),
        ("/compare?by=colour", 400),
        ("/bundles/..", 404),
        ("/bundles/%2e%2e%2fx", 404),
        ("/bundles/nothing", 404),
        ("/nothing", 404),
    ],
)
def test_a_meaningless_request_is_refused_with_the_reason(client: TestClient, address: str, status: int) -> None:
    answer = client.get(API + address)
    assert answer.status_code == status
    assert set(answer.json()) == {"message", "where", "hint"}
    assert answer.json()["message"]


def test_a_run_is_pulled_with_its_tasks_trace_and_logs(client: TestClient) -> None:
    run_id = make_run(0).run_id
    detail = client.get(f"{API}/runs/{run_id}").json()
    assert detail["run"]["run_id"] == run_id
    assert detail["logs"] == ["job.log", "w1/x.log"]
    assert {"node": "worker1", "subject": "cpu", "metric": "user_s"}.items() <= {
        k: v for s in detail["series"] for k, v in s.items() if (s["node"], s["metric"]) == ("worker1", "user_s")
    }.items()
    log = client.get(f"{API}/runs/{run_id}/logs/w1/x.log").json()
    assert (log["text"], log["next_offset_bytes"]) == (EVIL, None)
    assert client.get(f"{API}/runs/{run_id}/logs/job.log", params={"offset_bytes": 63}).json()["text"] == "line 1\n"
    assert client.get(f"{API}/runs/{run_id}/logs/../run.json").status_code == 404


def test_a_logs_page_has_numbered_lines_finds_some_and_gives_the_file(client: TestClient) -> None:
    address = f"/runs/{make_run(0).run_id}"
    page = client.get(f"{address}/logs/job.log", params={"search": "LINE"}).text
    assert "10 of 10 lines have <b>LINE</b>" in page
    assert 'id="L10" data-n="10">line 1\n</span>' in page
    assert "search=LINE&amp;offset_bytes=0#L10" in page
    assert "0 of 10 lines have" in client.get(f"{address}/logs/job.log", params={"search": "nowhere"}).text
    file = client.get(f"{address}/log-files/w1/x.log")
    assert file.text == EVIL
    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''w1-x.log"
    assert file.headers["content-type"].startswith("text/plain")
    assert client.get(f"{address}/log-files/../run.json").status_code == 404
    assert client.get(f"{address}/logs/none.log").status_code == 404


def test_a_trace_is_thinned_and_its_peaks_stay(client: TestClient) -> None:
    run_id = make_run(0).run_id
    options = {"subject": "disk:hdd1", "metric": "read_bytes", "node": "worker1"}
    whole = client.get(f"{API}/runs/{run_id}/trace", params={**options, "windows": 4000}).json()["series"][0]
    few = client.get(f"{API}/runs/{run_id}/trace", params={**options, "windows": 2}).json()["series"][0]
    assert few["unit"] == "MB/s"
    assert len(few["t_s"]) <= 8 < len(whole["t_s"]) == whole["samples"] == few["samples"]
    assert max(few["values"]) == max(whole["values"]) > 3
    part = client.get(f"{API}/runs/{run_id}/trace", params={**options, "start_s": 5, "end_s": 10}).json()["series"][0]
    assert all(5 <= t <= 10 for t in part["t_s"])


def test_speedups_are_those_of_the_command_line(client: TestClient, root: Path) -> None:
    from matching import matched_speedups

    view = client.get(f"{API}/speedup", params={"by": "layout", "baseline": "HD2"}).json()
    expected = matched_speedups(Repository.open(root).table(), "layout", "HD2")
    assert [(s["group"], s["ratio"], s["low"]) for s in view["results"]] == [
        (s.group, s.ratio, s.low) for s in expected
    ]
    assert view["best"][0]["fastest_candidates"] == ["SS2"]


def test_prices_in_the_question_are_used_and_not_kept(client: TestClient) -> None:
    body = {"prices": PRICES_YAML.replace("per: cluster,", "per: cluster-hour,"), "where": ["workload=terasort"]}
    plane = client.post(f"{API}/cost", json=body).json()[0]
    assert {row["label"] for row in plane["rows"]} == {"HD2", "SS2"}
    doubled = {**body, "prices": body["prices"].replace("46,567", "93134")}  # type: ignore[attr-defined]
    dearer = client.post(f"{API}/cost", json=doubled).json()[0]
    cost = {row["label"]: row["cost"] for row in plane["rows"]}
    assert {row["label"]: row["cost"] for row in dearer["rows"]}["SS2"] == pytest.approx(2 * cost["SS2"], rel=1e-6)
    assert client.post(f"{API}/cost", json={}).status_code == 400
    tco = client.post(f"{API}/tco", json={"prices": PRICES_YAML, "where": ["workload=terasort"]}).json()
    assert {row["layout"]: row["price"] for row in tco["rows"]} == {"HD2": 37561, "SS2": 46567}


def test_every_other_view_answers(client: TestClient) -> None:
    for view in ("summary", "findings", "anomalies", "campaigns", "plans", "compare?where=workload=terasort"):
        assert client.get(f"{API}/{view}").status_code == 200, view


def test_the_server_reads_while_another_process_writes(writable: Path) -> None:
    client = client_of(writable)
    before = client.get(f"{API}/runs").json()["of"]
    Repository.open(writable).publish(make_run(5000, workload="new-one"))
    assert client.get(f"{API}/runs").json()["of"] == before + 1
    assert client.get(f"{API}/runs", params={"where": "workload=new-one"}).json()["total"] == 1


def test_every_answer_forbids_what_a_page_does_not_need(client: TestClient) -> None:
    for address in ("/", f"{API}/summary", "/nothing", f"{API}/nothing"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_a_foreign_name_for_this_machine_is_refused(root: Path) -> None:
    assert client_of(root, host="evil.example").get(f"{API}/runs").status_code == 421
    assert client_of(root, host="127.0.0.1").get(f"{API}/runs").status_code == 200
    assert client_of(root, host="[::1]").get(f"{API}/runs").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://localhost", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}, 400),
        ({}, 400),
    ],
)
def test_another_site_can_make_a_browser_post_nothing(client: TestClient, headers: dict[str, str], status: int) -> None:
    assert client.post(f"{API}/cost", json={}, headers=headers).status_code == status


def test_without_tokens_nothing_can_be_uploaded(writable: Path) -> None:
    answer = client_of(writable).put(f"{API}/bundles/x", content=b"", headers={"Repr-Digest": digest_header("0" * 64)})
    assert answer.status_code == 403
    assert "--token-file" in answer.json()["hint"]


def test_each_token_allows_the_actions_of_its_role(writable: Path, tmp_path: Path) -> None:
    client = guarded(writable, tmp_path)
    assert client.get(f"{API}/runs").status_code == 401
    assert client.get(f"{API}/runs", headers={"Authorization": "Bearer nonsense"}).status_code == 401
    assert client.get(f"{API}/runs", headers={"Authorization": f"Bearer {READ}"}).status_code == 200
    refused = client.put(f"{API}/bundles/x", content=b"", headers={"Authorization": f"Bearer {READ}"})
    assert refused.status_code == 403
    assert client.get(f"{API}/about", headers={"Authorization": f"Bearer {UPLOAD}"}).json()["roles"] == [
        "read",
        "upload",
    ]


def test_a_browser_signs_in_by_a_page_and_out_again(writable: Path, tmp_path: Path) -> None:
    client = guarded(writable, tmp_path)
    home = {"Origin": "http://assay.example"}
    first = client.get("/runs?sort=layout", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/login?next=%2Fruns%3Fsort%3Dlayout")
    assert client.post("/login", data={"token": "wrong"}, headers=home).status_code == 403
    form = {"token": READ, "next": "//evil.example/"}
    signed = client.post("/login", data=form, headers=home, follow_redirects=False)
    assert signed.headers["location"] == "/", "no redirect to another site"
    cookie = signed.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/runs").status_code == 200
    assert client.post("/logout").status_code == 403, "a cookie without an Origin may be forged"
    client.post("/logout", headers=home)
    assert client.get(f"{API}/runs").status_code == 401


def packed(repository: Repository, bundle_id: str) -> tuple[bytes, str]:
    bundle = pack(repository, bundle_id)
    return b"".join(bundle.chunks()), bundle.sha256


def upload(client: TestClient, bundle_id: str, content: bytes, **headers: str) -> tuple[int, dict[str, str]]:
    import hashlib

    digest = digest_header(hashlib.sha256(content).hexdigest())
    answer = client.put(
        f"{API}/bundles/{bundle_id}",
        content=content,
        headers={"Authorization": f"Bearer {UPLOAD}", "Repr-Digest": digest, **headers},
    )
    return answer.status_code, answer.json()


@pytest.fixture
def other(tmp_path: Path) -> Repository:
    repository = Repository.create(tmp_path / "other")
    repository.publish(make_run(7000), logs={"a.log": b"a" * 5000})
    return repository


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[tuple[TestClient, Repository]]:
    repository = Repository.create(tmp_path / "receiver")
    yield guarded(repository.root, tmp_path, upload_bytes_max=100_000), repository
    assert list((repository.root / "partial").iterdir()) == [], "nothing is left behind"
    assert repository.verify() == []


def test_a_bundle_is_sent_and_received_as_a_whole(other: Repository, receiver: tuple[TestClient, Repository]) -> None:
    client, repository = receiver
    run_id = make_run(7000).run_id
    answer = client_of(other.root).get(f"{API}/bundles/{run_id}")
    content, sha256 = packed(other, run_id)
    assert answer.content == content
    assert digest_of(answer.headers["repr-digest"]) == sha256
    assert upload(client, run_id, content) == (201, {"bundle_id": run_id, "new": True})
    assert upload(client, run_id, content)[0] == 200
    assert repository.run(run_id) == other.run(run_id)


@pytest.mark.slow
def test_uploads_that_are_not_whole_are_refused(other: Repository, receiver: tuple[TestClient, Repository]) -> None:
    client, repository = receiver
    run_id = make_run(7000).run_id
    content, sha256 = packed(other, run_id)
    flipped = bytearray(content)
    flipped[content.index(b'"terasort"')] ^= 1
    cases = {
        "another name": upload(client, "another", content),
        "cut": upload(client, run_id, content[: len(content) // 2]),
        "a flipped bit": upload(client, run_id, bytes(flipped)),
        "no tar": upload(client, run_id, b"nonsense" * 100),
        "empty": upload(client, run_id, b""),
        "another checksum": upload(client, run_id, content, **{"Repr-Digest": digest_header("0" * 64)}),
        "no checksum": upload(client, run_id, content, **{"Repr-Digest": "md5=:x:"}),
    }
    for case, (status, message) in cases.items():
        assert (case, status) == (case, 422), message
    assert upload(client, run_id, bytes(100_001))[0] == 413
    assert repository.runs() == []
    assert sha256


@pytest.mark.parametrize(
    "changes",
    [
        {"duration_s": -1.0},
        {"duration_s": 1e308},
        {"repetition": -1},
        {"block": -1},
        {"position": -1},
        {"attempt": -1},
        {"attempt": 2**60},
        {"data_bytes": -1},
        {"schema_version": -1},
        {"lab_scale": -0.5},
        {"started_at": "2026-01-05T10:00:00Z" + "0" * 50_000},
        {"started_at": "\x1b[2J"},
        {"metrics": {"job_s": 1e308}},
        {"metrics": {"job\x1b_s": 1.0}},
        {"phases": (Phase("map", -1e300, 1.0),)},
        {"cause": "\x1b]0;title\x07"},
        {"cause": "\x9b2J"},
        {"cause": "x" * 50_001},
        {"workload": "tera\nsort"},
        {"workload": "tera\x1b[2Jsort"},
        {"layout": "HDD\x00", "levels": {"layout": "HDD\x00"}},
        {"warnings": coded_warnings("\x1b[8m")},
        {"checks": (Check("replicas", True, "\x07"),)},
    ],
    ids=lambda changes: " ".join(map(repr, changes)),
)
def test_an_upload_with_impossible_values_is_refused(
    changes: dict[str, Any], receiver: tuple[TestClient, Repository], tmp_path: Path
) -> None:
    client, repository = receiver
    source = Repository.create(tmp_path / "source")
    bundle = source.publish(make_run(1, **changes))
    status, answer = upload(client, bundle.name, packed(source, bundle.name)[0])
    assert status == 422, answer
    assert next(iter(changes)).rstrip("s").replace("_", " ")[:5] in answer["message"].replace("_", " ")
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in answer["message"])
    assert repository.runs() == []


def test_an_import_with_an_impossible_duration_is_refused(
    receiver: tuple[TestClient, Repository], tmp_path: Path
) -> None:
    client, repository = receiver
    source = Repository.create(tmp_path / "source")
    table = tmp_path / "runs.txt"
    table.write_text("a table")
    items = [ImportedRun("1", "1", foreign_run(workload="sort", duration_s=-5.0, layout="HDD"))]
    name = source.import_runs("numbers", lambda: items, [("runs.txt", table)]).import_id or ""
    status, answer = upload(client, name, packed(source, name)[0])
    assert (status, "duration_s is -5" in answer["message"]) == (422, True)
    assert repository.runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["symlink", "absolute", "parent", "twice", "device"])
def test_a_tar_cannot_write_outside_its_folder(
    kind: str, receiver: tuple[TestClient, Repository], tmp_path: Path
) -> None:
    client, _ = receiver
    entry = tarfile.TarInfo({"absolute": "/evil", "parent": "../../evil"}.get(kind, "evil"))
    entry.type = {"symlink": tarfile.SYMTYPE, "device": tarfile.CHRTYPE}.get(kind, tarfile.REGTYPE)
    entry.linkname = "/etc/passwd"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for _ in range(2 if kind == "twice" else 1):
            archive.addfile(entry, io.BytesIO())
    status, message = upload(client, "evil-bundle", buffer.getvalue())
    assert status == 422, message
    assert not list(tmp_path.rglob("evil"))


def test_a_damaged_table_is_reported_without_folders_of_this_machine(tmp_path: Path) -> None:
    run = make_run(1)
    repository = Repository.create(tmp_path / "r")
    bundle = repository.publish(run, trace=make_trace(run))
    for table in (bundle / "trace").iterdir():
        table.write_bytes(b"PAR1 this is no table PAR1")
    write_sums(bundle)
    client = client_of(repository.root)
    for address in (f"/runs/{run.run_id}", f"{API}/runs/{run.run_id}/trace"):
        answer = client.get(address)
        assert answer.status_code == 409
        assert "can&#39;t be read" in answer.text or "can't be read" in answer.text
        assert str(tmp_path) not in answer.text


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_an_upload_whose_header_claims_4_gib_is_refused_unread(
    kind: bytes, receiver: tuple[TestClient, Repository]
) -> None:
    entry = tarfile.TarInfo("run.json")
    entry.type, entry.size = kind, 1 << 32
    tracemalloc.start()
    try:
        status, message = upload(receiver[0], "claims", entry.tobuf(tarfile.GNU_FORMAT) + bytes(50_000))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert status == 422, message


def test_nothing_from_a_run_reaches_a_page_unescaped(client: TestClient) -> None:
    evil = make_run(900).run_id
    for address in (
        "/",
        "/runs",
        f"/runs/{evil}",
        f"/runs/{make_run(0).run_id}/logs/w1%2Fx.log",
        f"/runs?where={EVIL}",
    ):
        text = client.get(address).text
        assert EVIL not in text, address
        assert "<i>map" not in text
        assert "evil-<b>" not in text
    assert "&lt;script&gt;" in client.get(f"/runs/{evil}").text


def test_a_form_that_chooses_nothing_is_no_condition(client: TestClient) -> None:
    for address in ("/runs?where=", "/speedup?where=&by=layout", "/quality?where="):
        assert client.get(address).status_code == 200, address


def test_pages_of_an_empty_repository_say_what_to_do(tmp_path: Path) -> None:
    client = client_of(Repository.create(tmp_path / "empty").root)
    for address in ("/", "/runs", "/speedup", "/cost", "/quality", "/changes", "/gate"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "assay demo" in answer.text


@pytest.mark.slow
def test_every_link_of_every_page_leads_somewhere(client: TestClient) -> None:
    import html
    import re

    seen: set[str] = set()
    waiting = ["/"]
    while waiting and len(seen) < 150:
        address = waiting.pop(0)
        if address in seen:
            continue
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200, address
        if answer.headers["content-type"].startswith("text/html"):
            links = [html.unescape(link) for link in re.findall(r'href="(/[^"]*|\?[^"]*)"', answer.text)]
            path = address.partition("?")[0]
            waiting += [path + link if link.startswith("?") else link for link in links]
    assert {"/", "/runs", "/speedup", "/cost", "/quality", "/changes", "/gate"} <= seen


def test_a_job_that_the_book_does_not_price_does_not_hide_the_others(writable: Path) -> None:
    Repository.open(writable).publish(make_run(6000, workload="other", layout="NVE", levels={"layout": "NVE"}))
    prices = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
    planes = client_of(writable).post(f"{API}/cost", json={"prices": prices}).json()
    priced = {plane["job"]["workload"]: (len(plane["rows"]), len(plane["unpriced"])) for plane in planes}
    assert priced["terasort"] == (2, 0)
    assert priced["other"] == (0, 1)
