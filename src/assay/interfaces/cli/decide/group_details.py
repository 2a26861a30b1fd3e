"""Print the comparison in each matched group of a decision, for ``assay decide --details groups``."""

from collections import Counter
from collections.abc import Sequence

import click

from assay.analysis.comparison.details.level_summary import LevelSummary
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.statistics import RunTable
from assay.interfaces.cli.common import ROWS_SHOWN, print_table
from assay.model import WarningCode
from assay.questions.comparisons.comparison import ComparisonView
from assay.questions.comparisons.result_sentences import exclusions_text, name_of
from assay.questions.trust.flags import flag_count
from assay.text import interval, origin_badge, plural, rate, ratio, seconds


def _medians(result: SpeedupResult) -> str:
    if result.runs is None:
        return ""
    return f"{seconds(result.runs.baseline.median_s)} → {seconds(result.runs.candidate.median_s)}"


def _print_ratios(results: Sequence[SpeedupResult]) -> None:
    headers = ("Workload", "Compared", "Speedup", "95 % interval", "Verdict", "Runs", "Median (s)", "Origin")
    rows = [
        (
            name_of(result),
            f"{result.baseline} → {result.candidate}",
            ratio(result.ratio),
            interval(result.low, result.high),
            result.verdict.value,
            f"{result.runs_baseline}, {result.runs_candidate}",
            _medians(result),
            origin_badge(result.origin, result.lab_scale),
        )
        for result in results
    ]
    print_table(headers, rows)


def _throughputs(summary: LevelSummary) -> dict[str, float | None]:
    return summary.throughputs_mb_per_s


def _phases_s(summary: LevelSummary) -> dict[str, float | None]:
    return {phase.name: phase.duration_s for phase in summary.phases}


def _print_details(results: Sequence[SpeedupResult]) -> None:
    """Print median throughputs and phase durations of both sides, for results whose runs recorded them."""
    for title, values_of, text_of in (
        ("Throughput, median (MB/s)", _throughputs, rate),
        ("Phases, median duration (s)", _phases_s, seconds),
    ):
        rows = []
        for result in results:
            if result.runs is None:
                continue
            baseline, candidate = values_of(result.runs.baseline), values_of(result.runs.candidate)
            for name in dict.fromkeys([*baseline, *candidate]):
                pair = baseline.get(name), candidate.get(name)
                if pair != (None, None):
                    label = name.removesuffix("_mb_per_s").replace("_", " ")
                    rows.append((name_of(result), result.candidate, label, " → ".join(text_of(x) for x in pair)))
        if rows:
            click.echo()
            print_table(("Workload", "Candidate", title.split(",")[0], "Baseline → candidate"), rows, title=title)


def _print_notes(results: Sequence[SpeedupResult]) -> None:
    """Print each distinct warning with its results. Warnings about caches are omitted: the caveats cover them."""
    names_by_warning: dict[str, list[str]] = {}
    for result in results:
        for warning in (warning for warning in result.warnings if warning.code is not WarningCode.CACHES):
            names_by_warning.setdefault(str(warning), []).append(name_of(result))
    for text, names in names_by_warning.items():
        scope_text = f", {len(names)} of {len(results)} comparisons" if len(names) > 1 else f", {names[0]}"
        click.echo(f"warning{scope_text}: {text}")


def print_groups(view: ComparisonView, table: RunTable, *, all_rows: bool) -> None:
    """Print the matched groups, the clearest differences first. ``table``: the runs read."""
    results = view.results if all_rows else view.results[:ROWS_SHOWN]
    click.echo("\nDetails: each matched group by itself, clearest differences first")
    _print_ratios(results)
    if len(results) < len(view.results):
        verdict_counts = Counter(result.verdict.value for result in view.results[len(results) :])
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in verdict_counts.items())
        click.echo(f"… {len(view.results) - len(results)} more (--all): {verdicts}")
    if view.groups_of_one_level:
        click.echo(
            f"In {view.groups_of_one_level:,} of {plural(view.groups, 'matched group')}, all valid runs have the same "
            f"level of {view.factor}: these groups compare nothing."
        )
    if view.runs_without_level:
        click.echo(f"{plural(view.runs_without_level, 'run')} did not record {view.factor}.")
    if exclusions := exclusions_text(view.results):
        click.echo(f"Runs of these groups that do not count: {exclusions}.")
    _print_details(results)
    _print_notes(results)
    if flagged_text := flag_count(table).sentence:
        click.echo(f"{flagged_text}: they count here as all valid runs do; `assay anomalies` gives the reasons.")
