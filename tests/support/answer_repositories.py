"""Repositories on which every interface has to give the same answer, and the text of pages.

Four repositories: measured on a lab, several clusters, ALOJA's dump, simulated.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from builders import PRICES_YAML, build_repository, make_run, study_runs
from paths import ROOT

ALOJA = ROOT.parent / "shared" / "data" / "aloja" / "aloja-execs-2014-09-dump.csv"
SCALED_S = {"2": 60.0, "3": 43.0, "4": 35.0, "6": 28.5}
"""Run times by number of workers: contention 0.05, coherency 0.04 over multiples of two workers, before rounding."""

WORKER_PRICES_YAML = """\
prices: by-worker
currency: USD
date: 2026-01-05
source: list prices
items:
  - {name: Master, price: "$4000", per: master}
  - {name: Worker, price: "$3000", per: worker}
  - {name: Hard disk, price: "$100", per: device, device: hdd}
  - {name: SSD, price: "$400", per: device, device: ssd}
  - {name: Remote volume, price: "$50", per: device, device: remote}
"""


def clusters(root: Path) -> None:
    """Write runs of three clusters, two with layouts in common; one also varies workers, one containers."""
    runs: list[Run] = []

    def add(duration_s: float, cluster: str, layout: str, **levels: str) -> None:
        for repetition in range(3):
            number = len(runs)
            run = make_run(
                number,
                cluster=cluster,
                layout=layout,
                levels={"layout": layout, **levels},
                lab_scale=None,
                repetition=repetition,
                duration_s=duration_s * (1 + 0.01 * ((number * 7) % 5)),
            )
            workers = int(levels.get("workers", "3"))
            facts = {**run.environment["cluster"], "workers": workers, "nodes": workers + 1}
            runs.append(replace(run, environment={**run.environment, "cluster": facts}))

    for cluster, times in {
        "rack-1": {"HD2": 60.0, "HD4": 41.0, "SS2": 44.0, "HS5": 50.0},
        "rack-2": {"HD2": 66.0, "SS2": 47.0},
        "cloud": {"RL1": 90.0, "RL3": 80.0},
    }.items():
        for layout, time_s in times.items():
            for network in ("ETH", "IB"):
                add(time_s * (0.95 if network == "IB" else 1.0), cluster, layout, network=network)
    for workers, time_s in SCALED_S.items():
        add(time_s, "rack-1", "HD2", workers=workers)
    for containers, time_s in {"2": 50.0, "4": 40.0, "8": 39.0}.items():
        add(time_s, "rack-2", "HD2", containers=containers)
    build_repository(root, runs)


def repository_of(name: str, folder: Path) -> tuple[Path, Path | None]:
    """Make one of the four repositories; return it with its price book."""
    root, prices = folder / "repository", folder / "prices.yaml"
    if name == "aloja":
        if not ALOJA.exists():
            pytest.skip(f"NOT tested: no {ALOJA.name}, so ALOJA's dump was not asked")
        assert CliRunner().invoke(assay, ["import", str(ALOJA), "--repository", str(root)]).exit_code == 0
        return root, None
    if name == "clusters":
        clusters(root)
        prices.write_text(WORKER_PRICES_YAML)
        return root, prices
    prices.write_text(PRICES_YAML)
    simulated = [replace(run, origin=Origin.SIMULATED, cold=None) for run in study_runs()]
    build_repository(root, simulated if name == "simulated" else None)
    return root, prices


def text_of(page: str) -> str:
    """Return a page's text with one line for each row of a table."""
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    rows = re.sub(r"\s*\n\s*", " ", markup)
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</(tr|p|h\d|li)>", "\n", rows))).replace("\u202f", " ")


def without_spaces(text: str) -> str:
    """Return the text without spaces, some of which stand for the tags of code on a page."""
    return re.sub(r"\s+", "", text)
