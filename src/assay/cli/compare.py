"""``assay compare``: speedups of a factor's levels with their intervals, and a verdict on each."""

from collections.abc import Sequence
from pathlib import Path

import click

from assay.cli.common import json_option, print_json, print_table, repository_option
from assay.cli.reading import read_flagged
from assay.compare.comparison import Comparison, SideBySide
from assay.questions.comparison import comparisons as ask
from assay.questions.json_values import json_value
from assay.wording import interval, rate, ratio, scale_text, seconds

_SHOWN = 60


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


def _print_verdicts(comparisons: Sequence[Comparison]) -> None:
    """Print each claim and each warning once, however many comparisons share it."""
    click.echo()
    by_claim: dict[str, list[Comparison]] = {}
    by_warning: dict[str, list[Comparison]] = {}
    for c in comparisons:
        by_claim.setdefault(c.claim, []).append(c)
        for warning in dict.fromkeys(map(str, c.warnings) if c.ratio is not None else ()):
            by_warning.setdefault(warning, []).append(c)
    for claim, alike in by_claim.items():
        names = list(dict.fromkeys(map(_name, alike)))
        click.echo(
            f"{names[0]}: {claim}" if len(names) == 1 else f"{len(alike)} comparisons: {claim} ({'; '.join(names)})"
        )
        for warning in [warning for warning, warned in by_warning.items() if len(warned) == 1 and warned[0] in alike]:
            click.echo(f"  warning: {_of(by_warning[warning][0], alike)}{warning}")
        for c in alike:
            numbers = {"invalid": c.excluded_invalid, "failed": c.excluded_failed, "warm": c.excluded_warm}
            if left_out := [f"{number} {what}" for what, number in numbers.items() if number]:
                click.echo(f"  not counted: {_of(c, alike)}{', '.join(left_out)}")
    for warning, warned in by_warning.items():
        if len(warned) > 1:
            click.echo(f"warning, {len(warned)} of {len(comparisons)} comparisons: {warning}")
    for remark in dict.fromkeys(c.remark for c in comparisons if c.remark):
        click.echo(remark)
    for scale in sorted({c.lab_scale for c in comparisons if c.lab_scale is not None}):
        click.echo(f"In a lab at scale {scale_text(scale)}: read the ratios, not the times.")


def _of(comparison: Comparison, alike: Sequence[Comparison]) -> str:
    """Return which of several comparisons with one claim a line is about; nothing where there is one."""
    return f"{_name(comparison)}, {comparison.candidate}: " if len(alike) > 1 else ""


@click.command("compare")
@click.option(
    "--by", "factor", default="layout", show_default=True, help="layout, an engine parameter, WORKLOAD.option."
)
@click.option("--baseline", help="Level to compare with; left out: that on hard disks, or the one that ran first.")
@click.option("--workload", help="Only this workload.")
@repository_option
@json_option
def compare(factor: str, baseline: str | None, workload: str | None, repository: Path, as_json: bool) -> None:
    """Compare a factor's levels: speedups with their intervals.

    The ratio is baseline time / candidate time: above 1, the candidate is faster.
    """
    from assay.questions.flags import flag_count  # imported here: numpy is slow to load

    opened, _, table = read_flagged(repository, [f"workload={workload}"] if workload else [])
    comparisons = ask(opened, table, factor, baseline)
    if as_json:
        print_json(json_value(comparisons))
        return
    if not comparisons:
        click.echo(f"All runs have the same {factor}: there is nothing to compare yet.")
        return
    shown = comparisons[:_SHOWN]
    _print_ratios(shown)
    _print_details(shown)
    _print_verdicts(shown)
    if odd := flag_count(table).sentence:
        click.echo(f"{odd}: they count here as all valid runs do; `assay anomalies` says why of each.")
    if len(comparisons) > len(shown):
        click.echo(
            f"\nThese are {len(shown)} of {len(comparisons)} comparisons, each of runs equal in all else. "
            f"`assay speedup --by {factor}` puts them together; --json lists them all."
        )
