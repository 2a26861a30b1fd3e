"""Test what-if questions: anchored answers with intervals, and simulated plans."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

from assay.estimation.simulator.draws import DEVICE_SIGMA, cpu_sigma, draws, log_sigma
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import load_plan, plan_of_texts
from assay.foundation.errors import AssayError, RepositoryError, SpecificationError
from assay.model.plans.workload_profile import Uncertain
from assay.questions.decisions.sentences.option_words import change_text
from assay.questions.forecasts.learning import shipped_profile
from assay.specs.document import document_of
from assay.store import Repository
from assay.text.titles import data_text, workload_title
from benchmark_support import benchmark
from builders import PRICES_YAML, build_repository, make_run
from paths import EXAMPLES
from simulator_support import EXAMPLE, TIMES_S, command_result, measured_repository, needs_simulator, whatif_answers

HARDWARE = EXAMPLES / "hardware"

KEYS = {
    *("workload", "changes", "measured_s", "n_measured", "simulated_s", "low_s", "high_s"),
    *("ratio", "ratio_low", "ratio_high", "limit_before", "limit_after", "cost_before", "cost_after", "assumptions"),
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_repository(tmp_path_factory.mktemp("whatif") / "r").root


@needs_simulator
def test_times_of_other_layouts_have_interval_limit_cost_and_assumptions(measured: Path) -> None:
    prices = str(EXAMPLE.parent / "prices.yaml")
    learned = ("--learn-from", str(measured))  # from the runs that match --where: none of those that are predicted
    answers = whatif_answers(measured, "--where", "layout=HD2", "--set", "layout=SS2", "--prices", prices, *learned)
    assert {answer["workload"] for answer in answers} == set(TIMES_S)
    for answer in answers:
        assert answer.keys() >= KEYS
        assert answer["n_measured"] == 3
        assert answer["changes"] == {"layout": "SS2"}
        assert answer["low_s"] < answer["simulated_s"] < answer["high_s"]
        assert answer["ratio"] == pytest.approx(answer["measured_s"] / answer["simulated_s"])
        assert answer["low_s"] <= TIMES_S[answer["workload"]][1] <= answer["high_s"]
        assert answer["limit_before"] == "disk:hdfs"
        assert answer["limit_after"] == "cpu"
        assert answer["cost_before"] > 0
        assert answer["cost_after"] > 0
        assert answer["origin"] == "simulated"
        assert any("learned from 9 measured runs" in words for words in answer["assumptions"])


@needs_simulator
def test_more_workers_have_a_verdict_and_the_assumption_that_the_data_stays(measured: Path) -> None:
    answers = whatif_answers(measured, "--where", "layout=HD2", "--set", "workers.count=4")
    assert all("the data stays as measured" in answer["assumptions"][-1] for answer in answers)
    differing = [answer for answer in answers if not answer["ratio_low"] <= 1 <= answer["ratio_high"]]
    text = command_result(
        "whatif", "--where", "layout=HD2", "--set", "workers.count=4", "--repository", str(measured)
    ).output
    no_difference = f"No difference is shown for any of {len(answers)} configurations ("
    if not differing:
        assert no_difference in text
    else:
        assert no_difference not in text
        assert all(
            f"{workload_title(answer['workload'])} on {answer['configuration']} is {answer['ratio']:.2f}× as fast "
            f"(90 % interval {answer['ratio_low']:.2f} to {answer['ratio_high']:.2f})" in text
            for answer in differing
        )
        assert (f"{len(answers) - len(differing)} configurations (" in text) == (len(answers) - len(differing) > 1)
    assert "-0 %" not in text
    for answer in answers:
        miss = [words for words in answer["assumptions"] if words.startswith("the simulated time of the measured runs")]
        assert f"- {workload_title(answer['workload'])} on {answer['configuration']}: {miss[0]}" in text
    with_more_data = whatif_answers(
        measured, "--where", "layout=HD2", "--set", "workers.count=4", "--set", "data=400MB"
    )
    assert not any("the data stays" in text for answer in with_more_data for text in answer["assumptions"])


@needs_simulator
def test_a_lab_states_sizes_at_full_scale_and_that_its_seconds_are_no_forecast(measured: Path) -> None:
    words = ("whatif", "--where", "layout=HD2", "--where", "workload=terasort", "--repository", str(measured))
    plain, twice = command_result(*words).output, command_result(*words, "--set", "data=400MB").output
    [answer] = whatif_answers(measured, "--where", "layout=HD2", "--where", "workload=terasort")
    size = data_text(answer["data_bytes"] * answer["lab_scale"], answer["lab_scale"])
    assert size in plain
    assert "in the lab, 1/" in size
    assert f"With {data_text(400e6 * answer['lab_scale'], answer['lab_scale'])} of data, TeraSort " in twice
    more = command_result(*words, "--set", "workers.count=4").output
    assert "the seconds are those of the lab. The prediction assumes " in more
    assert "so the lab machine is simulated with " in more
    assert "the seconds are those of the lab. For times on hosts" in twice
    assert "those of the lab" not in plain


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("layout", "SS2", "2 SSDs per worker (SS2)"),
        ("network", "IB", "InfiniBand"),
        ("nic", "25Gbit/s", "25 Gbit/s per node"),
        ("workers.count", "12", "12 workers"),
        ("containers", "16", "16 containers per worker"),
        ("data", "10TB", "10 TB of data"),
        ("dfs.replication", "2", "HDFS copies 2"),
        ("worker.devices.ssd.count", "3", "3 SSDs per worker"),
        ("worker.devices.hdd.read", "200MB/s", "200 MB/s read rate per hard disk"),
        ("worker.devices.ssd.capacity", "4TB", "4 TB per SSD"),
        ("worker.devices.local.count", "2", "2 local disks per worker"),
    ],
)
def test_a_change_has_a_title_and_an_unknown_change_its_setting(name: str, value: str, words: str) -> None:
    assert change_text(name, value) == words


@needs_simulator
def test_runs_excluded_by_conditions_are_not_read(measured: Path, tmp_path: Path) -> None:
    options = ("--where", "layout=HD2", "--set", "layout=SS2", "--learn-from", str(measured))
    without_ss2 = tmp_path / measured.name
    shutil.copytree(measured, without_ss2)
    store = Repository.open(without_ss2)
    for run in store.runs(layout="SS2"):
        shutil.rmtree(store.bundle_path(run.run_id))
    assert whatif_answers(measured, *options) == whatif_answers(without_ss2, *options[:-1], str(without_ss2))


@needs_simulator
def test_conditions_select_answers_and_do_not_change_them(measured: Path) -> None:
    answers = whatif_answers(measured, "--set", "workers.count=4")
    [answer] = whatif_answers(
        measured, "--set", "workers.count=4", "--where", "layout=HD2", "--where", "workload=terasort"
    )
    assert answer in answers
    assert any("18 measured runs" in words for words in answer["assumptions"])


@needs_simulator
def test_a_change_without_effect_states_the_measured_value(measured: Path) -> None:
    for answer in whatif_answers(measured, "--where", "layout=HD2", "--set", "layout=HD2", "--set", "workers.count=3"):
        assert answer["simulated_s"] == pytest.approx(answer["measured_s"], rel=1e-9)
        assert answer["ratio"] == pytest.approx(1.0, rel=1e-9)
        assert answer["ratio_low"] < 1 < answer["ratio_high"]
        assert answer["origin"] == "measured"
        assert answer["limits_before"] == answer["limits_after"]


@needs_simulator
def test_a_pulled_run_answers_as_it_does_where_it_was_made(tmp_path: Path) -> None:
    original, pulled = measured_repository(tmp_path / "made", carried=True).root, tmp_path / "pulled"
    assert command_result("pull", str(original), "--repository", str(pulled)).exit_code == 0
    assert command_result("verify", "--repository", str(pulled)).exit_code == 0
    options = ("--where", "layout=HD2", "--set", "layout=SS2")
    assert whatif_answers(pulled, *options) == whatif_answers(original, *options)
    assert command_result("report", "-o", str(tmp_path / "r.html"), "--repository", str(pulled)).exit_code == 0
    assert "120 MB/s" in (tmp_path / "r.html").read_text()  # the hardware table, from the cluster in the bundles
    hardware = ("--catalogue", str(HARDWARE / "catalogue.yaml"), "--prices", str(HARDWARE / "prices.yaml"))
    searched = ("recommend", "--workload", "terasort:2GB", *hardware, "--simulations", "10", "--json")
    for asked_of in (
        lambda root: ("learn", "--name", "lab", "--repository", root),
        lambda root: (*searched, "--learn-from", root),
    ):
        answers = [command_result(*asked_of(str(root))) for root in (original, pulled)]
        assert [answer.exit_code for answer in answers] == [0, 0], str(answers[0].exception)
        assert answers[0].stdout.replace("made", "pulled") == answers[1].stdout.replace("made", "pulled")


def test_a_pulled_run_names_the_same_limits(tmp_path: Path) -> None:
    original, pulled = build_repository(tmp_path / "made"), tmp_path / "pulled"
    assert command_result("pull", str(original.root), "--repository", str(pulled)).exit_code == 0
    run_id = next(run.run_id for run in original.runs() if run.workload == "terasort")
    answers = [
        command_result("show", run_id, "--limits", "--json", "--repository", str(root))
        for root in (original.root, pulled)
    ]
    assert [answer.exit_code for answer in answers] == [0, 0], str(answers[0].exception)
    assert answers[0].stdout == answers[1].stdout


@needs_simulator
def test_an_older_bundle_is_simulated_with_a_given_cluster_file(measured: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    command_result("pull", str(measured), "--repository", str(old))
    options = ("--where", "layout=HD2", "--set", "layout=SS2")
    refused = command_result("whatif", *options, "--repository", str(old))
    assert isinstance(refused.exception, AssayError)
    assert "--cluster " in str(refused.exception.hint)
    answers = whatif_answers(old, *options, "--cluster", str(EXAMPLE.parent / "cluster.yaml"))
    for answer, known in zip(answers, whatif_answers(measured, *options), strict=True):
        assert answer["simulated_s"] == pytest.approx(known["simulated_s"], rel=0.02)


@needs_simulator
def test_imported_runs_name_the_example_cluster_that_fits(tmp_path: Path) -> None:
    source = EXAMPLES / "bsc-2015" / "measured" / "runs.csv"
    assert command_result("import", str(source), "--repository", str(tmp_path / "bsc")).exit_code == 0
    refused = command_result("whatif", "--set", "layout=SS2", "--repository", str(tmp_path / "bsc"))
    assert isinstance(refused.exception, RepositoryError)
    [path] = re.findall(r"add --cluster (\S+): it has", refused.exception.hint or "")
    arguments = (
        "--set",
        "layout=SS2",
        "--where",
        "layout=HD5",
        "--repository",
        str(tmp_path / "bsc"),
        "--cluster",
        path,
    )
    assert command_result("whatif", *arguments).exit_code == 0


def test_a_cluster_file_of_another_scale_than_the_runs_is_refused(measured: Path, tmp_path: Path) -> None:
    full_scale = EXAMPLES / "sandisk-2014" / "cluster.yaml"
    other_lab = tmp_path / "cluster.yaml"
    other_lab.write_text((EXAMPLE.parent / "cluster.yaml").read_text().replace("scale: 1/20", "scale: 1/7"))
    for file, described in ((full_scale, "hosts at full scale"), (other_lab, "a lab at scale 1/7")):
        words = ("whatif", "--where", "layout=HD2", "--cluster", str(file))
        refused = command_result(*words, "--repository", str(measured)).exception
        assert isinstance(refused, SpecificationError)
        assert f" is {described}, but run " in refused.message
        assert refused.message.endswith(" was measured in a lab at scale 1/20")
        assert "lab: {scale: 1/20}" in str(refused.hint)


@needs_simulator
def test_every_bundle_carries_its_plan_and_cluster(tmp_path: Path) -> None:
    command_result(
        "run", str(EXAMPLE), "--simulate", "--only", "dfsio-read", "--only", "layout=SS2", "--repository", str(tmp_path)
    )
    bundles = [path for path in (tmp_path / "bundles").iterdir() if path.is_dir()]
    assert bundles
    plan = load_plan(EXAMPLE)
    for bundle in bundles:
        content = document_of((bundle / "plan.yaml").read_bytes(), "plan.yaml").content
        assert plan_of_texts(content, (bundle / "cluster.yaml").read_text()).cluster == plan.cluster


@needs_simulator
def test_a_cluster_that_the_book_does_not_price_has_no_cost_and_the_reason(measured: Path, tmp_path: Path) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text(f"{PRICES_YAML}amortisation: {{years: 3}}\n")
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(book))
    for change in ("workers.count=12", "nic=25Gbit/s", "layout=SS1"):
        [answer] = whatif_answers(measured, *options, "--set", change)
        assert answer["cost_before"] > 0
        assert answer["cost_after"] is None
        shown = command_result("whatif", *options, "--set", change, "--repository", str(measured)).output
        names = [part["name"] for part in answer["missing_prices"]]
        assert all(f"{part['name']} ({part['count_text']})" in shown for part in answer["missing_prices"])
        assert (f"- no cost: {answer['cost_unknown']}" in shown) == (not names)


@needs_simulator
def test_an_item_for_the_changed_network_prices_it(measured: Path, tmp_path: Path) -> None:
    book = tmp_path / "parts.yaml"
    book.write_text(
        "prices: parts\ncurrency: USD\ndate: 2024-01-01\nsource: made up\namortisation: {years: 3}\nitems:\n"
        "  - {name: server, price: $5000, per: node, covers: [nodes, devices]}\n"
        "  - {name: 25 GbE, price: $400, per: node, when: {network: [25Gbit/s]}}\n"
        "  - {name: 10 GbE, price: $0, per: node, when: {network: [unknown]}}\n"
    )
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(book))
    [priced] = whatif_answers(measured, *options, "--set", "nic=25GbE")
    times = priced["simulated_s"] / priced["measured_s"]
    assert priced["cost_after"] / priced["cost_before"] == pytest.approx(5400 / 5000 * times, rel=1e-3)
    [other] = whatif_answers(measured, *options, "--set", "nic=40GbE")
    assert other["cost_after"] is None
    assert "no price for network 40Gbit/s" in other["cost_unknown"]


@needs_simulator
def test_the_workers_of_a_lab_keep_their_share_of_the_cpu(measured: Path) -> None:
    options = ("--where", "layout=SS2", "--where", "workload=terasort")
    [more] = whatif_answers(measured, *options, "--set", "workers.count=6")
    [faster_network] = whatif_answers(measured, *options, "--set", "nic=25Gbit/s")
    assert more["lab_cores"] == {"measured": 2.0, "changed": 4.0, "described_measured": 18, "described_changed": 36}
    assert faster_network["lab_cores"] is None
    assert more["limit_before"] == "cpu"
    assert more["ratio"] > 1.2


@needs_simulator
def test_a_faster_network_that_no_run_waits_for_changes_no_time(measured: Path) -> None:
    """The simulator's error on the measured run is not an effect of the change."""
    [answer] = whatif_answers(
        measured, "--where", "layout=SS2", "--where", "workload=terasort", "--set", "nic=10001Mbit/s"
    )
    assert abs(answer["miss"]) > 0.01
    assert answer["ratio"] == pytest.approx(1.0, abs=0.005)


@needs_simulator
def test_a_book_of_parts_prices_more_workers(measured: Path, tmp_path: Path) -> None:
    book = tmp_path / "parts.yaml"
    book.write_text(
        "prices: parts\ncurrency: USD\ndate: 2024-01-01\nsource: made up\namortisation: {years: 3}\nitems:\n"
        "  - {name: server, price: $4500, per: node}\n  - {name: disk, price: $250, per: device, device: hdd}\n"
    )
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(book))
    [answer] = whatif_answers(measured, *options, "--set", "workers.count=12")
    assert answer["cost_unknown"] == ""
    before, after = 4 * 4500 + 6 * 250, 13 * 4500 + 24 * 250
    times = answer["simulated_s"] / answer["measured_s"]
    assert answer["cost_after"] / answer["cost_before"] == pytest.approx(after / before * times, rel=1e-3)


@needs_simulator
def test_a_prediction_far_outside_the_training_data_has_a_note_and_widens_the_interval(measured: Path) -> None:
    def width(*more: str) -> tuple[float, list[str]]:
        [answer] = whatif_answers(measured, "--where", "layout=SS2", "--where", "workload=terasort", "--set", *more)
        return answer["high_s"] / answer["low_s"], answer["assumptions"]

    near, far = width("data=3GB"), width("data=60GB")
    assert far[0] > 1.3 * near[0]
    assert any("times the learned range" in words for words in far[1])
    assert not any("learned range" in words for words in near[1])


@needs_simulator
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "layout=SS9"), "SS9"),
        (("--set", "worker.count=12"), "did you mean 'workers.count'?"),
        (("--set", "worker.devices.ssd.count=0"), "whole number"),
        (("--set", "data=100TB"), "copies"),
        (("nobody", "--set", "layout=SS2"), "no valid measured run"),
        (("--set", "layout=SS2", "--profile", "missing.yaml"), "missing.yaml"),
        (("--set", "layout=SS2", "--profile", "x", "--learn-from", "y"), "exclude each other"),
    ],
)
def test_an_impossible_question_is_refused_with_the_reason(
    measured: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = command_result("whatif", *arguments, "--repository", str(measured))
    assert isinstance(result.exception, AssayError)
    assert words in str(result.exception)


@needs_simulator
def test_a_simulated_plan_is_marked_as_simulated_in_every_view(measured: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "simulated")
    learned = ("--learn-from", str(measured), "--where", "layout=HD2")
    plan = ("run", str(EXAMPLE), "--simulate", "--only", "terasort", *learned, "--repository", target)
    done = command_result(*plan, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    rows = json.loads(command_result("runs", "--json", "--repository", target).output)
    assert len(rows) == 6
    for row in rows:
        assert (row["origin"], row["status"]) == ("simulated", "valid")
        assert 0 < row["duration_low_s"] < row["duration_s"] < row["duration_high_s"]
    again = command_result(*plan)
    assert again.exit_code == 0
    assert len(json.loads(command_result("runs", "--json", "--repository", target).output)) == 6
    compared = command_result(
        "decide", "layout", "--details", "groups", "--baseline", "HD2", "--repository", target
    ).output
    assert "simulated" in compared
    assert "measured" not in compared
    shown = command_result("show", rows[0]["run_id"], "--repository", target).output
    assert "disks of 3 workers" in shown
    assert "90 % interval of the run time:" in shown
    assert "no speculative attempts" in shown
    assert command_result("show", rows[0]["run_id"], "--limits", "--repository", target).exit_code == 0


@needs_simulator
def test_the_same_seed_gives_the_same_runs(tmp_path: Path) -> None:
    def times(name: str) -> list[float]:
        target = str(tmp_path / name)
        only = ("--only", "dfsio-read", "--only", "layout=SS2", "--repository", target)
        command_result("run", str(EXAMPLE), "--simulate", *only)
        return [
            row["duration_s"] for row in json.loads(command_result("runs", "--json", "--repository", target).output)
        ]

    first = times("a")
    assert first
    assert first == times("b")


def test_a_labs_profile_on_real_hosts_is_an_assumption() -> None:
    plan = load_plan(EXAMPLE.parents[1] / "sandisk-2014" / "plan.yaml")
    changed = changed_plan(plan, {"layout": "All-HDD"}, "dfsioe-read")
    run = only_run(changed)
    size = size_of(run, changed)
    request = SimulationRequest(changed.cluster, run.configuration, run.workload.name, size, shipped_profile())
    scenario = scenario_of(request)
    assert scenario.document.cluster.cpu_pool is None
    assert any("learned in labs" in words for words in scenario.assumptions)


def test_an_assumed_compression_is_listed_also_if_the_profile_states_it() -> None:
    changed = changed_plan(load_plan(EXAMPLE), {}, "terasort")
    run = only_run(changed)
    compress = "mapreduce.map.output.compress"
    snappy = {compress: "true", f"{compress}.codec": "org.apache.hadoop.io.compress.SnappyCodec"}
    profile = shipped_profile()
    for share, listed in ((Uncertain.assumed(0.4), True), (Uncertain(0.4, 0.3, 0.5, 9), False)):
        terasort = replace(profile.workloads["terasort"], compression={"snappy": share})
        known = replace(profile, workloads={**profile.workloads, "terasort": terasort})
        configuration = replace(run.configuration, parameters={**run.configuration.parameters, **snappy})
        request = SimulationRequest(changed.cluster, configuration, "terasort", size_of(run, changed), known)
        text = "assumed that snappy compresses map output to 40 % (not measured)"
        assert (text in scenario_of(request).assumptions) is listed


def test_a_profile_needs_a_simulation() -> None:
    result = command_result("run", str(EXAMPLE), "--profile", "x.yaml")
    assert "--simulate" in str(result.exception)


@pytest.mark.parametrize("count", [8, 16])
def test_a_few_draws_have_the_intended_spread(count: int) -> None:
    """Eight unscaled draws with the usual seed have three quarters of the spread, in every answer."""
    profile = shipped_profile().of_engine("hadoop")
    profile_draws = list(draws(profile, count, 1))
    assert (profile_draws[0].cpu, profile_draws[0].disks, profile_draws[0].links, profile_draws[0].fixed) == (
        1.0,
        1.0,
        1.0,
        1.0,
    )
    for logs, sigma in (
        ([math.log(draw.cpu) for draw in profile_draws], cpu_sigma(profile)),
        ([math.log(draw.disks) for draw in profile_draws], DEVICE_SIGMA),
        ([math.log(draw.fixed) for draw in profile_draws], log_sigma(profile.costs.job_start_s)),
    ):
        assert stdev(logs) == pytest.approx(sigma)
        assert fmean(logs) == pytest.approx(0.0, abs=1e-12)
    assert [draw.cpu for draw in draws(profile, 1, 1)] == [1.0]
    assert len({draw.cpu for draw in draws(profile, 2, 1)}) == 2


@needs_simulator
def test_the_benchmark_of_what_if_compares_answers_with_known_truths() -> None:
    module = benchmark("whatif_errors")
    [scored] = module.scored_answers("terasort", "HD2", ("layout", "SS2"), 1, 3)
    estimate = scored.answer
    assert scored.ratio == pytest.approx(estimate.ratio, rel=0.5)
    assert scored.informative
    assert not scored.wrong
    assert replace(scored, ratio=0.9).wrong
    assert replace(scored, truth_s=estimate.simulated_s).holds
    assert not replace(scored, truth_s=estimate.high_s * 1.01).holds


@pytest.mark.slow
def test_runs_without_hardware_or_data_name_the_commands_that_answer_as_far_as_possible(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number in range(24):
        levels = {
            "layout": ("HDD", "SSD")[number % 2],
            "network": ("ETH", "IB")[number // 2 % 2],
            "maps": str(number // 4),
        }
        run = make_run(number, levels=levels, duration_s=100.0 + number, data_bytes=None)
        repository.publish(replace(run, plan="", campaign_id="imported"))
    refused = command_result(
        "whatif", "--set", "nic=25GbE", "--set", "workers=12", "--repository", str(repository.root)
    )
    error = refused.exception
    assert isinstance(error, RepositoryError)
    assert error.message.endswith("they lack the size of their data and a cluster file with their nodes and disks")
    hint = error.hint or ""
    assert "25 GbE per node: the measured levels are Ethernet and InfiniBand." in hint
    assert "12 workers: the runs have 3 workers." in hint
    commands = [shlex.split(line)[1:] for line in hint.splitlines() if line.strip().startswith("assay ")]
    assert [command[0] for command in commands] == ["decide", "recommend", "size", "discover", "run"]
    for command in commands:
        more = ("--workload", "terasort:2GB", "--simulations", "4") if command[0] == "recommend" else ()
        assert command_result(*command, *more).exit_code == 0, command
