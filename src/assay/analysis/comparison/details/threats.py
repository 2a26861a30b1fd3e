"""List threats to the validity of conclusions, beyond the caveats of decisions.

In: the runs of a report as a table, the warnings of its comparisons, and loaded runs if available. Out: titles with one
or two sentences each. Only threats that the runs show are listed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.analysis.comparison.details.differences import was_cpu_limited
from assay.analysis.statistics import ANOMALY, NO_ANOMALY, RunTable, counts_by
from assay.model import CodedWarning, Origin, Run, RunStatus, WarningCode

RUN_WARNINGS_MAX = 8
"""Maximum number of distinct warnings of runs."""


@dataclass(frozen=True, slots=True)
class Threat:
    """One threat to validity."""

    title: str
    text: str


def _origins(table: RunTable) -> Iterator[Threat]:
    counts = {name: number for name, number in counts_by(table, "origin").items() if name != Origin.MEASURED}
    origins = " and ".join(f"{number:,} {name or 'of unknown origin'}" for name, number in counts.items())
    none_measured = sum(counts.values()) == len(table) > 0
    if none_measured and counts.keys() == {Origin.PUBLISHED}:
        yield Threat(
            "Published, not measured here",
            f"All {len(table):,} runs are taken from a publication: nothing else is known about them.",
        )
    elif none_measured and Origin.PUBLISHED not in counts:
        yield Threat("Nothing here was measured", f"Of {len(table):,} runs, {origins}: no real hardware was involved.")
    elif counts:
        yield Threat(
            "Not everything was measured", f"Of {len(table):,} runs, {origins}. Origins are never mixed in one ratio."
        )


def _outliers(table: RunTable) -> Iterator[Threat]:
    kinds = {kind: number for kind, number in counts_by(table, ANOMALY).items() if kind not in ("", NO_ANOMALY)}
    number = sum(kinds.values())
    if number:
        texts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
        yield Threat(
            "Outliers",
            f"{number:,} of {len(table):,} runs {'is' if number == 1 else 'are'} flagged: {texts}. They count. "
            "The command assay anomalies lists them with the reason.",
        )


def _cpu(valid_runs: Sequence[Run]) -> Iterator[Threat]:
    limited_runs = [run for run in valid_runs if was_cpu_limited(run)]
    if limited_runs:
        counts_text = ", ".join(
            f"{name} ({n})" for name, n in Counter(f"{r.workload} on {r.layout}" for r in limited_runs).items()
        )
        yield Threat(
            "CPU was the limit",
            f"In {len(limited_runs)} of {len(valid_runs)} valid runs the CPU, not the storage, set the pace: "
            f"{counts_text}. Such a side compresses the ratio; the devices may differ by more than it shows.",
        )


def _differences(warnings: Sequence[CodedWarning]) -> Iterator[Threat]:
    codes = (WarningCode.HOSTS_DIFFER, WarningCode.CONFOUNDED)
    sentences = dict.fromkeys(warning.words for warning in warnings if warning.code in codes)
    if sentences:
        yield Threat("More than the factor differed", ". ".join(sentences) + ".")


def _warnings(valid_runs: Sequence[Run]) -> Iterator[Threat]:
    counts = Counter(w.words for run in valid_runs for w in set(run.warnings) if w.code is not WarningCode.CPU_LIMIT)
    for warning, number in counts.most_common(RUN_WARNINGS_MAX):
        yield Threat(f"Warning on {number} of {len(valid_runs)} valid runs", warning)


def threats(table: RunTable, warnings: Sequence[CodedWarning], runs: Sequence[Run] = ()) -> list[Threat]:
    """Return the threats. ``warnings``: of the comparisons; ``runs``: the loaded runs of the table, if available."""
    valid_runs = [run for run in runs if run.status is RunStatus.VALID]
    return [*_origins(table), *_outliers(table), *_cpu(valid_runs), *_differences(warnings), *_warnings(valid_runs)]
