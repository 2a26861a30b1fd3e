"""Make runs, traces and a small repository from a seed, marked as measured on a lab."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from assay.model.clusters.layout_code import parse_name
from assay.model.clusters.price_book import LineItem, PriceBook
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.run import CacheState, Check, Run
from assay.model.runs.run_status import RunStatus
from assay.model.runs.traces.trace import Trace
from assay.model.runs.warning import CodedWarning, WarningCode
from assay.store import Repository

WORKERS = ("worker1", "worker2", "worker3")
STUDY_S = {
    "dfsio-write": {"HD2": 29.4, "SS2": 17.2},
    "dfsio-read": {"HD2": 21.0, "SS2": 15.9},
    "terasort": {"HD2": 67.6, "SS2": 32.3},
}
"""Typical run times of the study, by workload and layout."""
_PHASES = {
    "dfsio-write": {"setup": (0.0, 0.12), "map": (0.12, 0.9), "shuffle": (0.8, 0.93), "reduce": (0.93, 0.97)},
    "dfsio-read": {"setup": (0.0, 0.15), "map": (0.15, 0.88), "shuffle": (0.78, 0.91), "reduce": (0.91, 0.96)},
    "terasort": {
        "setup": (0.0, 0.05),
        "map": (0.05, 0.42),
        "shuffle": (0.3, 0.61),
        "merge": (0.58, 0.66),
        "reduce": (0.64, 0.98),
        "cleanup": (0.98, 1.0),
    },
}

CLUSTER_PRICE = """\
prices: three-workers
currency: USD
date: 2026-01-05
source: list prices
items:
  - {name: Rack, price: "$9000", per: cluster, covers: [nodes, network]%s}
  - {name: Hard disk, price: "$100", per: device, device: hdd}
  - {name: SSD, price: "$400", per: device, device: ssd}
"""
"""Price book of a whole cluster; ``%s`` takes further keys of its item."""


def make_run(number: int = 0, **changes: Any) -> Run:
    """Return a valid cold TeraSort run on HD2, with ``changes`` to its fields."""
    layout = changes.get("layout", "HD2")
    code = parse_name(layout)
    devices = {kind: count for kind, count in code.devices.items() if count} if code else {"hdd": 2}
    run = Run(
        run_id=f"00000000-0000-7000-8000-{number:012d}",
        campaign_id="campaign-1",
        plan="hdd-vs-ssd",
        origin=Origin.MEASURED,
        status=RunStatus.VALID,
        cause=None,
        cluster="lab-small",
        lab_scale=0.05,
        engine="hadoop",
        engine_version="3.4.2",
        workload="terasort",
        workload_parameters={"reduces": "6"},
        layout=layout,
        levels={"layout": layout},
        parameters={"dfs.blocksize": "64MiB"},
        repetition=number,
        block=number,
        position=number,
        attempt=1,
        duration_s=60.0,
        cold=True,
        started_at=f"2026-01-05T{10 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
        data_bytes=500_000_000,
        environment={
            "kernel": "6.1.0-18",
            "jvm": "17.0.10",
            "assay": {"version": "0.1.0"},
            "uptime_s": number,
            "cluster": {"nodes": 4, "masters": 1, "workers": 3, "layout_devices": devices},
        },
    )
    return replace(run, **changes)


def coded_warnings(words: str) -> tuple[CodedWarning, ...]:
    """Return a warning of these words."""
    return (CodedWarning(WarningCode.HOSTS_DIFFER, words),)


def words_of(warnings: Iterable[CodedWarning]) -> tuple[str, ...]:
    """Return what warnings say."""
    return tuple(warning.words for warning in warnings)


def runs_with(times_s: dict[str, list[float]], **changes: Any) -> list[Run]:
    """Return TeraSort runs with these times by layout; equal places in the lists share a block, and a minute."""
    runs: list[Run] = []
    for position, (layout, times) in enumerate(times_s.items()):
        for index, duration_s in enumerate(times):
            minute, second = divmod(index * len(times_s) + position, 60)
            started_at = f"2026-01-05T10:{minute:02d}:{second:02d}Z"
            fields = {"repetition": index, "block": index, "started_at": started_at, **changes}
            runs.append(make_run(len(runs), layout=layout, duration_s=duration_s, **fields))
    return runs


def interleaved(runs: Iterable[Run]) -> list[Run]:
    """Return the runs started in turns, a second apart: the first of each configuration, then the second of each."""
    turns: dict[tuple[object, ...], int] = {}
    keyed: list[tuple[int, int, Run]] = []
    for run in runs:
        key = run.workload, run.cluster, run.layout, *sorted((run.levels | run.parameters).items())
        keyed.append((turns.setdefault(key, 0), len(keyed), run))
        turns[key] += 1
    started = {}
    for second, (_, index, _) in enumerate(sorted(keyed, key=lambda item: item[:2])):
        started[index] = f"2026-01-05T{10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
    return [replace(run, started_at=started[index]) for _, index, run in keyed]


def _caches() -> tuple[CacheState, ...]:
    return tuple(CacheState(node, 812_000_000, 21_000_000, 400_000_000, 0, True, None) for node in WORKERS)


def _study_run(number: int, workload: str, layout: str, repetition: int, noise: random.Random) -> Run:
    duration_s = STUDY_S[workload][layout] * noise.lognormvariate(0, 0.025)
    data_mb = 500.0 if workload == "terasort" else 300.0
    phases = tuple(Phase(n, a * duration_s, b * duration_s) for n, (a, b) in _PHASES[workload].items())
    metrics = {
        "job_throughput_mb_per_s": data_mb / duration_s,
        "cpu_busy_share": 0.88 if (workload, layout) == ("terasort", "SS2") else 0.45,
    }
    if workload.startswith("dfsio"):
        metrics |= {
            "per_stream_mb_per_s": 0.3 * data_mb / duration_s,
            "gated_aggregate_mb_per_s": 1.6 * data_mb / duration_s,
        }
    minute, second = divmod(number * 75, 60)
    return make_run(
        number,
        workload=workload,
        layout=layout,
        duration_s=duration_s,
        repetition=repetition,
        block=repetition,
        phases=phases,
        metrics=metrics,
        caches=_caches(),
        data_bytes=int(data_mb * 1e6),
        baseline_id="baseline-1",
        workload_parameters={"files": "6"} if workload.startswith("dfsio") else {"reduces": "6"},
        started_at=f"2026-01-05T{10 + minute // 60:02d}:{minute % 60:02d}:{second:02d}Z",
        checks=(Check("exit status", True, "the client ended with 0"),),
        sources={"phases": "job history"},
    )


def study_runs(repetitions: int = 3, seed: int = 7) -> list[Run]:
    """Return three workloads on HD2 and SS2 in ABBA order, with one invalid and one failed run in between."""
    noise = random.Random(seed)
    runs: list[Run] = []
    for repetition in range(repetitions):
        for workload in STUDY_S:
            order = ("HD2", "SS2") if repetition % 2 == 0 else ("SS2", "HD2")
            for layout in order:
                runs.append(_study_run(len(runs), workload, layout, repetition, noise))
    invalid_run = _study_run(len(runs), "terasort", "HD2", 0, noise)
    cause = "replicas: 998,244,352 bytes on disk, expected 1,500,000,000 (3 copies)"
    runs.append(replace(invalid_run, status=RunStatus.INVALID, cause=cause))
    failed_run = _study_run(len(runs), "dfsio-read", "SS2", 1, noise)
    runs.append(replace(failed_run, status=RunStatus.FAILED, cause="DataNode on worker2 died during the map phase"))
    return runs


def make_trace(run: Run, seed: int = 7) -> Trace:
    """Return a 1 Hz trace with two disks of the layout's kind on each worker, an idle disk, and CPU counters."""
    noise = random.Random(f"{seed} {run.run_id}")
    kind = "ssd" if run.layout.startswith("SS") else "hdd"
    limit = 25e6 if kind == "ssd" else 6e6
    trace = Trace()
    for node in WORKERS:
        totals = {
            (disk, metric): 0.0 for disk in (f"{kind}1", f"{kind}2", "os") for metric in ("read_bytes", "write_bytes")
        }
        for second in range(-2, int(run.duration_s) + 3):
            share = second / run.duration_s
            for (disk, metric), total in totals.items():
                trace.append(float(second), node, f"disk:{disk}", metric, counter=True, value=total)
                reading = 0.05 < share < 0.45 and metric == "read_bytes"
                writing = 0.3 < share < 0.97 and metric == "write_bytes"
                if disk != "os" and (reading or writing):
                    totals[disk, metric] = total + limit * noise.uniform(0.55, 1.0)
            busy = max(0, second) * 1.4
            for metric, value in (
                ("user_s", busy),
                ("system_s", 0.0),
                ("irq_s", 0.0),
                ("steal_s", 0.0),
                ("iowait_s", max(0, second) * 0.4),
                ("idle_s", max(0, second) * 0.2),
            ):
                trace.append(float(second), node, "cpu", metric, counter=True, value=value)
    return trace


_BUNDLE_FILES: dict[bytes, dict[str, bytes]] = {}
"""Files of each bundle that :func:`build_repository` has published in this process, by run and seed."""


def build_repository(root: Path, runs: list[Run] | None = None, *, seed: int = 7) -> Repository:
    """Publish ``runs`` (the study by default) in a repository at ``root``; valid runs with phases get a trace.

    Publishing a trace takes ten times as long as the rest. A run that was published before in this process is copied.
    """
    repository = Repository.create(root)
    for run in study_runs(seed=seed) if runs is None else runs:
        key = pickle.dumps((run, seed))
        bundle = root / "bundles" / run.run_id
        if key not in _BUNDLE_FILES or bundle.exists():
            is_traced = run.status is RunStatus.VALID and bool(run.phases)
            repository.publish(run, trace=make_trace(run, seed) if is_traced else None)
            files = (path for path in bundle.rglob("*") if path.is_file())
            _BUNDLE_FILES[key] = {str(path.relative_to(bundle)): path.read_bytes() for path in files}
            continue
        for name, content in _BUNDLE_FILES[key].items():
            file = bundle / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return repository


def price_book() -> PriceBook:
    """Return SanDisk's two prices."""
    items = (
        LineItem("All-HDD configuration", Decimal(37561), "cluster", layouts=("HD2",)),
        LineItem("All-SSD configuration", Decimal(46567), "cluster", layouts=("SS2",)),
    )
    return PriceBook("sandisk-2014", "USD", "2014-06-01", "SanDisk 2014, table 6", items)


PRICES_YAML = """\
prices: sandisk-2014
currency: USD
date: 2014-06-01
source: "SanDisk 2014, table 6"
items:
  - {name: All-HDD configuration, price: "$37,561", per: cluster, layouts: [HD2]}
  - {name: All-SSD configuration, price: "$46,567", per: cluster, layouts: [SS2]}
"""
