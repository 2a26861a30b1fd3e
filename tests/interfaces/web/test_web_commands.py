"""Test that each command of a page runs as it is copied, and gives the answer of the page."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from assay.interfaces.cli.commands import COMMANDS
from assay.interfaces.cli.main import assay
from assay.questions.commands import ACCEPTED, CommandOptions, command
from assay.specs.prices import load_prices
from paths import EXAMPLES
from simulator_support import measured_repository, needs_simulator
from web_support import client_of

pytestmark = pytest.mark.slow
PRICES = EXAMPLES / "lab" / "prices.yaml"
PLACEHOLDER = re.compile(r"\b(?:[A-Z]{3,}…?|FILE|DIR)\b")
"""A word that the reader replaces."""
NOT_RUN = ("serve", "demo", "discover", "examples")
"""Commands that serve, measure or reach hosts."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_repository(tmp_path_factory.mktemp("commands") / "r").root


@pytest.fixture(scope="module", params=[True, False], ids=["priced", "unpriced"])
def client(request: pytest.FixtureRequest, root: Path) -> TestClient:
    return client_of(root, book=load_prices(PRICES), book_path=PRICES) if request.param else client_of(root)


def run(words: list[str]) -> str:
    assert words[0] == "assay"
    result = CliRunner().invoke(assay, words[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def commands_of(page: str) -> list[list[str]]:
    """Return the commands in a page, of code and of buttons that copy."""
    texts = re.findall(r"<code>(assay [^<]*)</code>", page) + re.findall(r'data-copy="(assay [^"]*)"', page)
    return [shlex.split(unescape(text)) for text in dict.fromkeys(texts)]


@needs_simulator
@pytest.mark.parametrize(
    "address",
    ["/", "/cost", "/speedup?by=layout", "/whatif", "/whatif?workers.count=12&nic=25Gbit/s", "/recommend", "/size"],
)
def test_each_command_of_a_page_runs_as_it_is_copied(
    client: TestClient, root: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in commands_of(client.get(address).text):
        if "repository" in ACCEPTED.get(words[1], ()):
            assert words[words.index("--repository") + 1] == str(root), words
        is_named_only = not any(word.startswith("--") for word in words)
        if words[1] not in NOT_RUN and not is_named_only and not PLACEHOLDER.search(" ".join(words[1:])):
            run(words)


@needs_simulator
def test_a_copied_simulation_gives_the_answer_of_the_api(client: TestClient, root: Path) -> None:
    copied = [words for words in commands_of(client.get("/").text) if words[1] == "whatif"]
    assert copied
    for words in copied:
        changes = [words[number + 1] for number, word in enumerate(words) if word == "--set"]
        answer = json.loads(run([*words, "--json"]))
        assert answer == client.get("/api/v1/whatif", params={"set": changes}).json()


@needs_simulator
def test_the_next_commands_of_a_terminal_answer_run_as_they_are_printed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--where", "workload=terasort", "--repository", str(root), "--prices", str(PRICES)]
    printed = run(["assay", "whatif", "--set", "network=25GbE", "--set", "workers.count=12", *options])
    steps = [line.removeprefix("  next: ") for line in printed.splitlines() if line.startswith("  next: ")]
    assert [shlex.split(step)[1] for step in steps] == ["whatif", "whatif", "recommend"]
    more_tasks, priced, example = (shlex.split(step) for step in steps)
    assert "maps=12" in more_tasks
    assert run(more_tasks).startswith("With 25 GbE, 12 workers, 12 map tasks and 12 reduce tasks, ")
    answer = run([word.replace("AMOUNT", "400") for word in priced])
    assert "; a run costs " in answer.splitlines()[0]
    assert Path(example[example.index("--catalogue") + 1]).is_file()


@needs_simulator
def test_a_rough_estimate_names_the_commands_that_make_it_a_forecast(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = (
        "--catalogue",
        str(EXAMPLES / "bsc-2015" / "catalogue.yaml"),
        "--prices",
        str(EXAMPLES / "bsc-2015" / "prices.yaml"),
    )
    asked = [
        "assay",
        "recommend",
        *files,
        "--workload",
        "terasort:1TB",
        "--simulations",
        "4",
        "--repository",
        str(root),
    ]
    printed = run(asked)
    steps = [shlex.split(line.removeprefix("  next: ")) for line in printed.splitlines() if line.startswith("  next: ")]
    assert [step[1] for step in steps] == ["recommend", "run", "recommend"]
    write, measure, again = steps
    assert run(again) == printed
    wrote = run(write)
    assert wrote.startswith("wrote terasort.yaml: 3 runs; next: assay run terasort.yaml --dry-run --repository ")
    assert "3 runs" in run(shlex.split(wrote.partition("next: ")[2]))
    assert measure[:3] == ["assay", "run", "terasort.yaml"]


def test_the_options_of_printed_commands_exist() -> None:
    for name, options in ACCEPTED.items():
        assert name in COMMANDS
        parameters = {text for parameter in assay.get_command(None, name).params for text in parameter.opts}  # type: ignore[arg-type, union-attr]
        assert {f"--{option}" for option in options} <= parameters, name


def test_a_command_has_the_options_that_it_accepts_and_each_once() -> None:
    options = CommandOptions("my runs", "prices.yaml", "cluster.yaml", ("workload=terasort",), 3.0)
    assert command("decide", "storage", options=options) == (
        "assay decide storage --where workload=terasort --years 3 --prices prices.yaml --repository 'my runs'"
    )
    assert command("serve", options=options) == "assay serve --prices prices.yaml --repository 'my runs'"
    assert command("decide", "storage", "--prices", "FILE", options=options).count("--prices") == 1
    assert command("whatif", options=CommandOptions("repository")) == "assay whatif"
