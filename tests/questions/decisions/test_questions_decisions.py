"""One decision per question: estimates, verdicts, the leading option, ties, costs and caveats."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.comparison.factors.device_classes import DeviceClass, device_class_of
from assay.analysis.statistics import Verdict, table_of
from assay.analysis.statistics.scalability import ScalabilityLaw
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_percent
from assay.interfaces.cli.main import assay
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.curve import curve_of
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import CaveatKind, Decision, DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import cost_headline
from assay.questions.decisions.sentences.curve_text import curve_table
from assay.questions.decisions.sentences.decision_sentences import answer_of, evidence, headline, remarks
from assay.questions.decisions.sentences.option_words import baseline_text, option_text, workload_in_context
from assay.questions.json_values import json_value
from assay.specs.prices import prices_of
from builders import CLUSTER_PRICE, PRICES_YAML, build_repository, interleaved, make_run, price_book, study_runs
from web_support import client_of

pytestmark = pytest.mark.slow


def group(times_s: Mapping[str, Sequence[float]], first: int = 0, **changes: object) -> list[Run]:
    """Return one matched group: runs with these times by layout, started in turns."""
    return interleaved(
        make_run(first + number, layout=layout, levels={"layout": layout}, duration_s=duration_s, **changes)
        for number, (layout, duration_s) in enumerate(
            (layout, duration_s) for layout, times in times_s.items() for duration_s in times
        )
    )


def decided(runs: Sequence[Run], factor: str = "layout", **request: object) -> Decision:
    """Return the only decision on ``factor``."""
    (decision,) = decide(table_of(list(runs)), DecisionRequest(factor, **request))  # type: ignore[arg-type]
    return decision


def test_one_group_gives_welchs_ratio_for_the_tested_settings_only() -> None:
    decision = decided(group({"HD2": [60.0, 63.0, 57.0], "SS2": [30.0, 31.0, 29.5]}))
    (result,) = decision.results
    assert result.time is not None
    expected = math.exp(np.log([60.0, 63.0, 57.0]).mean() - np.log([30.0, 31.0, 29.5]).mean())
    assert result.time.ratio == pytest.approx(expected)
    assert (result.verdict, decision.leader, decision.family) == (Verdict.FASTER, "SS2", 1)
    assert result.time.groups == 1
    assert CaveatKind.TESTED_ONLY in {caveat.kind for caveat in decision.caveats}
    assert headline(decision).startswith("2 SSDs per worker (SS2) are 1.99×")


def test_options_are_equivalent_only_where_the_interval_is_within_the_margin() -> None:
    near = decided(group({"HD2": [60.0, 60.2, 59.9, 60.1], "SS2": [60.1, 60.0, 60.2, 59.8]}))
    wide = decided(group({"HD2": [60.0, 75.0, 50.0, 66.0], "SS2": [61.0, 52.0, 70.0, 63.0]}))
    assert near.results[0].verdict is Verdict.EQUIVALENT
    assert wide.results[0].verdict is Verdict.NOT_DISTINGUISHABLE


def test_two_runs_an_option_are_not_enough() -> None:
    decision = decided(group({"HD2": [60.0, 61.0], "SS2": [30.0, 30.5]}))
    assert decision.results[0].verdict is Verdict.NOT_ENOUGH_RUNS
    assert headline(decision).startswith("Not enough runs to compare 2 SSDs per worker (SS2)")


def test_disjoint_clusters_have_separate_baselines() -> None:
    single = group({"HD2": [60.0, 61.0, 59.0], "SS2": [44.0, 45.0, 43.0]}, cluster="lab")
    other = group({"HD5": [30.0, 31.0, 29.0], "SS1": [40.0, 41.0, 39.0]}, 100, cluster="azure")
    decisions = decide(table_of([*single, *other]), DecisionRequest("layout"))
    assert sorted((decision.baseline, decision.leader) for decision in decisions) == [("HD2", "SS2"), ("HD5", "HD5")]
    text = headline(next(decision for decision in decisions if decision.baseline == "HD5"))
    assert text.startswith("1 SSD per worker (SS1) is slower than 5 hard disks per worker (HD5)")


def test_generated_inputs_are_no_workloads_of_a_headline() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0]})
    runs += group({"HD2": [10.0, 10.1, 10.2], "SS2": [90.0, 91.0, 92.0]}, 100, workload="prep_terasort")
    decision = decided(runs)
    assert decision.headline_workloads == ("terasort",)
    assert decision.leader == "SS2"


def test_a_tie_with_the_leader_is_named_with_its_ratio() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 32.0, 29.0], "HS5": [31.0, 30.0, 32.5]})
    decision = decided(runs)
    assert decision.leader == "SS2"
    assert decision.ties == ("HS5",)
    tie = decision.option("HS5").tied_with_leader
    assert tie is not None
    assert tie.low is not None
    assert tie.high is not None
    assert tie.low < 1 < tie.high
    assert "No difference shown: 2 SSDs per worker (SS2) are 1.03× as fast as 5 hard disks per worker" in evidence(
        decision
    )


@pytest.mark.parametrize(
    ("times_s", "verdict"),
    [
        ([99.0, 97.0, 100.0, 96.0, 98.0], Verdict.EQUIVALENT),
        ([97.0, 90.0, 101.0, 89.0, 99.0], Verdict.NOT_DISTINGUISHABLE),
        ([60.0, 61.0], Verdict.NOT_ENOUGH_RUNS),
    ],
)
def test_an_option_without_a_verdict_against_the_baseline_ties_with_it(times_s: list[float], verdict: Verdict) -> None:
    """A one-sided test leads, the verdict is two-sided: "no difference" stood next to "fastest: IB, not: ETH"."""
    decision = decided(group({"HD2": [100.0, 102.0, 98.0, 101.0, 99.0][: len(times_s)], "SS2": times_s}))
    assert decision.results[0].verdict is verdict
    assert (decision.baseline, decision.leader, decision.ties) == ("HD2", "SS2", ("HD2",))


def test_a_headline_names_a_faster_option_where_a_higher_estimate_has_no_verdict() -> None:
    times_s = {"HD2": [100.0, 101.0, 99.0, 100.5], "HS2": [70.0, 71.0, 69.0, 70.5], "SS2": [20.0, 150.0, 40.0, 110.0]}
    decision = decided(group(times_s))
    verdicts = {option.option: option.verdict for option in decision.options}
    assert (decision.leader, verdicts["HS2"]) == ("SS2", Verdict.FASTER)
    assert verdicts["SS2"] is not Verdict.FASTER
    text = headline(decision)
    assert "(HS2) " in text
    assert "faster than 2 hard disks per worker (HD2)" in text
    assert text.endswith("which option is the fastest is open.")


def test_device_classes_come_from_recorded_devices_before_names() -> None:
    assert device_class_of("fast", "2 ssd") is DeviceClass.SSD
    assert device_class_of("HD5", "5 hdd + 1 ssd") is DeviceClass.HYBRID
    assert device_class_of("RL3", None) is DeviceClass.REMOTE
    assert device_class_of("NVE2", None) is DeviceClass.NVME
    assert device_class_of("something", None) is None


def test_layouts_of_a_class_are_compared_as_one_option() -> None:
    runs = group({"HD2": [60.0, 61.0], "HD5": [50.0, 51.0], "SS2": [30.0, 31.0], "SS1": [35.0, 36.0]})
    decision = decided(runs, "device_class")
    assert (decision.baseline, decision.leader) == ("hard disks", "SSD")
    time = decision.option("SSD").time
    assert time is not None
    assert (time.runs_baseline, time.runs_option) == (4, 4)
    assert headline(decision).startswith("SSDs are 1.6")


def test_origins_and_lab_scales_are_decided_apart() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0]})
    runs += group({"HD2": [60.0, 61.0, 59.0], "SS2": [80.0, 81.0, 79.0]}, 100, origin=Origin.SIMULATED)
    decisions = decide(table_of(runs), DecisionRequest("layout"))
    assert {decision.origin: decision.leader for decision in decisions} == {"measured": "SS2", "simulated": "HD2"}


def test_costs_come_from_the_same_runs_and_a_price_book_changes_no_verdict_about_time(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    table = repository.table()
    (plain,) = decisions_of(repository, table, DecisionRequest("layout"))
    (priced,) = decisions_of(repository, table, DecisionRequest("layout", prices=price_book()))
    assert [result.time for result in priced.results] == [result.time for result in plain.results]
    assert [result.verdict for result in priced.results] == [result.verdict for result in plain.results]
    price_ratio = 46567 / 37561
    for result in priced.results:
        assert result.time is not None
        assert result.cost is not None
        assert result.cost.price_ratio == pytest.approx(price_ratio)
        assert result.cost.ratio == pytest.approx(price_ratio / result.time.ratio)
        assert result.cost.low == pytest.approx(price_ratio / (result.time.high or 0))
        assert result.cost.break_even_price_ratio == pytest.approx(result.time.ratio)
        assert priced.baseline_costs is not None
        (job,) = [job for job in priced.baseline_costs.jobs if job.workload == result.workload]
        durations_s = [
            run.duration_s
            for run in study_runs()
            if (run.workload, run.layout, run.status) == (result.workload, "HD2", RunStatus.VALID)
        ]
        assert job.runs == len(durations_s) == 3
        mean_s = math.exp(sum(math.log(duration_s) for duration_s in durations_s) / 3)
        assert job.cost == pytest.approx(37561 / (3 * 8760) * mean_s / 3600)
        assert job.low is not None
        assert job.high is not None
        assert job.low < job.cost < job.high
    assert priced.baseline_costs is not None
    prices = {price.option: price.price for price in priced.baseline_costs.cluster_prices}
    assert prices == pytest.approx({"HD2": 37561, "SS2": 46567})
    assert not priced.baseline_costs.rented
    assert plain.baseline_costs is None
    assert cost_headline(plain) is None
    assert " % less than on " in (cost_headline(priced) or "")


def test_an_unpriced_cluster_has_no_cost_and_a_caveat(tmp_path: Path) -> None:
    runs = [*study_runs(), *group({"HS5": [50.0, 51.0, 52.0]}, 500, data_bytes=500_000_000)]
    repository = build_repository(tmp_path / "r", runs)
    (decision,) = decisions_of(repository, repository.table(), DecisionRequest("layout", prices=price_book()))
    of_hybrid = [result for result in decision.results if result.option == "HS5" and result.time]
    assert all(result.cost is None for result in of_hybrid)
    assert any(caveat.kind is CaveatKind.UNPRICED and "HS5" in caveat.text for caveat in decision.caveats)


def of_workers(run: Run, workers: int) -> Run:
    """Return the run on this number of workers, recorded as a fact alone."""
    facts = {**run.environment["cluster"], "workers": workers, "nodes": workers + 1}
    return replace(run, environment={**run.environment, "cluster": facts})


@pytest.mark.parametrize(
    ("clusters", "condition", "alike"),
    [
        ("ab", "", "one price for 2 clusters (a and b): 'Rack' is per cluster"),
        ("ab", ", when: {cluster: [a, b]}", None),
        ("a", "", None),
    ],
)
def test_one_price_for_several_clusters_is_a_caveat_unless_the_book_names_them(
    clusters: str, condition: str, alike: str | None, tmp_path: Path
) -> None:
    times_s = {"HD2": [60.0, 61.0, 59.0], "SS2": [40.0, 41.0, 39.0]}
    runs = [run for at, name in enumerate(clusters) for run in group(times_s, 10 * at, cluster=name)]
    repository = build_repository(tmp_path / "r", runs)
    request = DecisionRequest("layout", prices=prices_of(CLUSTER_PRICE % condition, "prices.yaml"))
    (decision,) = decisions_of(repository, repository.table(), request)
    assert all(result.cost for result in decision.results)
    texts = [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.ONE_PRICE]
    assert len(texts) == (alike is not None)
    for text in texts:
        assert alike is not None
        assert text.startswith(f"Price book three-workers has {alike}")
        assert "It prices 12 of 12 runs." in text
    (unpriced,) = decisions_of(repository, repository.table(), DecisionRequest("layout"))
    assert not [caveat for caveat in unpriced.caveats if caveat.kind is CaveatKind.ONE_PRICE]


def test_one_price_for_several_numbers_of_workers_is_a_caveat_unless_the_price_is_per_worker(tmp_path: Path) -> None:
    runs = [of_workers(run, int(run.levels["workers"])) for run in by_workers({2: 60.0, 4: 35.0})]
    repository = build_repository(tmp_path / "r", runs)

    def stated(text: str) -> list[str]:
        request = DecisionRequest("workers", prices=prices_of(text, "prices.yaml"))
        (decision,) = decisions_of(repository, repository.table(), request)
        assert all(result.cost for result in decision.results)
        return [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.ONE_PRICE]

    whole = CLUSTER_PRICE % ""
    (text,) = stated(whole)
    assert "has one price for 2 to 4 workers: 'Rack' is per cluster" in text
    assert not stated(whole.replace("per: cluster,", "per: node,"))


def test_every_caveat_has_a_number_or_a_name_of_its_runs(tmp_path: Path) -> None:
    runs = [*study_runs(), *group({"HS5": [50.0, 51.0, 52.0]}, 500, data_bytes=500_000_000)]
    repository = build_repository(tmp_path / "r", runs)
    (decision,) = decisions_of(repository, repository.table(), DecisionRequest("layout", prices=price_book()))
    texts = {caveat.kind: caveat.text for caveat in decision.caveats}
    assert all(re.search(r"\d", text) for text in texts.values()), texts
    counted = sum(run.status is RunStatus.VALID for run in runs)
    assert texts[CaveatKind.ONE_CLUSTER].startswith(f"All {counted} runs are of one cluster")
    assert f"no price for 3 of {counted} runs" in texts[CaveatKind.UNPRICED]
    assert "has 1 matched group and needs 5. assay run adds them with a plan" in texts[CaveatKind.TESTED_ONLY]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ("data_bytes=200000000, network=ETH", "TeraSort, 200 MB, Ethernet"),
        ("data_bytes=200000000, lab_scale=0.05, network=ETH", "TeraSort, 4 GB (200 MB in the lab, 1/20), Ethernet"),
        ("data_bytes=200000000, lab_scale=None", "TeraSort, 200 MB"),
        ("layout=SS2, network=None", "TeraSort, 2 SSDs per worker (SS2)"),
        ("containers=4, dfs.replication=2", "TeraSort, 4 containers per worker, HDFS copies 2"),
        ("", "TeraSort"),
    ],
)
def test_a_workload_in_its_context_is_named_in_words(context: str, words: str) -> None:
    assert workload_in_context("terasort", context) == words


def test_the_default_baseline_is_hard_disks_ethernet_the_smallest_number_or_the_most_run() -> None:
    table = table_of(group({"SS2": [1.0] * 5, "HD2": [2.0], "HD5": [2.0] * 2}))
    assert baseline_of(table, "layout", ["SS2", "HD2", "HD5"]) == "HD5"
    assert baseline_of(table, "layout", ["SS2", "HD2"]) == "HD2"
    sizes = [make_run(n, parameters={"containers": str(c)}) for n, c in enumerate((12, 12, 6, 9))]
    assert baseline_of(table_of(sizes), "containers", ["12", "6", "9"]) == "6"
    codecs = [make_run(n, levels={"network": name}) for n, name in enumerate(("IB", "IB", "ETH"))]
    assert baseline_of(table_of(codecs), "network", ["IB", "ETH"]) == "ETH"


def test_ignored_factors_are_named_first() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0]}, cluster="a") + group({"SS2": [30.0, 31.0, 29.0]}, 100, cluster="b")
    assert decide(table_of(runs), DecisionRequest("layout")) == ()
    decision = decided(runs, ignore=("cluster",))
    assert decision.caveats[0].kind is CaveatKind.CONFOUNDED
    assert "Confounded by cluster" in decision.caveats[0].text
    assert decision.option("SS2").verdict is Verdict.CONFOUNDED
    assert "is confounded by cluster on " in headline(decision), "the first line says it"


def test_every_option_of_one_decision_is_corrected_together() -> None:
    options = {"HD2": [60.0, 61.0, 59.0], "SS2": [56.0, 57.5, 57.0]}
    alone = decided(group(options))
    among = decided(group(options | {f"HD{n}": [60.0 + n / 10, 61.0, 59.0] for n in range(3, 9)}))
    of = {decision.family: next(r.time for r in decision.results if r.option == "SS2") for decision in (alone, among)}
    assert set(of) == {1, 7}
    assert of[1] is not None
    assert of[7] is not None
    assert of[1].p == of[7].p
    assert of[7].holm_p == pytest.approx(7 * (of[7].p or 0))


def test_a_verdict_that_changes_without_outliers_says_so(tmp_path: Path) -> None:
    times = {"HD2": [60.0, 60.5, 59.5, 60.2, 59.8, 60.1], "SS2": [50.0, 50.4, 49.6, 50.2, 49.8, 300.0]}
    repository = build_repository(tmp_path / "r", group(times))
    from assay.questions.trust.flags import flags_in

    (decision,) = decisions_of(repository, flags_in(repository).table, DecisionRequest("layout"))
    outliers = [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.OUTLIERS]
    assert decision.results[0].time is not None
    assert decision.results[0].time.runs_option == 6
    assert len(outliers) == 1
    assert outliers[0].startswith(
        "The verdict depends on 1 outlier, which counts: without it, the verdict on 2 SSDs per worker (SS2) is "
        '"faster" instead of '
    )


def test_failed_and_invalid_runs_do_not_count() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0]})
    bad = [replace(run, run_id=f"{run.run_id[:-1]}x", status=RunStatus.FAILED, duration_s=1.0) for run in runs]
    assert decided([*runs, *bad]).results == decided(runs).results


def test_unknown_names_are_refused_with_the_nearest() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0]})
    with pytest.raises(SpecificationError, match="no run has layout 'SS3'") as error:
        decided(runs, baseline="SS3")
    assert "SS2" in (error.value.hint or "")
    with pytest.raises(SpecificationError, match="no run has a factor 'layuot'"):
        decided(runs, "layuot")
    with pytest.raises(SpecificationError, match="no run has a factor 'storge'") as error:
        decided(runs, "storge")
    assert (error.value.hint or "").startswith("did you mean 'storage'? questions: storage, network, disks")


def test_different_shares_of_excluded_runs_are_a_caveat_with_the_numbers_of_each_option() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0, 60.5], "SS2": [30.0, 31.0, 29.0, 30.5]})
    bad = [replace(run, run_id=f"{run.run_id[:-2]}9{run.run_id[-1]}", status=RunStatus.INVALID) for run in runs]

    def uneven(decision: Decision) -> list[str]:
        return [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.EXCLUDED_UNEVENLY]

    assert uneven(decided([*runs, *bad])) == []
    of_ssd = [run for run in bad if run.layout == "SS2"]
    assert uneven(decided([*runs, *of_ssd, bad[0]])) == [
        "4 of 8 runs with 2 SSDs per worker (SS2) do not count (invalid), and 1 of 5 with 2 hard disks per worker "
        "(HD2)."
    ]


def test_a_number_of_disks_names_the_kind_of_the_compared_disks_and_the_runs_left_out() -> None:
    ssds = group({"SSD": [40.0, 41.0, 39.5], "SS2": [35.0, 36.0, 35.5], "HD5": [60.0, 61.0]})
    decision = decided(ssds, "disks")
    assert headline(decision).startswith("2 SSDs per worker are 1.1")
    assert " as fast as 1 SSD per worker on " in headline(decision)
    assert evidence(decision).endswith(" Not measured for hard disks: all had 5 per worker.")
    assert not any("The disks are" in remark for remark in remarks(decision))
    assert answer_of(decision).sentences[0].startswith("2 SSDs per worker are")


def test_numbers_of_several_kinds_of_disks_state_the_runs_of_each_kind() -> None:
    runs = group({"HD1": [90.0, 91.0, 92.0], "HD2": [60.0, 61.0, 59.0], "RL1": [99.0, 98.0], "RL2": [80.0, 81.0]})
    decision = decided(runs, "disks")
    assert headline(decision).startswith("2 disks per worker are ")
    assert "The disks are hard disks (6 runs) and remote volumes with one local hard disk (4 runs)." in remarks(
        decision
    )
    remote = decided([run for run in runs if run.layout.startswith("RL")], "disks")
    assert " 2 remote volumes per worker with 1 remote volume per worker on TeraSort" in headline(remote)
    assert "The disks are remote volumes with one local hard disk (4 runs)." in remarks(remote)


def test_shares_of_excluded_runs_are_of_the_compared_kind_of_disks() -> None:
    ssds = group({"SSD": [40.0, 41.0, 39.5], "SS2": [35.0, 36.0, 35.5]})
    failed = [replace(run, status=RunStatus.INVALID) for run in group({"HD1": [60.0] * 6}, 100)]
    decision = decided([*ssds, *failed], "disks")
    assert not [caveat for caveat in decision.caveats if caveat.kind is CaveatKind.EXCLUDED_UNEVENLY]
    lost = replace(ssds[0], run_id=failed[0].run_id, status=RunStatus.INVALID)
    (caveat,) = (
        caveat for caveat in decided([*ssds, lost], "disks").caveats if caveat.kind is CaveatKind.EXCLUDED_UNEVENLY
    )
    assert "per worker" in caveat.text
    assert "SSD" in caveat.text


def test_options_are_named_in_words() -> None:
    assert option_text("device_class", "NVMe") == "NVMe drives"
    assert option_text("layout", "SS2") == "2 SSDs per worker (SS2)"
    assert option_text("network", "IB") == "InfiniBand"
    assert baseline_text("network", "ETH") == "Ethernet"
    assert baseline_text("layout + network", "HDD + IB") == "1 hard disk (HDD) + InfiniBand"
    assert option_text("dfs.blocksize", "67108864") == "HDFS block size 64 MiB"


def test_terminal_json_and_api_give_the_same_decision(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES_YAML)
    from assay.questions.trust.flags import flags_in
    from assay.specs import load_prices

    book = load_prices(prices)
    (decision,) = decisions_of(repository, flags_in(repository).table, DecisionRequest("layout", prices=book))
    expected = json_value([answer_of(decision)])
    arguments = ["decide", "layout", "--repository", str(tmp_path / "r"), "--prices", str(prices)]
    assert json.loads(CliRunner().invoke(assay, [*arguments, "--json"]).output) == expected
    answered = client_of(tmp_path / "r", book=book).get("/api/v1/decisions", params={"factor": "layout"})
    assert answered.json() == expected
    shown = CliRunner().invoke(assay, [*arguments, "--details"]).output
    assert shown.startswith(f"{headline(decision)}\n{evidence(decision)}\n{cost_headline(decision)}\n")
    for result in decision.results:
        assert result.time is not None
        assert f"{result.time.ratio:.2f}×" in shown


def by_workers(times_s: Mapping[int, float]) -> list[Run]:
    """Return three runs at each number of workers."""
    return [
        make_run(10 * workers + n, levels={"workers": str(workers)}, duration_s=time_s * (1 + n / 500))
        for workers, time_s in times_s.items()
        for n in range(3)
    ]


def test_a_numeric_factor_has_a_curve_with_efficiency_a_law_and_a_knee() -> None:
    law = ScalabilityLaw(0.05, 0.01, 0.0)
    runs = by_workers({n: 100 / law.speed(n / 2) for n in (2, 4, 8, 16, 24)})
    decision = decided(runs, "workers")
    curve = curve_of(decision)
    assert curve is not None
    assert [point.level for point in curve.points] == [2, 4, 8, 16, 24]
    for point in curve.points:
        assert point.speed == pytest.approx(law.speed(point.level / 2), rel=1e-6)
        assert point.efficiency == pytest.approx(point.speed / (point.level / 2))
    assert curve.law is not None
    assert curve.law.contention == pytest.approx(0.05, rel=1e-3)
    assert curve.law.coherency == pytest.approx(0.01, rel=1e-3)
    assert curve.law.peak == pytest.approx(math.sqrt(0.95 / 0.01))
    assert curve.knee == 16
    rows = curve_table("workers", curve)
    assert rows.headers == ("Workers", "Speed", "95 % interval", "Parallel efficiency", "Cost per job")
    assert rows.rows[0] == ("2", "1.00×", "–", "100 %", "–")
    assert [row[0] for row in rows.rows] == ["2", "4", "8", "16", "24"]
    assert [row[3] for row in rows.rows] == [format_percent(point.efficiency or 0.0) for point in curve.points]
    assert "The fitted scalability law peaks at 19.5." in curve.sentence
    assert "Beyond 16, no measured step adds more than 5 %" in curve.sentence


def test_a_law_that_does_not_fit_or_peaks_far_beyond_the_measured_levels_is_not_stated() -> None:
    jagged = curve_of(decided(by_workers({2: 100.0, 4: 30.0, 8: 90.0, 16: 20.0}), "workers"))
    assert jagged is not None
    assert jagged.law is None
    straight = curve_of(decided(by_workers({n: 100 / n for n in (1, 2, 3, 4)}), "workers"))
    assert straight is not None
    assert "scalability law" not in straight.sentence
    falling = curve_of(decided(by_workers({2: 100.0, 4: 143.0, 8: 222.0, 16: 400.0}), "workers"))
    assert falling is not None
    assert falling.law is not None
    assert "peaks" not in falling.sentence, "speed falls from the smallest level on: a peak below it was not measured"
    assert curve_of(decided(by_workers({2: 100.0, 4: 60.0}), "workers")) is None
    assert curve_of(decided(group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0]}))) is None
