"""Test /metrics: Prometheus's own parser reads the repository's numbers, and tokens protect them."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from assay.analysis.statistics import table_of
from assay.foundation.errors import AssayError
from assay.interfaces.web.state.background_answer import BackgroundAnswer
from assay.model import ImportedRun
from assay.model.runs.imported import foreign_run
from assay.model.runs.run_status import RunStatus
from assay.questions.runs.monitoring import LAST_RUNS_MAX, last_runs, monitoring
from assay.specs import load_prices
from assay.store import Repository
from assay.store.campaigns.status import CampaignStatus
from builders import build_repository, make_run, study_runs
from command import printed
from question_table import SANDISK
from web_support import READ, client_of, filled, guarded

RUNNING = CampaignStatus(
    "c1", "plan", "lab", 1.0, True, 1, 18, 4, 1, 6, "TeraSort", 2.0, "job", 600.0, 700.0, (), None, 2.0
)


LAYOUTS = ("HDD", "HD2", "HD3", "HD4", "HD5", "HS5", "SSD", "SS2", "RL1", "RL2", "RL3", "NVE")


def synthetic_runs(count: int) -> Iterator[ImportedRun]:
    """Yield runs of 768 kinds: 8 workloads, 12 layouts, 2 networks and 4 clusters."""
    noise = random.Random(1)
    for number in range(count):
        layout = noise.choice(LAYOUTS)
        run = foreign_run(
            workload=f"workload-{noise.randrange(8)}",
            layout=layout,
            cluster=f"cluster-{noise.randrange(4)}",
            levels={"network": noise.choice(("ETH", "IB"))},
            duration_s=round(1000 / (1 + LAYOUTS.index(layout) / 4) * noise.lognormvariate(0, 0.1), 3),
            started_at=f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}T{number % 24:02d}:00:00+00:00",
        )
        yield ImportedRun(str(number), f"synthetic:{number}", run)


def _samples(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def test_prometheus_reads_the_numbers_of_the_repository(tmp_path: Path) -> None:
    repository = filled(tmp_path / "repository")
    answer = client_of(repository.root).get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    samples = _samples(answer.text)
    runs = list(repository.runs())
    for status in RunStatus:
        assert samples["assay_runs"][(str(status),)] == sum(run.status is status for run in runs)
    assert sum(samples["assay_valid_runs"].values()) == sum(
        run.status is RunStatus.VALID and bool(run.started_at) for run in runs
    )
    assert samples["assay_last_run_duration_seconds"].keys() == samples["assay_last_run_start_timestamp_seconds"].keys()


def test_an_empty_repository_has_zeros(tmp_path: Path) -> None:
    Repository.create(tmp_path / "empty")
    samples = _samples(client_of(tmp_path / "empty").get("/metrics").text)
    assert set(samples["assay_runs"].values()) == {0.0}
    assert samples["assay_last_run_duration_seconds"] == {}


def test_the_newest_valid_run_of_a_kind_counts() -> None:
    old = make_run(1, layout="SSD", levels={"layout": "SSD"}, duration_s=50.0, started_at="2026-01-01T10:00:00Z")
    new = replace(old, run_id=make_run(2).run_id, duration_s=60.0, started_at="2026-01-02T10:00:00Z")
    failed = replace(
        old, run_id=make_run(3).run_id, status=RunStatus.FAILED, duration_s=5.0, started_at="2026-01-03T10:00:00Z"
    )
    other = replace(old, run_id=make_run(4).run_id, layout="HDD", levels={"layout": "HDD"}, duration_s=90.0)
    first, second = last_runs(table_of([old, new, failed, other]))
    assert (first.duration_s, first.runs, dict(first.levels)["layout"]) == (60.0, 2, "SSD")
    assert (second.duration_s, second.runs, dict(second.levels)["layout"]) == (90.0, 1, "HDD")


def test_the_number_of_kinds_is_bounded() -> None:
    runs = [make_run(n, cluster=f"cluster-{n}") for n in range(LAST_RUNS_MAX + 5)]
    assert len(last_runs(table_of(runs))) == LAST_RUNS_MAX


def test_metrics_have_running_campaigns_and_no_ended_ones() -> None:
    view = monitoring(table_of([]), [RUNNING, replace(RUNNING, campaign_id="c2", running=False)])
    assert [campaign.campaign_id for campaign in view.running] == ["c1"]


def test_a_running_campaign_has_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Repository.create(tmp_path / "empty")
    monkeypatch.setattr("assay.interfaces.web.api.metrics.campaigns", lambda *_: [RUNNING])
    samples = _samples(client_of(tmp_path / "empty").get("/metrics").text)
    key = ("c1", "plan")
    names = ("planned_runs", "done_runs", "failed_runs", "remaining_seconds")
    assert [samples[f"assay_campaign_{name}"][key] for name in names] == [18, 4, 1, 600]


def _with_decisions(client: TestClient) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the metrics as soon as the decisions are computed."""
    end_s = time.monotonic() + 240
    while "\nassay_decisions_timestamp_seconds " not in (text := client.get("/metrics").text):
        assert time.monotonic() < end_s
        time.sleep(0.5)
    return _samples(text)


def test_prometheus_reads_the_decision_of_the_command(tmp_path: Path) -> None:
    root = build_repository(tmp_path / "r", study_runs()).root
    samples = _with_decisions(client_of(root, book=load_prices(SANDISK / "prices.yaml")))
    words = ("decide", "storage", "--prices", SANDISK / "prices.yaml", "--repository", root, "--json")
    decision = json.loads(printed(*words))[0]["decision"]
    option = decision["options"][0]
    labels = ("storage", decision["factor"], decision["baseline"], option["option"], decision["origin"])
    key = next(key for key in samples["assay_decision_speedup"] if set(labels) <= set(key))
    for metric, ratio in (("speedup", option["time"]), ("cost_ratio", option["cost"])):
        ends = (("", "ratio"), ("_low", "low"), ("_high", "high"))
        for end, name in ends:
            assert samples[f"assay_decision_{metric}{end}"][key] == ratio[name]
    assert samples["assay_decision_runs"][key] == option["time"]["runs_baseline"] + option["time"]["runs_option"]


def test_an_answer_in_the_background_is_computed_once_per_version_and_never_waited_for() -> None:
    held: BackgroundAnswer[int] = BackgroundAnswer()
    release, made = Event(), []

    def make(number: int, error: AssayError | None = None) -> int:
        release.wait(60)
        made.append(number)
        if error:
            raise error
        return number

    def settled(number: int | None, version: str, call: Callable[[], int]) -> None:
        end_s = time.monotonic() + 60
        while held.last_answer(version, call) != number:
            assert time.monotonic() < end_s
            time.sleep(0.01)

    assert held.last_answer("a", lambda: make(1)) is None
    assert held.last_answer("a", lambda: make(2)) is None
    release.set()
    settled(1, "a", lambda: make(3))
    assert made == [1]
    release.clear()
    assert held.last_answer("b", lambda: make(4)) == 1
    release.set()
    settled(4, "b", lambda: make(4))
    settled(None, "c", lambda: make(5, AssayError("no runs")))
    assert held.last_answer("c", lambda: make(6)) is None
    assert made[-1] == 5


@pytest.mark.slow
def test_a_scrape_has_one_duration_of_each_kind_of_run(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("synthetic")
    repository = Repository.create(tmp_path / "r")
    repository.import_runs("synthetic", partial(synthetic_runs, 10_000), [(source.name, source)])
    samples = _with_decisions(client_of(repository.root))
    assert sum(samples["assay_runs"].values()) == 10_000
    assert len(samples["assay_last_run_duration_seconds"]) == 8 * 12 * 2 * 4
    assert len(samples["assay_decision_speedup"]) > 5


def test_metrics_need_a_reading_token_where_pages_do(tmp_path: Path) -> None:
    repository = filled(tmp_path / "repository")
    client = guarded(repository.root, tmp_path)
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": f"Bearer {READ}"}).status_code == 200
