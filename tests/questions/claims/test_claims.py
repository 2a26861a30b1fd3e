"""Test the check of published claims against runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.questions.claims.claims import ClaimAnswer, Finding
from assay.questions.claims.evidence import RatioKind
from assay.questions.claims.findings import findings
from assay.questions.decisions.costs.run_costs import RunCosts
from benchmark_support import benchmark
from builders import interleaved, make_run

MAPS = "mapreduce.tasktracker.map.tasks.maximum"
COMPRESS = "mapreduce.map.output.compress"


def study(pace: Callable[[str, str, bool, int, str], float], **changes: Any) -> list[Run]:
    """Return a run of every combination, in turns; ``pace``: time by layout, network, compression, maps, workload."""
    rng = np.random.default_rng(5)
    return interleaved(
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
        for block in (64, 128)
        for workload in ("terasort", "wordcount")
        for zipped in (False, True)
        for maps in (8, 16)
        for network in ("ETH", "IB")
        for layout in ("HDD", "HD5", "SSD", "SS2")
    )


one_price = benchmark("dependence_errors").one_price


def dearer(price_ratio: float) -> Callable[[RunTable], RunCosts]:
    """Return the costs of runs where an hour with InfiniBand costs ``price_ratio`` times as much."""

    def costs(table: RunTable) -> RunCosts:
        network = table.columns["network"]
        prices = np.where(network.codes == network.code("IB"), price_ratio, 1.0)
        costs: RunCosts = replace(one_price(len(table)), per_h=prices)
        return costs

    return costs


tenth_dearer = dearer(1.1)


def by_name(runs: list[Run], costs_of: Callable[[RunTable], RunCosts] | None = None) -> dict[str, Finding]:
    table = table_of(runs)
    (claims,) = findings(table, costs_of(table) if costs_of else None).values()
    return {finding.name: finding for finding in claims}


def test_runs_with_the_effects_of_the_papers_support_their_claims() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        if workload == "wordcount":
            return 100.0
        seconds = 400.0 if layout.startswith("H") else 200.0 if not zipped else 300.0
        seconds *= 0.8 if network == "IB" and layout.startswith("S") else 1.0
        return seconds * (0.7 if maps == 16 and layout in ("HD5", "SS2") else 1.0)

    answers = {name: finding.answer for name, finding in by_name(study(pace), tenth_dearer).items()}
    assert answers == dict.fromkeys(answers, ClaimAnswer.SUPPORTED)
    assert len(answers) == 5


def test_the_opposite_world_contradicts_them() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        if workload == "wordcount":
            return 100.0 if layout.startswith("H") else 50.0
        seconds = 200.0 if layout.startswith("H") else 400.0 if not zipped else 210.0
        return seconds * (0.8 if network == "IB" else 1.0) * (0.7 if maps == 16 else 1.0)

    answers = {name: finding.answer for name, finding in by_name(study(pace), tenth_dearer).items()}
    assert answers == dict.fromkeys(answers, ClaimAnswer.CONTRADICTED)


def test_runs_that_say_nothing_leave_claims_undecided() -> None:
    claims = by_name([make_run(layout="HDD"), make_run(layout="SSD")])
    assert {finding.answer for finding in claims.values()} == {ClaimAnswer.UNDECIDED}
    assert "no otherwise equal runs measured this" in claims["infiniband-needs-ssd"].sentence
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


def one_plan(pace: Callable[[str, str, str], float], blocks: int) -> list[Run]:
    """Return what one small plan leaves: three repetitions, layouts by the papers' names, factors and what follows."""
    rng = np.random.default_rng(7)
    return [
        replace(
            make_run(
                layout=layout,
                parameters={
                    "dfs.blocksize": str(block),
                    COMPRESS: str(codec != "none").lower(),
                    "mapreduce.map.output.compress.codec": codec,
                    "yarn.nodemanager.resource.memory-mb": str(384 * int(containers)),
                    "yarn.nodemanager.resource.cpu-vcores": containers,
                },
            ),
            levels={"layout": layout, "compression": codec, "containers": containers},
            duration_s=pace(layout, codec, containers) * float(np.exp(rng.normal(0, 0.01))),
        )
        for block in range(blocks)
        for layout in ("HDD-1", "HDD-11", "SSD")
        for codec in ("none", "snappy")
        for containers in ("2", "4")
        for _ in range(3)
    ]


def test_one_plan_with_five_settings_or_more_settles_claims_and_one_with_fewer_names_its_settings() -> None:
    def pace(layout: str, codec: str, containers: str) -> float:
        seconds = {"HDD-1": 400.0, "HDD-11": 150.0, "SSD": 100.0 if codec == "none" else 140.0}[layout]
        return seconds * (0.7 if containers == "4" and layout == "HDD-11" else 1.0)

    claims = by_name(interleaved(one_plan(pace, 5)))
    assert claims["ssd-helps-shuffle"].answer is ClaimAnswer.SUPPORTED
    assert claims["compression-hides"].answer is ClaimAnswer.SUPPORTED
    needed = claims["containers-need-disks"]
    assert needed.answer is ClaimAnswer.SUPPORTED
    several, single = needed.evidence
    assert several.ratio == pytest.approx(1 / 0.7, rel=0.02)
    assert single.groups == 10  # HDD-1 alone: there is one SSD
    few = by_name(interleaved(one_plan(pace, 1)))
    assert {finding.answer for finding in few.values()} == {ClaimAnswer.UNDECIDED}
    assert str(few["ssd-helps-shuffle"].evidence[0]).startswith(
        "Undecided for shuffle-heavy jobs in general: 4 matched groups, 5 are needed. In the 4 tested settings SSDs "
    )


def test_all_hdd_and_all_ssd_are_distinguished_and_single_runs_give_no_interval() -> None:
    runs = [make_run(layout=layout, duration_s=seconds) for layout, seconds in (("All-HDD", 200.0), ("All-SSD", 50.0))]
    evidence = by_name(runs)["ssd-helps-shuffle"].evidence[0]
    assert (evidence.ratio, evidence.groups) == (None, 0)
    assert str(evidence) == "SSDs against hard disks: no otherwise equal runs measured this."
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
    runs = [make_run(layout=name, duration_s=time) for name, claims in times.items() for time in claims]
    (claims,) = findings(table_of(runs)).values()
    claim = next(claim_ for claim_ in claims if claim_.name == "ssd-helps-shuffle")
    (evidence,) = claim.evidence
    assert (evidence.low or 2) < 1 < (evidence.high or 0)
    assert claim.answer is ClaimAnswer.UNDECIDED


def network_pays(gain_ssd: float, gain_hdd: float) -> list[Run]:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        gain = gain_ssd if layout.startswith("S") else gain_hdd
        return 200.0 / (gain if network == "IB" else 1.0)

    return study(pace)


def test_infiniband_pays_if_its_speedup_exceeds_its_price_ratio() -> None:
    """An eighth faster does not pay what costs a fifth more: the break-even is the ratio of the prices."""

    fifth_dearer = dearer(1.2)
    claim = by_name(network_pays(1.3, 1.125), fifth_dearer)["infiniband-needs-ssd"]
    assert claim.answer is ClaimAnswer.SUPPORTED
    assert claim.evidence[0].measure is RatioKind.COST_RATIO
    assert claim.evidence[0].ratio == pytest.approx(1.2 / 1.3, rel=0.01)
    assert str(claim.evidence[0]).startswith("With SSDs, a job on InfiniBand costs 0.92× as much as on Ethernet (")
    assert by_name(network_pays(1.3, 1.125), tenth_dearer)["infiniband-needs-ssd"].answer is ClaimAnswer.CONTRADICTED
    assert by_name(network_pays(1.3, 1.25), fifth_dearer)["infiniband-needs-ssd"].answer is ClaimAnswer.CONTRADICTED


def test_without_prices_the_claim_on_cost_is_undecided() -> None:
    claim = by_name(network_pays(1.3, 1.0))["infiniband-needs-ssd"]
    assert claim.answer is ClaimAnswer.UNDECIDED
    assert "depends on prices" in claim.judged
    assert claim.evidence[0].ratio == pytest.approx(1.3, rel=0.01)


def test_making_the_input_is_no_workload_of_a_claim() -> None:
    """InfiniBand copies a generated input fast; that says nothing of the jobs that people run."""
    made = [
        replace(
            run,
            workload=f"prep_{run.workload}",
            duration_s=run.duration_s / (3 if run.levels["network"] == "IB" else 1),
        )
        for run in network_pays(1.0, 1.0)
    ]
    claim = by_name([*network_pays(1.3, 1.0), *made], tenth_dearer)["infiniband-needs-ssd"]
    assert claim.answer is ClaimAnswer.SUPPORTED
    assert {name for evidence in claim.evidence for name in evidence.workloads} == {"terasort", "wordcount"}


def test_workloads_of_unknown_class_are_excluded_from_claims_about_a_class_and_counted() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        return 400.0 if layout.startswith("H") else 200.0

    known = study(pace)
    unknown = [replace(run, workload="customer_job", duration_s=run.duration_s / 3) for run in known[:10]]
    claims = by_name([*known, *unknown])
    shuffle = claims["ssd-helps-shuffle"]
    assert (shuffle.unknown_runs, shuffle.unknown_workloads) == (10, ("customer_job",))
    assert shuffle.sentence.endswith("10 runs of 1 workload of unknown class excluded.")
    assert shuffle.evidence[0].workloads == ("terasort",)
    assert claims["infiniband-needs-ssd"].unknown_runs == 0


def test_the_class_of_a_labelled_workload_is_that_of_its_program() -> None:
    runs = [
        replace(run, workload=f"nightly {run.workload}", workload_parameters={"program": run.workload})
        for run in study(lambda layout, *_: 400.0 if layout.startswith("H") else 200.0)
    ]
    gain = by_name(runs)["ssd-helps-shuffle"].evidence[0]
    assert gain.workloads == ("nightly terasort",)


def test_disks_and_containers_are_compared_within_clusters() -> None:
    """One cluster of many disks gains by containers, another of one disk does not: they differ in more than disks."""

    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        return 200.0 * (0.7 if maps == 16 and layout == "HD5" else 1.0)

    apart = [
        replace(run, cluster="large" if run.layout == "HD5" else "small")
        for run in study(pace)
        if run.layout in ("HDD", "HD5")
    ]
    needed = by_name(apart)["containers-need-disks"]
    assert needed.answer is ClaimAnswer.UNDECIDED
    assert [item.groups for item in needed.evidence] == [0, 0]
    together = [replace(run, cluster="one") for run in apart]
    assert by_name(together)["containers-need-disks"].answer is ClaimAnswer.SUPPORTED


def test_runs_with_equal_gains_refute_that_compression_hides_the_effect_of_storage() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        return (400.0 if layout.startswith("H") else 200.0) * (0.8 if zipped else 1.0)

    hides = by_name(study(pace))["compression-hides"]
    assert hides.answer is ClaimAnswer.CONTRADICTED
    assert "against a margin of 10 %" in hides.judged
    ratio = hides.evidence[0]
    assert ratio.low is not None
    assert ratio.low_90 is not None
    assert ratio.low < ratio.low_90 < (ratio.high_90 or 0) < (ratio.high or 0) < 1.1


@pytest.mark.parametrize(
    ("groups", "repetitions", "answer"),
    [(1, 3, "undecided"), (4, 3, "undecided"), (4, 1, "undecided"), (5, 3, "supported")],
)
def test_a_claim_needs_five_matched_groups_whatever_the_repetitions(groups: int, repetitions: int, answer: str) -> None:
    """The caveat of a decision says the same: nothing is shown for other settings."""
    runs = [
        make_run(layout=layout, parameters={"dfs.blocksize": str(block)}, duration_s=seconds + 0.1 * number)
        for block in range(groups)
        for number in range(repetitions)
        for layout, seconds in (("HDD", 100.0 + block), ("SSD", 90.0))
    ]
    claim = by_name(interleaved(runs))["ssd-helps-shuffle"]
    assert claim.evidence[0].groups == groups
    assert claim.answer == answer
    assert ("in general" in claim.sentence) is (answer == "undecided")
    assert claim.evidence[0].ratio == pytest.approx(100 / 90, rel=0.03)


def test_a_claim_with_a_condition_compares_the_same_workloads_on_both_sides() -> None:
    """Five workloads with SSDs were once compared with eight with hard disks."""
    runs = [run for run in network_pays(1.3, 1.0) if run.workload == "terasort" or not run.layout.startswith("S")]
    with_ssd, with_hdd = by_name(runs, tenth_dearer)["infiniband-needs-ssd"].evidence
    assert with_ssd.workloads == with_hdd.workloads == ("terasort",)


def test_two_gains_and_their_ratio_come_from_the_same_matched_groups() -> None:
    """Groups with one side of the condition alone are in neither gain: here, large blocks, where the SSD gains 8x."""

    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        return 400.0 if layout.startswith("H") else 200.0 if not zipped else 250.0

    runs = study(pace)
    large = [
        replace(
            run,
            parameters={**run.parameters, "dfs.blocksize": "512"},
            duration_s=run.duration_s / (4 if run.layout.startswith("S") else 1),
        )
        for run in runs
        if run.parameters[COMPRESS] == "false"
    ]
    ratio, without, with_it = by_name([*runs, *large])["compression-hides"].evidence
    assert ratio.groups == without.groups == with_it.groups
    assert ratio.ratio == pytest.approx((without.ratio or 0) / (with_it.ratio or 1))
    assert without.ratio == pytest.approx(2.0, rel=0.02)


def test_workloads_that_differ_in_a_claim_are_named() -> None:
    def pace(layout: str, network: str, zipped: bool, maps: int, workload: str) -> float:
        return 100.0 / (1.0 if network == "ETH" else 2.0 if workload == "terasort" else 0.8)

    ssd, _ = by_name(study(pace), tenth_dearer)["infiniband-needs-ssd"].evidence
    assert (ssd.above, ssd.below) == (("wordcount",), ("terasort",)), "of the cost ratio"
    assert "above 1 on WordCount; below 1 on TeraSort" in str(ssd)
