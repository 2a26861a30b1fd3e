"""``assay compare``: speedups of a factor's levels with their intervals, and a verdict on each."""

from collections.abc import Sequence
from pathlib import Path

import click

from assay.cli.common import json_option, print_json, print_table, repository_option
from assay.cli.decide import ROWS_SHOWN, print_decisions
from assay.cli.reading import read_flagged
from assay.compare.comparison import Comparison, SideBySide
from assay.model import WarningCode
from assay.questions.comparison import comparisons as ask
from assay.questions.json_values import json_value
from assay.wording import interval, rate, ratio, seconds


def _sides(pair: SideBySide, write: str = "seconds") -> str:
    texts = [seconds(value) if write == "seconds" else rate(value) for value in (pair.baseline, pair.candidate)]
    return " → ".join(texts)


def _name(comparison: Comparison) -> str:
    return f"{comparison.workload} ({comparison.context})" if comparison.context else comparison.workload


def _print_ratios(comparisons: Sequence[Comparison]) -> None:
    rows = [
        (
            _name(c),
            f"{c.baseline} → {c.candidate}",
            ratio(c.ratio),
            interval(c.ratio_low, c.ratio_high),
            f"{c.n_baseline}, {c.n_candidate}",
            _sides(SideBySide(c.baseline_median_s, c.candidate_median_s)),
            c.origin.value,
        )
        for c in comparisons
    ]
    headers = ("Workload", "Compared", "Ratio", "95 % interval", "Runs", "Median (s)", "Origin")
    print_table(headers, rows)


def _print_details(comparisons: Sequence[Comparison]) -> None:
    phases = [(_name(c), c.candidate, name, _sides(pair)) for c in comparisons for name, pair in c.phases_s.items()]
    rates = [
        (_name(c), c.candidate, name.removesuffix("_mb_per_s").replace("_", " "), _sides(pair, "rate"))
        for c in comparisons
        for name, pair in c.throughputs_mb_per_s.items()
        if pair != SideBySide(None, None)
    ]
    for title, rows, last in (
        ("Throughput, median (MB/s)", rates, "Baseline → candidate"),
        ("Phases, median duration (s)", phases, "Baseline → candidate"),
    ):
        if rows:
            click.echo()
            print_table(("Workload", "Candidate", title.split(",")[0], last), rows, title=title)


def _print_notes(comparisons: Sequence[Comparison]) -> None:
    """Print each warning once with the comparisons that it is about; the decision's caveats cover caches."""
    about: dict[str, list[str]] = {}
    for c in comparisons:
        for warning in (warning for warning in c.warnings if warning.code is not WarningCode.CACHES):
            about.setdefault(str(warning), []).append(_name(c))
    for text, names in about.items():
        where = f", {len(names)} of {len(comparisons)} comparisons" if len(names) > 1 else f", {names[0]}"
        click.echo(f"warning{where}: {text}")


@click.command("compare")
@click.option(
    "--by", "factor", default="layout", show_default=True, help="layout, an engine parameter, WORKLOAD.option."
)
@click.option("--baseline", help="Level to compare with; left out: that on hard disks, or the one that ran first.")
@click.option("--workload", help="Only this workload.")
@click.option("--all", "every", is_flag=True, help="Print every row.")
@repository_option
@json_option
def compare(
    factor: str, baseline: str | None, workload: str | None, every: bool, repository: Path, as_json: bool
) -> None:
    """Compare a factor's levels: the decision first, then each matched group by itself.

    The ratio is baseline time / candidate time: above 1, the candidate is faster.
    """
    from assay.questions.decisions.ask import decisions_of  # imported here: numpy is slow to load
    from assay.questions.decisions.values import DecisionRequest
    from assay.questions.flags import flag_count

    where = (f"workload={workload}",) if workload else ()
    opened, flagged, table = read_flagged(repository, where)
    comparisons = ask(opened, table, factor, baseline)
    if as_json:
        print_json(json_value(comparisons))
        return
    if not comparisons:
        click.echo(f"All runs have the same {factor}: there is nothing to compare yet.")
        return
    decisions = decisions_of(opened, flagged.table, DecisionRequest(factor, baseline, where))
    print_decisions(decisions, rows=None if every else ROWS_SHOWN)
    matched = sorted((c for c in comparisons if c.ratio is not None), key=lambda c: 1.0 if c.p is None else c.p)
    shown = matched if every else matched[:ROWS_SHOWN]
    click.echo("\nDetails: each matched group by itself, clearest differences first")
    _print_ratios(shown)
    if len(shown) < len(matched):
        click.echo(f"… {len(matched) - len(shown)} more (--all)")
    if len(matched) < len(comparisons):
        click.echo(f"{len(comparisons) - len(matched)} groups have no valid run on one side.")
    _print_details(shown)
    _print_notes(shown)
    if odd := flag_count(table).sentence:
        click.echo(f"{odd}: they count here as all valid runs do; `assay anomalies` gives the reasons.")
