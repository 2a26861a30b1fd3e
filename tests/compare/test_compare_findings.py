"""Claims answered from runs, and changes in a history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.compare.findings import ClaimAnswer, Finding, findings
from assay.model.run import Origin, Run
from assay.statistics.run_table import table_of
from builders import make_run

MAPS = "mapreduce.tasktracker.map.tasks.maximum"
COMPRESS = "mapreduce.map.output.compress"


def study(pace: Callable[[str, str, bool, int, str], float], **changes: Any) -> list[Run]:
    """Return runs of every combination; ``pace`` gives the time by layout, network, compression, maps, workload."""
    rng = np.random.default_rng(5)
    return [
        replace(
            make_run(
                layout=layout,
                workload=workload,
                parameters={COMPRESS: str(zipped).lower(), MAPS: str(maps), "dfs.blocksize": str(block)},
                **changes,
            ),
            levels={"layout": layout, "network": network},
            duration_s=pace(layout, network, zipped, maps, workload) * float(np.exp(rng.normal(0, 0.01))),
        )
        for layout in ("HDD", "HD5", "SSD", "SS2")
        for network in ("ETH", "IB")
        for zipped in (False, True)
        for maps in (8, 16)
        for workload in ("terasort", "wordcount")
        for block in (64, 128)
    ]


def by_name(runs: list[Run]) -> dict[str, Finding]:
    (found,) = findings(table_of(runs)).values()
    return {finding.name: finding for finding in found}


def test_a_world_as_the_papers_tell_it_supports_their_claims() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        if workload == "wordcount":
            return 100.0
        seconds = 400.0 if layout.startswith("H") else 200.0 if not zipped else 300.0
        seconds *= 0.8 if network == "IB" and layout.startswith("S") else 1.0
        return seconds * (0.7 if maps == 16 and layout in ("HD5", "SS2") else 1.0)

    answers = {name: finding.answer for name, finding in by_name(study(pace)).items()}
    assert answers == dict.fromkeys(answers, ClaimAnswer.SUPPORTED)
    assert len(answers) == 5


def test_the_opposite_world_contradicts_them() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        if workload == "wordcount":
            return 100.0 if layout.startswith("H") else 50.0
        seconds = 200.0 if layout.startswith("H") else 400.0 if not zipped else 210.0
        return seconds * (0.8 if network == "IB" else 1.0) * (0.7 if maps == 16 else 1.0)

    answers = {name: finding.answer for name, finding in by_name(study(pace)).items()}
    assert answers == dict.fromkeys(answers, ClaimAnswer.CONTRADICTED)


def test_runs_that_say_nothing_leave_claims_undecided() -> None:
    found = by_name([make_run(layout="HDD"), make_run(layout="SSD")])
    assert {finding.answer for finding in found.values()} == {ClaimAnswer.UNDECIDED}
    assert "no matched set" in found["infiniband-needs-ssd"].sentence
    assert findings(table_of([])) == {}


def test_a_measured_busy_cpu_overrides_what_the_papers_say_of_a_workload() -> None:
    runs = [
        make_run(
            layout=layout,
            duration_s=100.0 + block,
            metrics={"cpu_busy_share": 0.95},
            parameters={"dfs.blocksize": str(block)},
        )
        for block in range(4)
        for layout in ("HDD", "SSD")
    ]
    assert by_name(runs)["ssd-not-for-cpu"].evidence[0].workloads == ("terasort",)


def one_plan(pace: Callable[[str, str, str], float]) -> list[Run]:
    """Return what one small plan leaves: three repetitions, layouts by the papers' names, factors and what follows."""
    rng = np.random.default_rng(7)
    return [
        replace(
            make_run(
                layout=layout,
                parameters={
                    COMPRESS: str(codec != "none").lower(),
                    "mapreduce.map.output.compress.codec": codec,
                    "yarn.nodemanager.resource.memory-mb": str(384 * int(containers)),
                    "yarn.nodemanager.resource.cpu-vcores": containers,
                },
            ),
            levels={"layout": layout, "compression": codec, "containers": containers},
            duration_s=pace(layout, codec, containers) * float(np.exp(rng.normal(0, 0.01))),
        )
        for layout in ("HDD-1", "HDD-11", "SSD")
        for codec in ("none", "snappy")
        for containers in ("2", "4")
        for _ in range(3)
    ]


def test_one_plan_is_enough_when_its_runs_repeat() -> None:
    def pace(layout: str, codec: str, containers: str) -> float:
        seconds = {"HDD-1": 400.0, "HDD-11": 150.0, "SSD": 100.0 if codec == "none" else 140.0}[layout]
        return seconds * (0.7 if containers == "4" and layout == "HDD-11" else 1.0)

    found = by_name(one_plan(pace))
    assert found["ssd-helps-shuffle"].answer is ClaimAnswer.SUPPORTED
    assert found["compression-hides"].answer is ClaimAnswer.SUPPORTED
    needed = found["containers-need-disks"]
    assert needed.answer is ClaimAnswer.SUPPORTED
    several, one = needed.evidence
    assert several.ratio == pytest.approx(1 / 0.7, rel=0.02)
    assert one.sets == 4  # HDD-1 and SSD are one disk each


def test_all_hdd_and_all_ssd_are_told_apart_and_single_runs_give_no_interval() -> None:
    runs = [make_run(layout=layout, duration_s=seconds) for layout, seconds in (("All-HDD", 200.0), ("All-SSD", 50.0))]
    evidence = by_name(runs)["ssd-helps-shuffle"].evidence[0]
    assert (evidence.ratio, evidence.sets) == (None, 1)
    assert "too few for an interval" in str(evidence)
    again = [make_run(layout=run.layout, duration_s=run.duration_s * 1.01) for run in runs]
    evidence = by_name([*runs, *again])["ssd-helps-shuffle"].evidence[0]
    assert evidence.ratio == pytest.approx(4.0)
    assert evidence.low is not None


def test_origins_are_answered_apart() -> None:
    runs = [make_run(origin=origin, lab_scale=None) for origin in (Origin.MEASURED, Origin.PUBLISHED)]
    assert list(findings(table_of(runs))) == ["measured", "published"]


def test_ties_of_whole_seconds_do_not_make_a_claim_certain() -> None:
    """100 and 100 s against 99 and 99 s: a second is all that the clock tells, and less than what was rounded."""
    times = {"HDD": (100.0, 100.0), "SSD": (99.0, 99.0)}
    runs = [make_run(layout=name, duration_s=time) for name, found in times.items() for time in found]
    (found,) = findings(table_of(runs)).values()
    claim = next(one for one in found if one.name == "ssd-helps-shuffle")
    (evidence,) = claim.evidence
    assert (evidence.low or 2) < 1 < (evidence.high or 0)
    assert claim.answer is ClaimAnswer.UNDECIDED
