"""The six questions of a buyer: which factors answer them, and what an unanswered one says."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from assay.analysis.comparison.factors.disk_counts import DISK_KIND, DISKS, disks_of, with_disks
from assay.analysis.statistics import table_of
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.model import MAP_SLOTS, LineItem, Run
from assay.questions.commands import NO_OPTIONS, CommandOptions
from assay.questions.decisions.answers import Obstacle, QuestionAnswer, answer_questions
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import BUYER_QUESTIONS, factors_to_decide
from assay.questions.decisions.curve import curve_of
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import CaveatKind, DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import not_compared
from assay.questions.decisions.sentences.decision_sentences import answer_of
from assay.questions.decisions.sentences.question_sentences import (
    OTHER_CLUSTER,
    WRITE_PLAN,
    answer_evidence,
    answer_sentence,
    next_command,
    next_step,
    plan_command,
    view_of,
)
from assay.questions.json_values import json_value
from assay.questions.trust.flags import flags_in
from assay.store import Repository
from builders import build_repository, interleaved, make_run, price_book
from simulator_support import measured_repository
from web_support import client_of


def runs_at(factor: str, levels: tuple[str, ...], **changes: object) -> list[Run]:
    """Return four runs at each level of a factor, in turns; each level is 20 % faster than the one before."""
    return interleaved(
        make_run(
            10 * number + repetition,
            levels={"layout": "HD2"} if "." in factor else {"layout": "HD2", factor: level},
            parameters={factor: level} if "." in factor else {},
            duration_s=60.0 / 1.2**number * (1 + 0.01 * repetition),
            **changes,
        )
        for number, level in enumerate(levels)
        for repetition in range(4)
    )


def answers(runs: list[Run], root: Path, **request: object) -> dict[str, QuestionAnswer]:
    repository = build_repository(root, runs)
    table = flags_in(repository).table
    return {
        answer.question.name: answer
        for answer in answer_questions(repository, table, DecisionRequest(**request))  # type: ignore[arg-type]
    }


def test_every_question_stays_in_the_list_with_what_is_missing(tmp_path: Path) -> None:
    by_name = answers(runs_at("network", ("ETH", "IB")), tmp_path / "r")
    assert list(by_name) == ["storage", "network", "disks", "nodes", "containers", "cheapest"]
    assert [name for name, answer in by_name.items() if answer.decisions] == ["network"]
    assert answer_sentence(by_name["network"]).startswith("InfiniBand is 1.20× as fast as Ethernet")
    assert answer_sentence(by_name["storage"]) == (
        "Not measured: all runs have the same storage layout (2 hard disks per worker (HD2))."
    )
    assert answer_sentence(by_name["disks"]) == "Not measured: all runs have the same number of disks per worker (2)."
    assert answer_sentence(by_name["nodes"]) == "Not measured: all runs have the same number of workers (3)."
    assert answer_sentence(by_name["containers"]) == "Not measured: no run records a number of containers."
    assert answer_sentence(by_name["cheapest"]) == "Not priced: no price book is loaded."
    assert all(next_step(answer) for answer in by_name.values() if not answer.decisions)


def test_an_answer_on_networks_has_their_rates_where_a_cluster_file_states_them(tmp_path: Path) -> None:
    """The example bsc-2015-lab describes the cluster of the first runs; nothing describes that of the others."""
    described = runs_at("network", ("ETH", "IB"), cluster="bsc-2015-lab")
    answer = answers(described, tmp_path / "described")["network"]
    start = "InfiniBand (56 Gbit/s) is 1.20× as fast as Ethernet (1 Gbit/s)"
    assert answer_sentence(answer).startswith(start)
    assert CaveatKind.LINK_RATE not in [caveat.kind for caveat in answer.decisions[0].caveats]
    other = answers(runs_at("network", ("ETH", "IB")), tmp_path / "other")["network"]
    texts = [caveat.text for caveat in other.decisions[0].caveats if caveat.kind is CaveatKind.LINK_RATE]
    assert texts == ["The runs do not record the rates of Ethernet and InfiniBand."]


def test_the_confidence_says_that_the_cost_is_open_and_what_few_runs_assume(tmp_path: Path) -> None:
    """The second network costs as much more as it is faster: no difference in cost is shown."""
    runs = runs_at("network", ("ETH", "IB"))
    items = [
        LineItem(name, Decimal(amount), "cluster", when={"network": (name,)})
        for name, amount in (("ETH", 100000), ("IB", 120000))
    ]
    prices = replace(price_book(), items=tuple(items))
    end = ", assuming lognormal times, tested settings only"
    plain, priced = answers(runs, tmp_path / "r")["network"], answers(runs, tmp_path / "s", prices=prices)["network"]
    assert view_of(plain).confidence == "decided at 95 %, tested settings only"
    assert view_of(priced).confidence == "speed decided at 95 %, cost open, tested settings only"
    few = answers([*runs[:3], *runs[4:7]], tmp_path / "t")["network"]
    assert view_of(few).confidence == f"decided at 95 %{end}"


def test_the_next_step_counts_the_runs_and_their_duration(tmp_path: Path) -> None:
    """Two levels, three repetitions each, at the median time of the workload with most runs: 6 x 60 s."""
    runs = [make_run(number, workload="sort", duration_s=50.0 + 10.0 * number) for number in range(3)]
    by_name = answers([*runs, make_run(9, workload="grep", duration_s=999.0)], tmp_path / "r")
    for name, step in {
        "network": "Plan 6 runs of Sort with Ethernet and InfiniBand, about 6 min.",
        "nodes": "Measure a second one: plan 6 runs of Sort with 3 and 6 workers, about 6 min.",
        "containers": "Plan 9 runs of Sort with 2, 4 and 8 containers per worker, about 9 min.",
    }.items():
        assert next_step(by_name[name]) == f"{step} {WRITE_PLAN}"
    assert next_command(by_name["network"], NO_OPTIONS) is None
    assert next_command(by_name["cheapest"], NO_OPTIONS) == "assay decide cheapest --prices FILE"


def test_the_plan_of_a_question_continues_the_runs(tmp_path: Path) -> None:
    runs = [make_run(number, workload="sort", layout="SS2", levels={"layout": "SS2"}) for number in range(3)]
    runs += [make_run(number, workload="sort", layout="RL1", levels={"layout": "RL1"}) for number in range(10, 15)]
    answer = answers(runs, tmp_path / "r")["nodes"]
    assert answer.unanswered is not None
    planned = answer.unanswered.planned
    assert planned is not None
    assert (planned.layout, planned.repetitions, planned.runs) == ("SS2", 3, 6), "no plan accepts remote volumes"
    assert planned.cluster == runs[0].cluster
    assert (planned.data_bytes, runs[0].data_bytes, runs[0].lab_scale) == (10e9, 500_000_000, 0.05), "at full scale"


def test_runs_that_the_filter_hides_are_not_planned_again(tmp_path: Path) -> None:
    runs = [make_run(number, layout=code, levels={"layout": code}) for number, code in enumerate(("HD2", "SS2") * 4)]
    repository = build_repository(tmp_path / "r", runs)
    request = DecisionRequest(where=("device_class=SSD",))
    by_name = {a.question.name: a for a in answer_questions(repository, flags_in(repository).table, request)}
    storage = by_name["storage"]
    assert answer_sentence(storage) == (
        "Hidden by the filter: the chosen runs have one storage layout, and other runs differ in it."
    )
    assert next_step(storage) == "Clear the filter storage class SSD."
    assert next_command(storage, NO_OPTIONS) is None
    assert answer_sentence(by_name["network"]).startswith("Not measured"), "no filter hides networks"


def test_the_memory_that_limits_the_containers_is_named_with_its_value(tmp_path: Path) -> None:
    runs = [make_run(number, parameters={"yarn.nodemanager.resource.memory-mb": "1536"}) for number in range(4)]
    assert answer_sentence(answers(runs, tmp_path / "r")["containers"]) == (
        "Not measured: all runs have the same memory for containers (1,536 MiB per worker)."
    )


def runs_of_the_lab_example() -> list[Run]:
    """Return imported runs: no campaign has their cluster file, and an example describes their cluster."""
    options = {"program": "terasort", "maps": "12", "waves": "1"}
    return [
        make_run(
            number,
            campaign_id="elsewhere",
            cluster="bsc-2015-lab",
            layout="SSD",
            levels={"layout": "SSD", "network": "IB"},
            data_bytes=200_000_000,
            workload_parameters=options,
            parameters={"dfs.replication": "3"},
            environment={},
        )
        for number in range(4)
    ]


def test_a_level_that_no_run_records_is_that_of_the_cluster_file(tmp_path: Path) -> None:
    """The network, the workers and the containers of a demo's runs are those of its cluster file and plan."""
    repository = measured_repository(tmp_path)
    table = flags_in(repository).table
    answers = {answer.question.name: answer for answer in answer_questions(repository, table, DecisionRequest())}
    for name, sentence in {
        "network": "Not measured: all runs have the same network (10 Gbit/s).",
        "nodes": "Not measured: all runs have the same number of workers (3).",
        "containers": "Not measured: all runs have the same number of containers (4).",
    }.items():
        assert answer_sentence(answers[name]) == sentence
    assert (next_step(answers["network"]) or "").startswith("Measure a second one: plan 6 runs of ")


def test_an_example_describes_the_cluster_of_imported_runs(tmp_path: Path) -> None:
    """Its file has 3 workers: containers can be measured on it, and 6 workers cannot."""
    by_name = answers(runs_of_the_lab_example(), tmp_path / "r")
    assert answer_sentence(by_name["nodes"]) == "Not measured: all runs have the same number of workers (3)."
    assert (next_step(by_name["nodes"]) or "").endswith(f" The described cluster has only 3 workers. {OTHER_CLUSTER}")
    assert plan_command(by_name["nodes"], NO_OPTIONS) is None
    arguments = ["decide", "nodes", "--where", "workload=terasort", "--repository", str(tmp_path / "r")]
    shown = CliRunner().invoke(assay, arguments, catch_exceptions=False).output
    assert shown.endswith(f"{OTHER_CLUSTER}\n"), "no command writes a plan without a cluster file"
    containers = by_name["containers"].unanswered
    assert containers is not None
    assert containers.plan is not None
    assert "terasort: {data: 4000000000B, waves: 1, maps: 12}" in containers.plan.plan
    assert "cluster: bsc-2015-lab" in containers.plan.cluster


@pytest.mark.slow
def test_the_links_of_unanswered_questions_lead_to_plans_that_can_be_downloaded(tmp_path: Path) -> None:
    client = client_of(build_repository(tmp_path / "r", runs_of_the_lab_example()).root)
    links = [html.unescape(link) for link in re.findall(r'href="(/plan\?[^"]*)"', client.get("/").text)]
    assert len(links) == 5
    for link in links:
        page = client.get(link).text
        assert 'role="alert"' not in page, link
        data = {"options": [""], **parse_qs(urlsplit(link).query)}
        sent = client.post("/plan/file/plan", data=data)
        assert sent.status_code == 200, sent.text
        assert "repetitions: 3" in sent.text
        assert "terasort: {data: 4GB" in sent.text


def test_runs_without_a_recorded_level_are_counted(tmp_path: Path) -> None:
    runs = [make_run(number, levels={"layout": "HD2", "network": "ETH"}) for number in range(4)]
    runs += [make_run(number, workload="sort") for number in range(10, 30)]
    answer = answers(runs, tmp_path / "r")["network"]
    assert answer.unanswered is not None
    assert (answer.unanswered.obstacle, answer.unanswered.runs, answer.unanswered.unrecorded) == (
        Obstacle.ONE_LEVEL,
        4,
        20,
    )
    assert answer_sentence(answer) == (
        "Not measured: 4 runs have the same network (Ethernet) and 20 runs record no network."
    )
    failed = [make_run(number, status="failed") for number in range(40, 43)]
    assert answer_sentence(answers([*runs, *failed], tmp_path / "s")["network"]).endswith(
        "(Ethernet) and 20 runs record no network. 3 invalid or failed runs do not count."
    )


def test_levels_that_were_never_matched_are_not_compared(tmp_path: Path) -> None:
    runs = [make_run(number, levels={"network": "ETH"}, cluster="a") for number in range(3)]
    runs += [make_run(number, levels={"network": "IB"}, cluster="b") for number in range(10, 13)]
    answer = answers(runs, tmp_path / "r")["network"]
    assert answer_sentence(answer).startswith("Not compared: no two runs differ in network")
    assert "Ethernet and InfiniBand" in answer_sentence(answer)


@pytest.mark.parametrize(
    ("engine", "parameter", "title", "text"),
    [
        ("hadoop", "containers", "How many containers?", "8 containers per worker"),
        ("hadoop", MAP_SLOTS, "How many map slots per worker?", "8 map slots per worker"),
        ("spark", "spark.executor.instances", "How many executors?", "8 executors"),
    ],
)
def test_the_engine_says_which_parameter_containers_are(
    engine: str, parameter: str, title: str, text: str, tmp_path: Path
) -> None:
    answer = answers(runs_at(parameter, ("2", "4", "8"), engine=engine), tmp_path / "r")["containers"]
    assert answer.decisions[0].factor == parameter
    assert view_of(answer).question == title
    assert answer_of(answer.decisions[0]).question == title
    assert answer_sentence(answer).startswith(f"{text} are 1.44× as fast as 2 ")


def test_spark_runs_are_not_asked_for_map_slots(tmp_path: Path) -> None:
    answer = answers(runs_at(MAP_SLOTS, ("2", "4"), engine="spark"), tmp_path / "r")["containers"]
    assert not answer.decisions


def test_disks_come_from_recorded_devices_before_codes() -> None:
    assert disks_of("fast", "4 ssd") == ("ssd", 4)
    assert disks_of("HD6", None) == ("hdd", 6)
    assert disks_of("HD6", "5 hdd") == ("hdd", 5)
    assert disks_of("RL3", "1 hdd + 3 remote") == ("RL", 3)
    assert disks_of("mixed", "1 hdd + 3 ssd") is None
    assert disks_of("mixed", None) is None


def test_disks_are_compared_within_one_kind_of_device() -> None:
    table = with_disks(
        table_of([make_run(number, layout=layout) for number, layout in enumerate(("HD2", "SS2", "HD4"))])
    )
    assert table.columns[DISKS].levels == ("2", "4")
    assert table.columns[DISK_KIND].levels == ("hdd", "ssd")
    assert DISKS in table.factors
    assert "layout" not in table.columns
    assert with_disks(table) is table


def test_the_cheapest_needs_prices_and_joins_the_hardware_that_varies(tmp_path: Path) -> None:
    runs = [
        replace(run, layout=layout, levels={"layout": layout})
        for layout in ("HD2", "SS2")
        for run in runs_at("network", ("ETH",))
    ]
    runs = [replace(run, run_id=f"00000000-0000-7000-8000-{number:012d}") for number, run in enumerate(runs)]
    answer = answers(runs, tmp_path / "r", prices=price_book())["cheapest"]
    assert answer.decisions
    assert answer.decisions[0].currency == "USD"
    assert any(option.cost for option in answer.decisions[0].options)


def test_the_cheapest_joins_only_factors_that_most_runs_record_together(tmp_path: Path) -> None:
    runs = [
        make_run(number, layout=layout, levels={"layout": layout, name: level})
        for number, (layout, name, level) in enumerate(
            [
                ("HD2", "network", "ETH"),
                ("SS2", "network", "ETH"),
                ("HD2", "network", "IB"),
                ("SS2", "network", "IB"),
                ("HD2", "workers", "3"),
                ("SS2", "workers", "6"),
            ]
        )
    ]
    table = build_repository(tmp_path, runs).table()
    assert factors_to_decide(BUYER_QUESTIONS[-1], table) == ("layout,network",)
    assert decide(table, DecisionRequest("layout,network,workers")) == ()


@pytest.mark.slow
def test_terminal_json_api_and_overview_list_the_same_questions(tmp_path: Path) -> None:
    root = tmp_path / "r"
    build_repository(root, runs_at("workers", ("2", "3", "6")))
    repository = Repository.open(root)
    answers_of_all = answer_questions(repository, flags_in(repository).table, DecisionRequest())
    views = [view_of(answer, CommandOptions(str(root))) for answer in answers_of_all]
    assert len(views) == len(BUYER_QUESTIONS)
    text = CliRunner().invoke(assay, ["decide", "--repository", str(root)]).output
    printed = CliRunner().invoke(assay, ["decide", "--json", "--repository", str(root)]).output
    assert json.loads(printed) == json_value(views)
    assert client_of(root).get("/api/v1/questions").json() == json_value(views)
    page = client_of(root).get("/").text
    positions = [page.index(f'data-question="{view.name}"') for view in views]
    assert positions == sorted(positions)
    for view in views:
        assert f"{view.name:<10}  {view.summary}" in text
        assert view.answer in page
        single = CliRunner().invoke(assay, ["decide", view.name, "--repository", str(root)])
        assert single.exit_code == 0
        assert view.answer in single.output
        assert view.answered or (view.next_step or "") in single.output


SCALED_S = {
    workers: 60.0 * (1 + 0.05 * (n - 1) + 0.04 * n * (n - 1)) / n
    for workers, n in (("2", 1.0), ("3", 1.5), ("4", 2.0), ("6", 3.0))
}
"""Run times that follow the Universal Scalability Law with contention 0.05 and coherency 0.04."""


@pytest.mark.slow
def test_the_curve_of_workers_is_the_same_on_every_surface_and_marks_extrapolation(tmp_path: Path) -> None:
    root = tmp_path / "r"
    runs = interleaved(
        make_run(
            10 * number + repetition,
            levels={"layout": "HD2", "workers": workers},
            duration_s=time_s * (1 + 0.01 * (repetition - 1)),
        )
        for number, (workers, time_s) in enumerate(SCALED_S.items())
        for repetition in range(3)
    )
    answer = answers(runs, root)["nodes"]
    curve = curve_of(answer.decisions[0])
    assert curve is not None
    assert curve.law is not None
    assert (curve.law.contention, curve.law.coherency) == pytest.approx((0.05, 0.04), rel=0.02)
    assert [point.level for point in curve.points] == [2.0, 3.0, 4.0, 6.0]
    peak = 2 * math.sqrt(0.95 / 0.04)
    assert f"Extrapolated: the fitted scalability law peaks at {peak:.3g}, beyond the measured range." in curve.sentence
    text = CliRunner().invoke(assay, ["decide", "nodes", "--details", "--repository", str(root)]).output
    page = client_of(root).get("/").text
    for surface in (text, page):
        assert curve.sentence in surface
        for point in curve.points[1:]:
            assert point.efficiency is not None
            assert f"{100 * point.efficiency:.0f} %" in surface


def test_a_simulation_is_suggested_only_where_the_cluster_has_the_hardware(tmp_path: Path) -> None:
    repository = measured_repository(tmp_path / "r")
    answers = answer_questions(repository, flags_in(repository).table, DecisionRequest())
    steps = {answer.question.name: next_step(answer) or "" for answer in answers}
    commands = {answer.question.name: next_command(answer, CommandOptions(str(repository.root))) for answer in answers}
    assert steps["network"].endswith(" Or simulate it.")
    assert commands["network"] == f"assay whatif --set nic=25Gbit/s --repository {repository.root}"
    assert commands["nodes"] == f"assay whatif --set workers.count=6 --repository {repository.root}"
    assert "with 10 Gbit/s and 25 Gbit/s" in steps["network"], "the runs have 10 Gbit/s"
    assert "with 1 SSD per worker (SSD) and 2 SSDs per worker (SS2)" in steps["disks"], "SSDs are faster in these runs"
    assert "simulate" not in steps["disks"]  # a worker of this cluster has two disks of each kind
    assert commands["disks"] is None


@pytest.mark.slow
def test_the_plan_that_measures_a_question_is_written_for_a_cluster_that_can_run_it(tmp_path: Path) -> None:
    repository = measured_repository(tmp_path / "r")
    views = [view_of(answer) for answer in answer_questions(repository, flags_in(repository).table, DecisionRequest())]
    commands = {view.name: view.plan_command for view in views}
    assert commands["storage"] is None
    assert commands["disks"] == "assay decide disks --plan disks.yaml"
    for name in (name for name, command in commands.items() if command):
        file = tmp_path / f"{name}.yaml"
        arguments = ["decide", name, "--plan", str(file), "--repository", str(repository.root)]
        result = CliRunner().invoke(assay, arguments, catch_exceptions=False)
        assert result.output.startswith(f"wrote {file}: ")
        plan = load_plan(file)
        assert plan.repetitions == 3
        assert max(len(factor.levels) for factor in plan.factors) >= 2
    shown = CliRunner().invoke(assay, ["decide", "--repository", str(repository.root)], catch_exceptions=False).output
    assert f"plan: {commands['disks']} --repository {repository.root}\n" in shown
    arguments = ["decide", "storage", "--plan", str(tmp_path / "no.yaml"), "--repository", str(repository.root)]
    with pytest.raises(SpecificationError, match="a question without an answer"):
        CliRunner().invoke(assay, arguments, catch_exceptions=False)


def test_too_few_runs_for_a_verdict_on_costs_are_counted_for_every_option(tmp_path: Path) -> None:
    runs = [
        make_run(number, workload="sort", layout=layout, levels={"layout": layout}, duration_s=time_s + number)
        for number, (layout, time_s) in enumerate([("HD2", 200.0), ("SS2", 60.0)] * 2)
    ]
    answer = answers(runs, tmp_path / "r", prices=price_book())["cheapest"]
    assert answer_sentence(answer).endswith(
        " Which is the cheapest is open: a verdict needs 3 runs of each option, not 2."
    )
    assert "join the runs" not in answer_evidence(answer)
    assert next_step(answer) == (
        "Run Sort once more with each of the 2 options: set repetitions to 3 in the plan, and repeat assay run. "
        "A verdict on costs is possible then."
    )


def test_of_two_equally_cheap_options_the_shared_level_is_the_cheapest_and_the_other_stays_open(tmp_path: Path) -> None:
    runs, number = [], 0
    for _ in range(8):
        for layout, duration_s in (("HD2", 200.0), ("SS2", 60.0)):
            for network in ("ETH", "IB"):
                number += 1
                levels = {"layout": layout, "network": network}
                time_s = duration_s + (number * 7) % 5
                runs.append(make_run(number, workload="sort", layout=layout, levels=levels, duration_s=time_s))
    text = answer_sentence(answers(runs, tmp_path / "r", prices=price_book())["cheapest"])
    assert re.match(
        r"2 SSDs per worker \(SS2\) are the cheapest per job on Sort: "
        r"0\.\d\d×( to 0\.\d\d×)? the cost of 2 hard disks per worker \(HD2\) with Ethernet\. "
        r"Network: no difference in cost is shown\.$",
        text,
    ), text


def test_the_cheapest_names_options_without_a_match_and_why_combinations_need_more_runs(tmp_path: Path) -> None:
    pairs = [("HD2", "ETH", 200.0), ("SS2", "ETH", 60.0), ("HD2", "IB", 190.0), ("SS2", "IB", 50.0)] * 2
    runs = [
        make_run(n, workload="sort", layout=layout, levels={"layout": layout, "network": net}, duration_s=time_s + n)
        for n, (layout, net, time_s) in enumerate(pairs)
    ]
    asked = answers(runs, tmp_path / "few", prices=price_book())
    assert "Answers on one property, such as storage, join the runs of several" in answer_evidence(asked["cheapest"])
    first = asked["cheapest"].decisions[0]
    costless = tuple(replace(o, time=None, cost=None) for o in first.options)
    names = "2 SSDs (SS2) + Ethernet"
    text = not_compared(replace(first, options=costless))
    assert text.startswith("Not compared: ")
    assert names in text
    assert text.endswith(", because too few of their runs match those of the others.")
    assert not_compared(replace(first, options=costless), every=True) == ""
    many = (costless[0], *costless)
    assert not_compared(replace(first, options=many)).count("1 more") == 1
    assert not_compared(replace(first, options=many), every=True).count(" + ") == 4


def test_caveats_are_about_the_options_of_the_answer(tmp_path: Path) -> None:
    """Without its outlier, HD4 is faster, too; the answer is about SS2."""
    times = {
        "HD2": [60.0, 60.5, 59.5, 60.2, 59.8, 60.1],
        "SS2": [20.0, 20.2, 19.8, 20.1, 19.9, 20.0],
        "HD4": [50.0, 50.4, 49.6, 50.2, 49.8, 300.0],
    }
    repository = build_repository(
        tmp_path / "r",
        [
            make_run(n, layout=layout, levels={"layout": layout}, duration_s=time_s)
            for n, (layout, time_s) in enumerate((layout, time_s) for layout, of in times.items() for time_s in of)
        ],
    )
    decisions = decisions_of(repository, flags_in(repository).table, DecisionRequest("layout"))
    decision = next(decision for decision in decisions if decision.factor == "layout")
    assert (decision.leader, decision.ties) == ("SS2", ())
    assert not any("HD4" in caveat.text for caveat in decision.caveats)
