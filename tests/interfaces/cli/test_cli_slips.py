"""Test typing errors on the command line: understood where unambiguous, otherwise reported with a hint."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.foundation.errors import AssayError, RepositoryError, did_you_mean
from assay.interfaces.cli.common import print_table
from assay.interfaces.cli.main import assay
from assay.store import Repository
from assay.store.index import tables
from assay.text.titles import workload_named
from builders import make_run

BOOK = """\
prices: rack
currency: USD
date: 2026-01-01
source: "a shop"
items:
  - {name: cluster a, price: $2, per: cluster-hour, when: {cluster: [a]}}
  - {name: cluster b, price: $3, per: cluster-hour, when: {cluster: [b]}}
"""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "r")
    for number in range(8):
        workload, layout = ("terasort", "dfsio-write")[number // 4], ("HD2", "SS2")[number // 2 % 2]
        repository.publish(make_run(number, workload=workload, cluster="ab"[number % 2], layout=layout))
    return repository.root


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(assay, [*map(str, arguments)])


@pytest.mark.parametrize("name", ["terasort", "TeraSort", "TERASORT"])
@pytest.mark.parametrize("command", ["runs", "compare", "export"])
def test_a_workload_is_selected_by_its_displayed_name(command: str, name: str, stored: Path) -> None:
    words = [command, "csv"] if command == "export" else [command]
    result = run(*words, "--workload", name, "--repository", stored)
    assert result.exit_code == 0, result.exception
    assert "terasort" in result.stdout.casefold()
    assert "dfsio" not in result.stdout


def test_an_exact_name_has_priority_over_one_in_another_case() -> None:
    assert workload_named("Sort", ["sort", "Sort"]) == "Sort"
    assert workload_named("SORT", ["sort", "Sort"]) == "SORT"  # which of them is not clear
    assert workload_named("TestDFSIO write", ["dfsio-write"]) == "dfsio-write"
    assert workload_named("nothing", ["sort"]) == "nothing"


def test_where_accepts_the_title_of_a_workload_too(stored: Path) -> None:
    result = run("decide", "layout", "--details", "options", "--where", "workload=TeraSort", "--repository", stored)
    assert result.exit_code == 0, result.exception
    assert "4 runs read" in result.stdout


def test_a_filter_without_a_match_lists_the_levels_without_reading_the_runs(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Repository, "runs", lambda *_, **__: pytest.fail("runs were read"))
    monkeypatch.setattr(Repository, "runs_at", lambda *_: pytest.fail("runs were read"))
    result = run("runs", "--workload", "nix", "--repository", stored)
    assert "There are runs of TestDFSIO write, TeraSort on 2 hard disks (HD2), 2 SSDs (SS2)." in result.stdout


def test_push_to_a_name_that_is_no_repository_makes_none_unless_asked(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "tyop"
    refused = run("push", target, "--repository", stored)
    assert isinstance(refused.exception, RepositoryError)
    assert "--create" in str(refused.exception)
    assert not target.exists()
    assert run("push", target, "--create", "--repository", stored).exit_code == 0
    assert run("push", target, "--repository", stored).exit_code == 0
    assert len(Repository.open(target).runs()) == 8


def test_a_piped_table_is_as_wide_as_its_cells_and_has_no_blanks_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "s", "what"), [("a" * 300, "1.5", "x"), ("größe", "12", "")], title="Title")
    title, header, first, second = capsys.readouterr().out.splitlines()
    assert title == "Title"
    assert header == f"name{' ' * 296}    s  what"
    assert first == f"{'a' * 300}  1.5  x"
    assert second == f"größe{' ' * 295}   12"


def test_prices_of_a_day_before_the_book_are_reported(stored: Path, tmp_path: Path) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text(BOOK)
    options = ("--prices", book, "--by", "layout,cluster", "--repository", stored)
    assert "is before 2026-01-01" in run("cost", *options, "--on", "2025-12-31").stderr
    assert "before" not in run("cost", *options, "--on", "2026-01-01").stderr


def test_prices_by_cluster_limit_tables_of_tco_and_price_each_cluster_in_reports(stored: Path, tmp_path: Path) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text(BOOK)
    tco = run("cost", "--years", "3", "--details", "--prices", book, "--repository", stored)
    assert tco.exit_code == 0, tco.exception
    assert "The tables of jobs have only runs with cluster a, because prices depend on it" in tco.stdout
    report = run("report", "-o", tmp_path / "r.md", "--prices", book, "--repository", stored)
    assert report.exit_code == 0, report.exception
    chapter = (tmp_path / "r.md").read_text().split("Cost per run", 1)[1]
    assert "| a " in chapter
    assert "| b " in chapter


def test_a_full_disk_in_the_table_writer_is_reported_with_path_and_remedy(tmp_path: Path) -> None:
    message = (
        'IO Error: Async write failed for range [offset=1]: {"exception_type":"IO","exception_message":'
        f'"Could not write file \\"{tmp_path}/partial/x~1/runs.parquet\\": No space left on device","errno":"28"}}'
    )
    error = tables._repository_error(message)
    assert isinstance(error, AssayError)
    assert (error.message, error.where) == ("there is no room to write: No space left on device", str(tmp_path))
    assert "free disk space" in str(error)
    assert "exception_type" not in str(
        tables._repository_error(message.replace("No space left on device", "Is a directory"))
    )


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("dceide",), "Did you mean 'decide'?"),
        (("decide", "disk", "--details", "groups"), "did you mean 'layout'?"),
        (("decide", "layuot", "--details", "options"), "did you mean 'layout'?"),
        (("decide", "layout", "--where", "layout=HDD2"), "did you mean 'HD2'?"),
        (("decide", "layout", "--where", "layuot=HD2"), "did you mean 'layout'?"),
        (("decide", "layout", "--where", "storage=HDD2"), "did you mean 'HD2'?"),
        (("decide", "layout", "--details", "groups", "--baseline", "HDD2"), "did you mean 'HD2'?"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(arguments: tuple[str, ...], hint: str, stored: Path) -> None:
    where = () if arguments == ("dceide",) else ("--repository", stored)
    result = run(*arguments, *where)
    assert result.exit_code != 0
    shown = (
        result.output
        if result.exception is None or isinstance(result.exception, SystemExit)
        else (getattr(result.exception, "hint", None) or "")
    )
    assert hint in shown


def test_a_dissimilar_name_gets_no_suggestion() -> None:
    assert "Did you mean" not in run("xyzzy").output
    assert did_you_mean("zzz", ["HD2", "SS2"]) == ""


def test_a_suggested_command_has_the_options_of_the_call_and_runs(stored: Path) -> None:
    prices = stored.parent / "my book.yaml"
    prices.write_text(BOOK)
    options = ["--where", "workload=terasort", "--prices", str(prices), "--repository", str(stored)]
    for question, before in (("layout", ["--baseline", "SS2"]), ("storage", [])):
        brief = run("decide", question, *before, *options)
        assert brief.exit_code == 0, brief.exception
        [suggested] = [line.partition(": ")[2] for line in brief.stdout.splitlines() if line.startswith("In full")]
        words = shlex.split(suggested)
        assert words[:2] == ["assay", "decide"]
        assert words[3:] == [*before, "--details", *options]
        full = run(*words[1:])
        assert full.exit_code == 0, full.exception
        assert full.stdout.splitlines()[0] == brief.stdout.splitlines()[0]
    everything = run("decide", *options).stdout.splitlines()[-1]
    assert everything == f"More: assay decide QUESTION {shlex.join(options)}"
