"""One question, one answer: the terminal, --json, the API, pages and reports print the same decision.

Four repositories: measured on a lab, several clusters, ALOJA's dump, simulated.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from answer_repositories import WORKER_PRICES_YAML, repository_of, text_of, without_spaces
from assay.interfaces.cli.main import assay
from assay.interfaces.report.decisions import ROWS_MAX
from assay.model.runs.run import Run
from assay.questions.commands import CommandOptions
from assay.questions.costs.years_of_use import JobCostRequest, job_costs
from assay.questions.decisions.answers import QuestionAnswer, answer_questions
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import BUYER_QUESTIONS
from assay.questions.decisions.curve import curve_of
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.amount_sentences import amount_sentences
from assay.questions.decisions.sentences.cost_sentences import cost_headline
from assay.questions.decisions.sentences.curve_text import curve_table
from assay.questions.decisions.sentences.decision_sentences import answer_of, evidence, headline, remarks, row_verdict
from assay.questions.decisions.sentences.estimate_text import basis_text, interval_text
from assay.questions.decisions.sentences.option_words import compared_option
from assay.questions.decisions.sentences.question_sentences import QuestionView, view_of
from assay.questions.decisions.sentences.years_sentences import CostsOverYears
from assay.questions.json_values import json_value
from assay.questions.runs.workload_limits import LIMITS
from assay.questions.trust.flags import flags_in
from assay.specs import load_prices
from assay.store import Repository
from assay.text import column_title, plural, ratio, workload_title
from builders import build_repository, make_run
from web_support import client_of

pytestmark = pytest.mark.slow


QUESTIONS = tuple(question.name for question in BUYER_QUESTIONS)


@dataclass(frozen=True)
class Case:
    """A repository with its price book, if any, and what every interface shows of the six questions."""

    root: Path
    prices: Path | None
    answers: dict[str, QuestionAnswer]
    client: TestClient
    overview: str
    """The overview page as text."""
    report: str
    """The report on storage as text."""
    questions: dict[str, str]
    """Each buyer's question in the report as text, by its name."""
    printed: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Output of each command that a test has called, by its words."""


@pytest.fixture(scope="module", params=["lab", "clusters", "aloja", "simulated"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp(request.param)
    root, prices = repository_of(request.param, folder)
    repository = Repository.open(root)
    book = load_prices(prices) if prices else None
    answers = answer_questions(repository, flags_in(repository).table, DecisionRequest(prices=book))
    client = client_of(root, book=book, book_path=prices)
    arguments = ["report", "-o", str(folder / "report.html"), "--repository", str(root)]
    written = CliRunner().invoke(assay, [*arguments, *(["--prices", str(prices)] if prices else [])])
    assert written.exit_code == 0, written.output
    page = (folder / "report.html").read_text(encoding="utf-8")
    questions = re.findall(r'<div data-question="([a-z]+)">(.*?)</div>', page, flags=re.DOTALL)
    return Case(
        root,
        prices,
        {answer.question.name: answer for answer in answers},
        client,
        text_of(client.get("/").text),
        text_of(page),
        {name: text_of(content) for name, content in questions},
    )


def printed(case: Case, command: str, *arguments: str) -> str:
    words = (command, *arguments)
    if words not in case.printed:
        options = options_of(case) if command in ("decide", "cost") else ["--repository", str(case.root)]
        result = CliRunner().invoke(assay, [*words, *options])
        assert result.exit_code == 0, result.output
        case.printed[words] = result.output
    return case.printed[words]


def options_of(case: Case) -> list[str]:
    return [*(["--prices", str(case.prices)] if case.prices else []), "--repository", str(case.root)]


def view_in(case: Case, name: str) -> QuestionView:
    """Return a question as every interface shows it: its commands have the options of the call."""
    return view_of(case.answers[name], CommandOptions(str(case.root), str(case.prices or "")))


def figures(decision: Decision) -> list[list[str]]:
    """Return what every interface prints of each result: workload, option, verdict, ratio, interval, runs, cost."""
    rows = []
    for result in decision.results:
        row = [workload_title(result.workload), compared_option(decision, result.option), row_verdict(result)]
        if result.time:
            row += [ratio(result.time.ratio), basis_text(result.time)]
            row += [interval_text(result.time)] if result.time.low is not None else []
        if result.cost:
            row += [ratio(result.cost.ratio), interval_text(result.cost)]
        rows.append(row)
    return rows


def assert_printed(text: str, decision: Decision, view: QuestionView | None = None) -> None:
    """Assert that ``text`` has the sentences of the question, or of the decision, and a line for each result."""
    if view is not None:
        sentences = (view.answer, view.advice, view.evidence, view.cost, *view.remarks)
        amounts = view.amounts
    else:
        sentences = (headline(decision), evidence(decision), cost_headline(decision), *remarks(decision))
        amounts = amount_sentences(decision)
    for sentence in filter(None, (*sentences, *(amounts.sentences if amounts else ()))):
        assert sentence in text
    lines = text.splitlines()
    for row in figures(decision):
        assert any(all(cell in line for cell in row) for line in lines), row


def test_every_interface_lists_the_six_questions_with_the_same_sentences(case: Case) -> None:
    views = [view_in(case, name) for name in case.answers]
    assert tuple(view.name for view in views) == QUESTIONS
    assert json.loads(printed(case, "decide", "--json")) == json_value(views)
    assert case.client.get("/api/v1/questions").json() == json_value(views)
    listing = printed(case, "decide")
    for view in views:
        assert f"{view.name:<10}  {view.summary}\n" in listing
        assert view.answer in case.overview
        assert view.evidence in case.overview
        assert (view.cost or "") in case.overview
        assert view.answer in case.report
        assert view.evidence in case.report
        assert (view.cost or "") in case.report
        if view.next_step:
            assert f"next: {view.next_step}\n" in listing
            assert f"Next: {view.next_step}" in case.overview
        if view.next_command:
            assert f"      {view.next_command}\n" in listing
            assert f"{view.next_command} Copy" in re.sub(r" +", " ", case.overview)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_interface_prints_the_same_decisions(case: Case, name: str) -> None:
    answer = case.answers[name]
    shown = printed(case, "decide", name, "--all")
    answers = json_value([answer_of(decision) for decision in answer.decisions])
    assert json.loads(printed(case, "decide", name, "--json")) == answers
    assert case.client.get("/api/v1/decisions", params={"factor": name}).json() == answers
    if not answer.decisions:
        view = view_in(case, name)
        command = f"      {view.next_command}\n" if view.next_command else ""
        plan = f"plan: {view.plan_command}\n" if view.plan_command else ""
        assert shown == f"{view.answer}\nnext: {view.next_step}\n{command}{plan}"
        return
    for number, decision in enumerate(answer.decisions):
        question = view_in(case, name) if number == 0 else None
        assert_printed(shown, decision, question)
        assert_printed(case.overview, decision, question)


WORDS_MAX = 100
"""Maximum length of an answer without its caveats: 25 seconds at 4 words per second."""


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_in_brief_is_short_and_has_three_caveats_and_one_step(case: Case, name: str) -> None:
    brief = printed(case, "decide", name)
    assert len(brief.partition("caveat: ")[0].split()) <= WORDS_MAX
    view = view_in(case, name)
    assert brief.startswith(f"{view.answer}\n")
    decisions = case.answers[name].decisions
    if not decisions:
        return
    first = decisions[0]
    for sentence in filter(None, (view.advice, view.evidence, None if view.advice else view.cost)):
        assert f"{sentence}\n" in brief
    caveats = [line.removeprefix("caveat: ") for line in brief.splitlines() if line.startswith("caveat: ")]
    assert caveats == [caveat.text for caveat in first.caveats[:3]]
    steps = [line.removeprefix("next: ") for line in brief.splitlines() if line.startswith("next: ")]
    assert steps == ([view.next_step] if view.next_step else [])
    more = f", with {plural(len(decisions) - 1, 'further decision')}" if len(decisions) > 1 else ""
    assert brief.endswith(f"In full{more}: assay decide {name} --details {shlex.join(options_of(case))}\n")


@pytest.mark.parametrize(("name", "factor"), [("storage", "layout"), ("network", "network")])
def test_details_and_costs_over_years_begin_with_the_same_decisions(case: Case, name: str, factor: str) -> None:
    texts = [text_of(case.client.get(f"/speedup?by={factor}").text)] if case.answers[name].decisions else []
    over_years = [printed(case, "cost", "--years", "3", "--details")] if case.prices and name == "storage" else []
    for decision in case.answers[name].decisions:
        for text in (*(texts if decision.factor == factor else ()), *over_years):
            assert_printed(text, decision)
    for details in ("groups", "options") if texts else ():
        text = printed(case, "decide", name, "--details", details, "--all")
        for decision in case.answers[name].decisions:
            assert_printed(text, decision)


def test_the_report_has_every_question_with_the_same_sentences(case: Case) -> None:
    views = [view_in(case, name) for name in case.answers]
    assert tuple(case.questions) == (*QUESTIONS, LIMITS)
    for view in views:
        text = without_spaces(case.questions[view.name])
        next_step = f"Next: {view.next_step}" if view.next_step else ""
        amounts = (view.amounts.per_job, view.amounts.over_years) if view.amounts else ()
        for sentence in (
            view.question,
            view.answer,
            view.advice or "",
            view.evidence,
            view.cost or "",
            *amounts,
            view.over_years.answer if view.over_years else "",
            next_step,
            view_of(
                case.answers[view.name], CommandOptions(prices=case.prices.name if case.prices else "")
            ).next_command
            or "",
        ):
            assert without_spaces(sentence) in text
        if view.over_years:
            report = without_spaces(case.report)
            assert without_spaces(" ".join(view.over_years.sentences[1:])) in report
            assert all(without_spaces("".join(cells)) in report for cells in view.over_years.rows)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_report_prints_the_same_decisions(case: Case, name: str) -> None:
    for decision in case.answers[name].decisions:
        assert headline(decision) in case.report
        assert evidence(decision) in case.report
        assert (cost_headline(decision) or "") in case.report
        if len(decision.results) <= ROWS_MAX:
            assert_printed(case.report, decision)


@pytest.mark.parametrize("name", ["disks", "nodes", "containers"])
def test_every_interface_prints_the_same_curve(case: Case, name: str) -> None:
    shown = printed(case, "decide", name, "--all")
    plain = json.loads(printed(case, "decide", name, "--json"))
    for decision, answer in zip(case.answers[name].decisions, plain, strict=True):
        curve = curve_of(decision)
        assert answer["curve"] == json_value(curve)
        if curve is None:
            continue
        for text in (shown, case.overview, case.report):
            assert curve.sentence in text
            lines = [line.split() for line in text.splitlines()]
            for row in curve_table(decision.factor, curve).rows:
                words = " ".join(row).split()
                assert any(line[: len(words)] == words for line in lines), row


def test_the_cost_at_each_number_of_workers_is_that_of_these_workers(tmp_path: Path) -> None:
    root, prices = repository_of("clusters", tmp_path)
    assert prices is not None
    repository = Repository.open(root)
    request = DecisionRequest("nodes", prices=load_prices(prices))
    first = decisions_of(repository, flags_in(repository).table, request)[0]
    curve = curve_of(first)
    assert curve is not None
    assert curve.law is not None
    assert [point.level for point in curve.points] == [2, 3, 4, 6]
    prices_usd = [4000 + workers * (3000 + 2 * 100) for workers in (2, 3, 4, 6)]
    costs = [point.cost for point in curve.points]
    assert costs == pytest.approx(
        [usd / prices_usd[0] / p.speed for usd, p in zip(prices_usd, curve.points, strict=True)]
    )
    assert curve.cheapest == 4


@pytest.mark.parametrize("case", ["aloja"], indirect=True)
def test_explain_and_next_quote_the_decision(case: Case) -> None:
    where = ["--where", "workload=terasort"]
    decided = {
        factor: json.loads(printed(case, "decide", factor, *where, "--json"))[0]
        for factor in ("layout", "network", "dfs.replication")
    }
    explained = printed(case, "explain", *where)
    following = printed(case, "next", "--budget", "2runs", "--about", "network", *where)
    for factor, decision in decided.items():
        assert f"{column_title(factor)}: {decision['headline']} {decision['evidence']}\n" in explained
    network = decided["network"]
    assert f"Measured so far: {network['headline']} {network['evidence']}\n" in following
    for sentence in network["next"]:
        assert f"To settle this decision: {sentence}\n" in following


@pytest.mark.parametrize("case", ["aloja"], indirect=True)
def test_next_proposes_only_hardware_that_a_cluster_has_and_states_no_time_of_a_wide_interval(case: Case) -> None:
    table = Repository.open(case.root).table()
    cluster, network, layout = (table.columns[name] for name in ("cluster", "network", "layout"))
    rows = range(len(table))
    available = {(cluster.text(row), network.text(row)) for row in rows} | {
        (cluster.text(row), layout.text(row)) for row in rows
    }
    answer = json.loads(printed(case, "next", "--budget", "40runs", "--json"))
    assert len(answer["runs"]) == 40
    for run in answer["runs"]:
        configuration = run["configuration"]
        assert (configuration["cluster"], configuration["network"]) in available
        assert (configuration["cluster"], configuration["layout"]) in available
        wide = run["low_s"] is None or run["high_s"] > 10 * run["low_s"]
        assert (run["expected_s"] is None) == wide
    timed_runs = [run for run in answer["runs"] if run["expected_s"] is not None]
    assert answer["unpredicted"] == 40 - len(timed_runs) > 0
    within = json.loads(printed(case, "next", "--budget", "2h", "--json"))
    assert sum(run["expected_s"] or run["high_s"] for run in within["runs"]) <= 2 * 3600


NETWORK_PRICES_YAML = (
    WORKER_PRICES_YAML
    + """\
  - {name: Ethernet switch, price: "$500", per: cluster, covers: [network], when: {network: [ETH]}}
  - {name: InfiniBand switch, price: "$9000", per: cluster, covers: [network], when: {network: [IB]}}
"""
)


def _runs_on_two_networks() -> list[Run]:
    return [
        make_run(number, layout=layout, levels={"layout": layout, "network": network}, duration_s=time_s + number)
        for number, (layout, network, time_s) in enumerate(
            [(layout, "ETH", time_s) for _ in range(4) for layout, time_s in (("HD2", 90.0), ("SS2", 60.0))]
            + [(layout, "IB", time_s) for _ in range(3) for layout, time_s in (("HD2", 80.0), ("SS2", 50.0))]
        )
    ]


def _costs_over_years(folder: Path, runs: list[Run], flash_usd: int) -> CostsOverYears:
    """Return the costs over three years of hard disks at $26,000 and SSDs at ``flash_usd``."""
    prices = folder / "prices.yaml"
    prices.write_text(
        "prices: p\ncurrency: USD\ndate: 2026-01-01\nsource: made up\namortisation: {years: 3}\nitems:\n"
        "  - {name: disks, price: $26000, per: cluster, layouts: [HD2]}\n"
        f"  - {{name: flash, price: ${flash_usd}, per: cluster, layouts: [SS2]}}\n"
    )
    build_repository(folder / "repository", runs)
    repository = Repository.open(folder / "repository")
    request = DecisionRequest("cheapest", prices=load_prices(prices), years=3)
    over_years = view_of(answer_questions(repository, flags_in(repository).table, request)[-1]).over_years
    assert over_years is not None
    return over_years


@pytest.mark.parametrize(("flash_usd", "is_dearer"), [(30_000, True), (20_000, False)])
def test_costs_over_years_name_the_lowest_price_unless_the_cheapest_option_has_it(
    tmp_path: Path, flash_usd: int, is_dearer: bool
) -> None:
    """A job on SSDs takes a third of the time, so it costs less at both prices."""
    runs = [
        make_run(number, layout=layout, levels={"layout": layout}, duration_s=time_s + number)
        for number, (layout, time_s) in enumerate([("HD2", 90.0), ("SS2", 30.0)] * 4)
    ]
    over_years = _costs_over_years(tmp_path, runs, flash_usd)
    assert over_years.answer.startswith(f"Over 3 years, 2 SSDs (SS2) cost least per job: you pay ${flash_usd:,}, ")
    lowest = "the lowest is $26,000, with 2 hard disks (HD2)." if is_dearer else "No other option has a lower price."
    assert over_years.lowest_price.endswith(lowest)


@pytest.mark.parametrize(("flash_usd", "is_flash_cheaper"), [(30_000, False), (20_000, True)])
def test_costs_over_years_of_a_tie_name_the_option_with_the_lower_price(
    tmp_path: Path, flash_usd: int, is_flash_cheaper: bool
) -> None:
    """A job costs slightly less on SSDs in the mean at both prices, and no difference is shown."""
    mean_s = 0.97 * 90.0 * 26_000 / flash_usd
    runs = [
        make_run(number, layout=layout, levels={"layout": layout}, duration_s=time_s * noise)
        for number, (layout, time_s, noise) in enumerate(
            [("HD2", 90.0, noise) for noise in (0.8, 1.0, 1.25, 1.0)]
            + [("SS2", mean_s, noise) for noise in (1.0, 0.8, 1.0, 1.25)]
        )
    ]
    over_years = _costs_over_years(tmp_path, runs, flash_usd)
    assert over_years.by_cost[0].option == "2 SSDs (SS2)"
    if is_flash_cheaper:
        assert over_years.answer.startswith(
            "Over 3 years, 2 SSDs (SS2) have the lowest mean cost per job: you pay $20,000, and a job costs between "
        )
        assert over_years.answer.endswith(" % more than on 2 hard disks (HD2) (95 % interval, no difference shown).")
    else:
        assert over_years.answer.startswith(
            "Over 3 years, no difference in the cost per job of 2 SSDs (SS2) and 2 hard disks (HD2) is shown: a job "
            "on the first costs between "
        )
        assert " more than on the second (95 % interval). " in over_years.answer
        assert over_years.answer.endswith("2 hard disks (HD2) have the lower price: you pay $26,000, $4,000 less.")
    assert over_years.lowest_price == "No other option has a lower price."


def test_costs_over_years_are_the_same_in_the_terminal_the_api_and_the_page(tmp_path: Path) -> None:
    """Tables are limited to the network of most runs, as a layout has one price; the decision counts every run."""
    root, prices = tmp_path / "repository", tmp_path / "prices.yaml"
    prices.write_text(NETWORK_PRICES_YAML)
    build_repository(root, _runs_on_two_networks())
    book = load_prices(prices)
    client = client_of(root, book=book, book_path=prices)
    arguments = ["--prices", str(prices), "--repository", str(root)]
    plain = json.loads(
        CliRunner().invoke(assay, ["cost", "--years", "3", *arguments, "--json"], catch_exceptions=False).output
    )
    answer = client.post("/api/v1/tco", json={}).json()
    page = text_of(client.get("/cost?view=years").text)
    assert plain["narrowed"] == answer["narrowed"] == {"network": "ETH"}
    assert [row["n"] for row in plain["rows"]] == [4, 4]
    assert plain["rows"] == answer["rows"]
    repository = Repository.open(root)
    decision = decisions_of(repository, flags_in(repository).table, DecisionRequest("layout", prices=book, years=3))[0]
    assert decision.runs == 14
    sentence = cost_headline(decision)
    assert sentence is not None
    assert sentence in page
    scope = "only runs with network Ethernet, because prices depend on it, and the tables have one price"
    assert scope in page
    text = CliRunner().invoke(assay, ["cost", "--years", "3", "--details", *arguments], catch_exceptions=False).output
    assert sentence in text
    assert scope in text
    request = DecisionRequest("cheapest", prices=book, years=3)
    cheapest = answer_questions(repository, flags_in(repository).table, request)[-1]
    over_years = view_of(cheapest).over_years
    assert over_years is not None
    assert over_years.answer.startswith("Over 3 years, ")
    assert plain["over_years"] == answer["over_years"] == json_value(over_years)
    assert page.index(over_years.answer) < page.index(sentence)
    assert all(cell in page for option in over_years.options for cell in over_years.cells(option))
    for words in (["decide", "cheapest", "--years", "3"], ["cost", "--years", "3"]):
        brief = CliRunner().invoke(assay, [*words, *arguments], catch_exceptions=False).output
        assert brief.startswith(f"{over_years.answer}\n")
        assert f"\n{over_years.lowest_price}\n{over_years.assumptions}\n{over_years.covers}\n" in brief
        for option in over_years.options:
            assert all(cell in brief for cell in over_years.cells(option))
        assert len(brief.split()) <= 200


def test_tables_over_years_state_that_the_number_of_runs_limits_the_workload_and_prices_limit_the_network(
    tmp_path: Path,
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(NETWORK_PRICES_YAML)
    others = [make_run(number, workload="sort") for number in range(20, 23)]
    build_repository(tmp_path / "repository", [*_runs_on_two_networks(), *others])
    repository = Repository.open(tmp_path / "repository")
    request = JobCostRequest(load_prices(prices), runs_max=14)
    costs = job_costs(repository, flags_in(repository).table, request)
    assert costs.narrowed == {"workload": "terasort", "network": "ETH"}
    assert costs.tables_scope == (
        "The answer above covers all runs. The tables of jobs have only runs with workload TeraSort, because more than "
        "14 match. Of these, they have only runs with network Ethernet, because prices depend on it, and the tables "
        "have one price for each storage layout."
    )
