"""Test that cached pages equal rendered ones, and that prepared answers come from one snapshot."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assay.analysis.statistics import RunTable
from assay.foundation.errors import RepositoryError
from assay.interfaces.web.rendering.rendering import Rendering
from assay.interfaces.web.server.security import COOKIE
from assay.interfaces.web.state.store import Store
from assay.store import Repository
from builders import make_run
from web_support import READ, client_of, filled, guarded

Answer = TypeVar("Answer")
NEXT_S_MAX = 60.0
PAGES = ("/runs", "/speedup", "/quality", "/cost", "/predict")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return filled(tmp_path / "repository").root


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every rendered template."""
    names: list[str] = []
    original_html = Rendering.html

    def html(self: Rendering, name: str, **values: Any) -> str:
        names.append(name)
        return original_html(self, name, **values)

    monkeypatch.setattr(Rendering, "html", html)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_rendered_once_and_stays_the_same(root: Path, rendered: list[str], page: str) -> None:
    client = client_of(root)
    first = client.get(page)
    templates_of_first = len(rendered)
    second = client.get(page)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.text == first.text
    assert second.headers == first.headers
    assert len(rendered) == templates_of_first > 0
    client.get(page + "?where=workload%3Dterasort")
    assert len(rendered) > templates_of_first, "a different address is a different page"


@pytest.mark.slow
def test_a_cached_page_is_compressed_for_clients_that_accept_it(root: Path) -> None:
    client = client_of(root)
    uncompressed = client.get("/runs", headers={"Accept-Encoding": "identity"})
    with client.stream("GET", "/runs", headers={"Accept-Encoding": "gzip"}) as answer:
        body = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in answer.headers["vary"].lower()
        assert int(answer.headers["content-length"]) == len(body)
    assert "content-encoding" not in uncompressed.headers
    assert gzip.decompress(body) == uncompressed.content
    assert client.head("/runs").status_code == 200


def test_a_cached_page_is_sent_only_to_readers_with_the_same_roles(root: Path, tmp_path: Path) -> None:
    client = guarded(root, tmp_path)
    allowed = client.get("/runs", headers={"Authorization": f"Bearer {READ}"})
    assert allowed.status_code == 200
    refused = client.get("/runs", follow_redirects=False)
    assert refused.status_code in (303, 401)
    assert "terasort" not in refused.text
    assert "Sign out" not in client.get("/runs", headers={"Authorization": "Bearer none"}).text


@pytest.mark.slow
def test_a_page_that_is_rendered_again_keeps_its_roles(root: Path, tmp_path: Path) -> None:
    client = guarded(root, tmp_path)
    store: Store = client.app.state.context.store  # type: ignore[attr-defined]
    client.post("/login", data={"token": READ}, headers={"Origin": "http://assay.example"})
    first = client.get("/runs").text
    assert "Sign out" in first
    [page] = [answer for key, answer in store.snapshot().answers.items() if isinstance(key, tuple) and key[0] == "page"]
    client.app.state.context.guard.close_session(client.cookies[COOKIE])  # type: ignore[attr-defined]
    rendered_again = page.make(store.table())
    assert rendered_again.response(client.app.state.context, None, is_compressed=False).body.decode() == first  # type: ignore[attr-defined]


def test_a_page_is_rendered_again_after_a_run_was_added(root: Path) -> None:
    client = client_of(root)
    before = client.get("/runs").text
    Repository.open(root).publish(make_run(700))
    assert client.get("/runs").text != before


def test_prepared_answers_come_from_the_snapshot_that_they_were_prepared_from(root: Path) -> None:
    store, table_lengths = Store(root, small_repository_runs_max=0), []

    def make(table: RunTable) -> int:
        table_lengths.append(len(table))
        return len(table)

    def slow() -> int:
        return store.answer("slow", make)

    def ask() -> tuple[int, int, bool]:
        return slow(), store.answer("quick", len), store.outdated_as_of() is not None

    store.prepare = slow
    runs = len(store.table())
    store.prepare_for(store.snapshot())
    assert _prepared(store, ask) == (runs, runs, False)
    Repository.open(root).publish(make_run(700))
    _follow(store, runs + 1)
    assert _prepared(store, ask) == (runs, runs, True), (
        "all answers come from the prepared snapshot, which is reported as outdated"
    )
    assert table_lengths == [runs], "slow answers are not made before a new snapshot is shown"
    assert store.answer("quick", len) == runs + 1
    store.prepare_for(store.snapshot())
    assert _prepared(store, ask) == (runs + 1, runs + 1, False)
    assert table_lengths == [runs, runs + 1]


def test_prepared_answers_stay_cached_when_the_cache_is_full(root: Path) -> None:
    store, slow_answers = Store(root, small_repository_runs_max=0, answers_max=5), []
    store.prepare = lambda: store.answer("slow", lambda _: slow_answers.append("slow"))
    store.table()
    store.prepare_for(store.snapshot())
    for number in range(20):
        store.answer(number, lambda _: None)
    assert len(store.snapshot().answers) == 5
    _prepared(store, store.prepare)
    assert slow_answers == ["slow"]


def test_after_a_failed_preparation_the_newest_snapshot_answers(root: Path) -> None:
    store = Store(root, small_repository_runs_max=0)

    def raise_error() -> None:
        raise RepositoryError("too few")

    store.prepare = raise_error
    runs = len(store.table())
    with pytest.raises(RepositoryError, match="too few"):
        store.prepare_for(store.snapshot())
    Repository.open(root).publish(make_run(700))
    _follow(store, runs + 1)
    assert _prepared(store, lambda: store.answer("quick", len)) == runs + 1


def test_a_prepared_snapshot_without_its_index_is_not_used(root: Path) -> None:
    store = Store(root, small_repository_runs_max=0)
    store.table()
    store.prepare_for(store.snapshot())
    for path in store.repository.folders.index.glob("*.parquet"):
        path.unlink()
    ids = _prepared(store, lambda: store.repository.ids_at(store.table(), [0]))
    assert ids == Repository.open(root).ids_at(Repository.open(root).table(), [0])


def _prepared(store: Store, ask: Callable[[], Answer]) -> Answer:
    with store.prepared_snapshot():
        return ask()


def _follow(store: Store, runs: int) -> None:
    """Wait until the store has read this number of runs."""
    ends_s = time.monotonic() + NEXT_S_MAX
    while len(store.table()) != runs and time.monotonic() < ends_s:
        time.sleep(0.02)
    assert len(store.table()) == runs
