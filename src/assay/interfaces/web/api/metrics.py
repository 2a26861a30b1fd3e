"""Serve the state of the repository to Prometheus: ``/metrics``, in its text format.

A request computes no decisions: they are computed in the background after the runs changed, and the request gets the
decisions that were computed last.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from assay.interfaces.web.api.decisions import question_answers_on
from assay.interfaces.web.state.context import READERS, Context, ContextOf
from assay.questions.decisions.decision import CostRatio, TimeRatio
from assay.questions.decisions.option_figures import option_figures
from assay.questions.runs.campaigns import campaigns
from assay.questions.runs.monitoring import KIND, DecisionFigures, Monitoring, host_samples, monitoring

router = APIRouter(include_in_schema=False, dependencies=READERS)
CAMPAIGNS_MAX = 20
"""Maximum number of campaigns, newest first, that are checked for a running process."""
OPTION_LABELS = ("question", "factor", "baseline", "option", "origin", "lab_scale")
"""Labels of an option of a decision."""


class MonitoringCollector(Collector):
    """Metrics of one answer. Numbers of runs are gauges: runs can be deleted. Counters of nodes are counters."""

    def __init__(self, view: Monitoring) -> None:
        self.view = view

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        runs = GaugeMetricFamily("assay_runs", "Number of runs by status.", labels=["status"])
        for status, count in self.view.runs:
            runs.add_metric([status], count)
        yield runs
        durations = GaugeMetricFamily("assay_last_run_duration_seconds", "Time of the newest valid run.", labels=KIND)
        start_times = GaugeMetricFamily(
            "assay_last_run_start_timestamp_seconds", "Start of the newest valid run.", labels=KIND
        )
        valid_runs = GaugeMetricFamily("assay_valid_runs", "Number of valid runs with a known start.", labels=KIND)
        for last_runs in self.view.last_runs:
            levels = [level for _, level in last_runs.levels]
            durations.add_metric(levels, last_runs.duration_s)
            start_times.add_metric(levels, last_runs.started_unix_s)
            valid_runs.add_metric(levels, last_runs.runs)
        yield from (durations, start_times, valid_runs)
        yield from self._campaigns()
        yield from self._hosts()
        yield from self._decisions()

    def _campaigns(self) -> Iterator[GaugeMetricFamily]:
        labels = ["campaign", "plan"]
        planned_runs = GaugeMetricFamily("assay_campaign_planned_runs", "Runs that the campaign plans.", labels=labels)
        done_runs = GaugeMetricFamily("assay_campaign_done_runs", "Planned runs with a valid result.", labels=labels)
        failed_runs = GaugeMetricFamily(
            "assay_campaign_failed_runs", "Planned runs whose last try failed.", labels=labels
        )
        remaining_s = GaugeMetricFamily(
            "assay_campaign_remaining_seconds", "Expected time until the end.", labels=labels
        )
        for campaign in self.view.running:
            label_values = [campaign.campaign_id, campaign.plan]
            planned_runs.add_metric(label_values, campaign.planned)
            done_runs.add_metric(label_values, campaign.done)
            failed_runs.add_metric(label_values, campaign.failed)
            if campaign.left_s is not None:
                remaining_s.add_metric(label_values, campaign.left_s)
        yield from (planned_runs, done_runs, failed_runs, remaining_s)

    def _hosts(self) -> Iterator[Metric]:
        labels = ["campaign", "node"]
        sample_times = GaugeMetricFamily(
            "assay_host_sample_timestamp_seconds", "Time of the latest sample.", labels=labels
        )
        cores = GaugeMetricFamily("assay_host_cores", "Cores of the node.", labels=labels)
        cpu = _counter("cpu_seconds", "CPU time of all cores of the node.", "mode")
        cgroup_cpu = _counter("cgroup_cpu_seconds", "CPU time of the control group of a lab's node.")
        read_bytes = _counter("disk_read_bytes", "Bytes read from the disk.", "disk")
        written_bytes = _counter("disk_written_bytes", "Bytes written to the disk.", "disk")
        busy_s = _counter("disk_busy_seconds", "Time in which the disk was busy.", "disk")
        received_bytes = _counter("network_receive_bytes", "Bytes received by the NIC.", "nic")
        sent_bytes = _counter("network_transmit_bytes", "Bytes sent by the NIC.", "nic")
        for campaign_id, sample in self.view.hosts:
            label_values = [campaign_id, sample.node]
            sample_times.add_metric(label_values, sample.at_unix_s)
            if sample.cores is not None:
                cores.add_metric(label_values, sample.cores)
            if sample.cgroup_cpu_s is not None:
                cgroup_cpu.add_metric(label_values, sample.cgroup_cpu_s)
            for mode, spent_s in sample.cpu_s.items():
                cpu.add_metric([*label_values, mode], spent_s)
            for disk, disk_values in sample.disks.items():
                for family, value in zip((read_bytes, written_bytes, busy_s), disk_values, strict=True):
                    family.add_metric([*label_values, disk], value)
            for nic, nic_values in sample.nics.items():
                for family, value in zip((received_bytes, sent_bytes), nic_values, strict=True):
                    family.add_metric([*label_values, nic], value)
        yield from (sample_times, cores, cpu, cgroup_cpu, read_bytes, written_bytes, busy_s, received_bytes, sent_bytes)

    def _decisions(self) -> Iterator[GaugeMetricFamily]:
        as_of = GaugeMetricFamily("assay_decisions_timestamp_seconds", "Time at which the decisions' runs were read.")
        speedup = _ratio_families("assay_decision_speedup", "Time of the baseline / time of the option")
        cost = _ratio_families("assay_decision_cost_ratio", "Cost of a job on the option / on the baseline")
        runs = GaugeMetricFamily("assay_decision_runs", "Runs of the baseline and the option.", labels=OPTION_LABELS)
        if self.view.decisions is not None:
            as_of.add_metric([], self.view.decisions.read_at_s)
        for figures in self.view.decisions.options if self.view.decisions else ():
            labels = [getattr(figures, name) for name in OPTION_LABELS]
            _add_ratio(speedup, labels, figures.time)
            _add_ratio(cost, labels, figures.cost)
            runs.add_metric(labels, figures.time.runs_baseline + figures.time.runs_option)
        yield from (as_of, *speedup, *cost, runs)


def _counter(name: str, meaning: str, *labels: str) -> CounterMetricFamily:
    """Return a counter of a node of the running job since the node's start."""
    return CounterMetricFamily(f"assay_host_{name}", meaning, labels=["campaign", "node", *labels])


def _ratio_families(name: str, meaning: str) -> tuple[GaugeMetricFamily, ...]:
    """Return the metrics of a ratio and of the ends of its interval."""
    return (
        GaugeMetricFamily(name, f"{meaning}.", labels=OPTION_LABELS),
        GaugeMetricFamily(f"{name}_low", f"{meaning}: lower end of the 95 % interval.", labels=OPTION_LABELS),
        GaugeMetricFamily(f"{name}_high", f"{meaning}: upper end of the 95 % interval.", labels=OPTION_LABELS),
    )


def _add_ratio(families: tuple[GaugeMetricFamily, ...], labels: list[str], ratio: TimeRatio | CostRatio | None) -> None:
    values = (ratio.ratio, ratio.low, ratio.high) if ratio else (None, None, None)
    for family, value in zip(families, values, strict=True):
        if value is not None:
            family.add_metric(labels, value)


def _decision_figures(context: Context) -> DecisionFigures:
    read_at_s = context.store.snapshot().read_at_s
    return DecisionFigures(option_figures(question_answers_on(context)), read_at_s)


@router.get("/metrics")
def metrics(context: ContextOf) -> Response:
    """Return the metrics of the repository, of its running campaigns and of its decisions."""
    store = context.store
    newest_campaigns = campaigns(store.repository, time.time(), CAMPAIGNS_MAX)
    decision_figures = context.decision_figures.last_answer(
        store.snapshot().version, lambda: _decision_figures(context)
    )
    view = replace(
        store.answer(("monitoring",), monitoring),
        running=tuple(campaign for campaign in newest_campaigns if campaign.running),
        hosts=host_samples(store.repository, newest_campaigns),
        decisions=decision_figures,
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(MonitoringCollector(view))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
