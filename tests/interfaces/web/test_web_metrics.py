"""Test /metrics: Prometheus's own parser reads the repository's numbers, and tokens protect them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from assay.analysis.statistics import table_of
from assay.model.runs.run_status import RunStatus
from assay.questions.runs.monitoring import LAST_RUNS_MAX, last_runs, monitoring
from assay.store import Repository
from assay.store.campaigns.status import CampaignStatus
from builders import make_run
from web_support import READ, client_of, filled, guarded

RUNNING = CampaignStatus(
    "c1", "plan", "lab", 1.0, True, 1, 18, 4, 1, 6, "TeraSort", 2.0, "job", 600.0, 700.0, (), None, 2.0
)


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


def test_running_campaigns_are_in_it_and_ended_ones_are_not() -> None:
    view = monitoring(table_of([]), [RUNNING, replace(RUNNING, campaign_id="c2", running=False)])
    assert [campaign.campaign_id for campaign in view.running] == ["c1"]


def test_a_running_campaign_has_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Repository.create(tmp_path / "empty")
    monkeypatch.setattr("assay.interfaces.web.api.metrics.campaigns", lambda *_: [RUNNING])
    samples = _samples(client_of(tmp_path / "empty").get("/metrics").text)
    key = ("c1", "plan")
    names = ("planned_runs", "done_runs", "failed_runs", "remaining_seconds")
    assert [samples[f"assay_campaign_{name}"][key] for name in names] == [18, 4, 1, 600]


def test_metrics_need_a_reading_token_where_pages_do(tmp_path: Path) -> None:
    repository = filled(tmp_path / "repository")
    client = guarded(repository.root, tmp_path)
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": f"Bearer {READ}"}).status_code == 200
