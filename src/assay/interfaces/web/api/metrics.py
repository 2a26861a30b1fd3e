"""Serve the state of the repository to Prometheus: ``/metrics``, in its text format."""

import time
from collections.abc import Iterator

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.interfaces.web.state.context import READERS, ContextOf
from assay.questions.runs.campaigns import campaigns
from assay.questions.runs.monitoring import KIND, Monitoring, monitoring

router = APIRouter(include_in_schema=False, dependencies=READERS)
CAMPAIGNS_MAX = 20
"""Number of newest campaigns in which running ones are searched."""


class MonitoringCollector(Collector):
    """Metrics of one answer. Every metric is a gauge: runs can be deleted, and campaigns end."""

    def __init__(self, view: Monitoring) -> None:
        self.view = view

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metric families."""
        runs = GaugeMetricFamily("assay_runs", "Number of runs by status.", labels=["status"])
        for status, number in self.view.runs:
            runs.add_metric([status], number)
        yield runs
        duration = GaugeMetricFamily("assay_last_run_duration_seconds", "Time of the newest valid run.", labels=KIND)
        started = GaugeMetricFamily(
            "assay_last_run_start_timestamp_seconds", "Start of the newest valid run.", labels=KIND
        )
        valid = GaugeMetricFamily("assay_valid_runs", "Number of valid runs with a known start.", labels=KIND)
        for last in self.view.last_runs:
            levels = [level for _, level in last.levels]
            duration.add_metric(levels, last.duration_s)
            started.add_metric(levels, last.started_unix_s)
            valid.add_metric(levels, last.runs)
        yield from (duration, started, valid)
        yield from self._campaigns()

    def _campaigns(self) -> Iterator[GaugeMetricFamily]:
        labels = ["campaign", "plan"]
        planned = GaugeMetricFamily("assay_campaign_planned_runs", "Runs that the campaign plans.", labels=labels)
        done = GaugeMetricFamily("assay_campaign_done_runs", "Planned runs with a valid result.", labels=labels)
        failed = GaugeMetricFamily("assay_campaign_failed_runs", "Planned runs whose last try failed.", labels=labels)
        left = GaugeMetricFamily("assay_campaign_remaining_seconds", "Expected time until the end.", labels=labels)
        for campaign in self.view.running:
            names = [campaign.campaign_id, campaign.plan]
            planned.add_metric(names, campaign.planned)
            done.add_metric(names, campaign.done)
            failed.add_metric(names, campaign.failed)
            if campaign.left_s is not None:
                left.add_metric(names, campaign.left_s)
        yield from (planned, done, failed, left)


@router.get("/metrics")
def metrics(context: ContextOf) -> Response:
    """Return the metrics of the repository and of its running campaigns."""
    newest = campaigns(context.store.repository, time.time(), CAMPAIGNS_MAX)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(MonitoringCollector(monitoring(context.store.table(), newest)))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
