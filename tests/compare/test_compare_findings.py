"""Claims answered from runs, and changes in a history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.compare.findings import Answer, Finding, findings
from assay.model.run import Origin, Run
from assay.quality.changes import change_places, changes_of, histories
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
    assert answers == dict.fromkeys(answers, Answer.SUPPORTED)
    assert len(answers) == 5


def test_the_opposite_world_contradicts_them() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        if workload == "wordcount":
            return 100.0 if layout.startswith("H") else 50.0
        seconds = 200.0 if layout.startswith("H") else 400.0 if not zipped else 210.0
        return seconds * (0.8 if network == "IB" else 1.0) * (0.7 if maps == 16 else 1.0)

    answers = {name: finding.answer for name, finding in by_name(study(pace)).items()}
    assert answers == dict.fromkeys(answers, Answer.CONTRADICTED)


def test_runs_that_say_nothing_leave_claims_undecided() -> None:
    found = by_name([make_run(layout="HDD"), make_run(layout="SSD")])
    assert {finding.answer for finding in found.values()} == {Answer.UNDECIDED}
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
    assert found["ssd-helps-shuffle"].answer is Answer.SUPPORTED
    assert found["compression-hides"].answer is Answer.SUPPORTED
    needed = found["containers-need-disks"]
    assert needed.answer is Answer.SUPPORTED
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


def history(levels: list[tuple[int, float]], seed: int = 1) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.concatenate([level * np.exp(rng.normal(0, 0.03, n)) for n, level in levels])


def test_changes_are_found_with_their_dates_and_sizes() -> None:
    times = history([(20, 100.0), (20, 120.0), (20, 100.0)])
    found = changes_of(np.arange(0.0, 60 * 3600, 3600), times)
    assert [change.index for change in found] == [pytest.approx(20, abs=1), pytest.approx(40, abs=1)]
    assert found[0].ratio.value == pytest.approx(1.2, rel=0.03)
    assert found[1].ratio.value == pytest.approx(1 / 1.2, rel=0.03)
    assert found[0].first_after_unix_s - found[0].last_before_unix_s == 3600.0
    assert (found[0].ratio.low or 0) > 1


def test_steady_histories_raise_few_alarms_and_an_outlier_none() -> None:
    alarms = sum(bool(change_places(np.log(history([(30, 100.0)], seed)))) for seed in range(100))
    assert alarms <= 4
    times = history([(30, 100.0)], seed=2)
    times[17] = 5000.0
    assert change_places(np.log(times)) == []


def test_the_same_history_gives_the_same_answer_in_any_order_of_rows() -> None:
    times, when = history([(15, 100.0), (15, 130.0)]), np.arange(0.0, 1800, 60)
    order = np.random.default_rng(0).permutation(30)
    assert changes_of(when, times) == changes_of(when[order], times[order])
    with pytest.raises(ValueError, match="positive"):
        changes_of(np.array([1.0]), np.array([0.0]))


def test_histories_are_kept_apart_by_configuration() -> None:
    start = datetime(2026, 1, 5, tzinfo=UTC)
    runs = []
    for number, (old, new) in enumerate(zip(history([(12, 100.0), (12, 140.0)]), history([(24, 50.0)]), strict=True)):
        when = (start + timedelta(hours=number)).isoformat()
        runs += [
            make_run(layout="HDD", duration_s=float(old), started_at=when),
            make_run(layout="SSD", duration_s=float(new), started_at=when),
        ]
    (found,) = histories(table_of(runs))
    assert runs[found.position].layout == "HDD"
    assert (found.runs, len(found.changes)) == (24, 1)
    assert histories(table_of(runs[:10])) == []
