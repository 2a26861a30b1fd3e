"""Test that the old names of merged commands print what the new names print, and name these."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.interfaces.cli.commands import COMMANDS, OLD_NAMES
from assay.interfaces.cli.main import assay
from assay.store import Repository
from paths import ROOT

PRICES = str(ROOT / "examples" / "bsc-2015" / "prices.yaml")


def run(*words: str) -> Result:
    return CliRunner().invoke(assay, list(words))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = str(tmp_path_factory.mktemp("old-names") / "r")
    result = run("import", "assay", str(ROOT / "examples/bsc-2015/measured/runs.csv"), "--repository", root)
    assert result.exit_code == 0, result.output
    return root


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("compare", "decide layout --details groups"),
        ("compare terasort --by network --all", "decide network --details groups --where workload=terasort --all"),
        ("compare --workload terasort --json", "decide layout --details groups --where workload=terasort --json"),
        ("speedup --by layout,network", "decide layout,network --details options"),
        ("speedup --by network --group none --json", "decide network --details options --group none --json"),
        ("speedup --by layout --method aloja --json", "decide layout --method aloja --json"),
        (f"tco --prices {PRICES}", f"cost --years 3 --prices {PRICES}"),
        (f"tco --years 5 --prices {PRICES} --json", f"cost --years 5 --prices {PRICES} --json"),
        ("limits RUN", "show RUN --limits"),
        ("limits RUN --seconds --json", "show RUN --limits --seconds --json"),
        ("characterise bsc", "next bsc --precision 10"),
        ("characterise --precision 5 bsc --json", "next bsc --precision 5 --json"),
    ],
)
def test_an_old_name_prints_what_the_new_one_prints(old: str, new: str, measured: str) -> None:
    run_id = Repository.open(Path(measured)).runs()[0].run_id
    before, after = (run(*words.replace("RUN", run_id).split(), "--repository", measured) for words in (old, new))
    assert (before.exit_code, before.stdout) == (after.exit_code, after.stdout)
    assert type(before.exception) is type(after.exception)
    note = before.stderr.splitlines()[0]
    assert note.startswith(f"note: `assay {old.split()[0]}`")
    assert f"is now `assay {new.split()[0]} " in note


def test_old_names_are_hidden_and_lead_to_commands_of_today() -> None:
    listed = {line.split()[0] for line in run("--help").output.splitlines() if line.startswith("  ")}
    assert not listed & set(OLD_NAMES)
    assert not set(COMMANDS) & set(OLD_NAMES)
    assert {words[0] for words in OLD_NAMES.values()} <= set(COMMANDS)
    for name in OLD_NAMES:
        assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("decide layout --details groups --method aloja", "--method applies to --details options."),
        ("decide layout --details groups --ignore network", "--ignore and --details groups exclude each other."),
        (f"cost --prices {PRICES} --rounding paper", "--rounding needs --years."),
        (f"cost --prices {PRICES} --years 3 --by layout", "--by cannot be combined with --years."),
        ("show RUN --seconds", "--seconds needs --limits."),
        ("next", "Give either --budget, such as 20runs or 2h, or --precision with CLUSTER."),
        ("next --precision 5", "--precision needs the name of a cluster"),
        ("next bsc --precision 5 --about layout", "--about cannot be combined with --precision."),
    ],
)
def test_an_option_of_another_view_is_refused(words: str, message: str, measured: str) -> None:
    result = run(*words.split(), "--repository", measured)
    assert result.exit_code == 2
    assert message in result.stderr
