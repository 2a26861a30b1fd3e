"""How the runs of a report were made and how its decisions compare them.

In: the runs as a table, some of them loaded, and the decisions. Out: the facts that the runs record.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

import numpy as np

from assay.analysis.comparison.dependence import OVER_LEVELS
from assay.analysis.statistics import RunTable, counts_by
from assay.model import Origin, Run
from assay.questions.decisions.decision import Decision, TimeRatio
from assay.questions.decisions.sentences.option_words import option_text
from assay.questions.report.request import Fact
from assay.questions.runs.runs import levels_in
from assay.text import column_title, joined, plural, scale_text

NAMES_MAX = 6
"""Maximum number of plans, clusters or engines that one fact names."""


def method_facts(
    table: RunTable, loaded: Sequence[Run], decisions: Sequence[Decision], *, all_loaded: bool
) -> tuple[Fact, ...]:
    """Return the facts. ``loaded``: runs with their environments; ``all_loaded``: whether these are all runs."""
    baselines = dict.fromkeys(run.baseline_id for run in loaded if run.baseline_id)
    facts = (
        Fact("Plan", _names(table, "plan")),
        Fact("Cluster", _clusters(table, loaded)),
        Fact("Layouts", " ".join(layout_texts(loaded))),
        Fact("Engine", _names(table, "engine", "engine_version")),
        Fact("Runs", _runs(table)),
        Fact("When", _period_text(table)),
        Fact("Order", _order(loaded) if all_loaded else ""),
        Fact("Caches", _caches(table, loaded)),
        Fact("Repetitions", _repetitions(decisions)),
        Fact(
            "Matched group",
            "Runs that are equal in everything but the factor: workload, data, cluster, network, engine and all "
            "parameters. A run without a counterpart does not count.",
        ),
        Fact(
            "Speedup",
            "Baseline time / option time: above 1, the option is faster. A run's time is the time that its user waits. "
            "Over several workloads, each workload counts the same.",
        ),
        Fact("Interval", _intervals(decisions)),
        Fact("Verdicts", _verdicts(decisions)),
        Fact("Devices and links", f"Measured without load: baseline {', '.join(baselines)}." if baselines else ""),
    )
    return tuple(fact for fact in facts if fact.text)


def _names(table: RunTable, *columns: str) -> str:
    """Return the levels of ``columns``, at most :data:`NAMES_MAX` of each."""
    parts = [levels_in(table, name) for name in columns]
    texts = [", ".join(levels[:NAMES_MAX]) for levels in parts if levels]
    more_count = sum(max(0, len(levels) - NAMES_MAX) for levels in parts)
    return " ".join(texts) + (f" and {more_count} more" if more_count else "")


def _clusters(table: RunTable, loaded: Sequence[Run]) -> str:
    """Return the clusters, with workers and scale where a run records them."""
    names = levels_in(table, "cluster")
    texts = []
    for name in names[:NAMES_MAX]:
        example = next((run for run in loaded if run.cluster == name), None)
        facts = example.recorded.cluster if example else None
        text = f"{name}, {plural(facts.workers, 'worker')}" if facts and facts.workers is not None else name
        if example and example.lab_scale is not None:
            origin = "simulated" if example.origin is Origin.SIMULATED else "emulated on one machine"
            text += f", {origin} at scale {scale_text(example.lab_scale)}"
        texts.append(text)
    more_count = len(names) - len(texts)
    return "; ".join([*texts, *([f"{more_count} more"] if more_count else [])])


def _directories(counts: Mapping[str, int]) -> str:
    return joined([name if count == 1 else f"{name} ({count} directories)" for name, count in counts.items()])


def layout_texts(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the devices that each layout uses for each kind of data, from the first run that recorded it."""
    texts: dict[str, str] = {}
    for run in runs:
        facts = None if run.layout in texts else run.recorded.cluster
        if facts is None or facts.layout is None:
            continue
        hdfs, intermediate = _directories(facts.layout.hdfs), _directories(facts.layout.intermediate)
        shared_text = f"HDFS blocks and intermediate data on {hdfs}"
        separate_text = f"HDFS blocks on {hdfs}, intermediate data on {intermediate}"
        name = option_text("layout", run.layout)
        texts[run.layout] = f"{name}: {shared_text if hdfs == intermediate else separate_text} of every worker."
    return tuple(texts.values())


def _runs(table: RunTable) -> str:
    statuses = [f"{number:,} {name or 'of unknown status'}" for name, number in counts_by(table, "status").items()]
    return f"{len(table):,}: {', '.join(statuses)}. Only valid runs count."


def _period_text(table: RunTable) -> str:
    start_times = table.values["started_unix_s"]
    start_times = start_times[np.isfinite(start_times)]
    if len(start_times) == 0:
        return ""
    first, last = (
        f"{datetime.fromtimestamp(float(at), UTC):%Y-%m-%d %H:%M}" for at in (start_times.min(), start_times.max())
    )
    return f"{first} to {last} (UTC)"


def _order(runs: Sequence[Run]) -> str:
    """Return how runs are interleaved; empty where no run records it, and in simulation, where runs are independent."""
    blocks: dict[tuple[str, int], set[str]] = {}
    for run in runs:
        blocks.setdefault((run.campaign_id, run.block), set()).add(f"{run.workload} {run.layout} {run.levels}")
    if all(len(configurations) == 1 for configurations in blocks.values()):
        return ""
    if all(run.origin is Origin.SIMULATED for run in runs):
        return ""
    campaigns = len({run.campaign_id for run in runs})
    return (
        f"Interleaved in {plural(len(blocks), 'block')}, so that slow changes of the machine affect all options alike; "
        f"{plural(campaigns, 'campaign')}."
    )


def _caches(table: RunTable, loaded: Sequence[Run]) -> str:
    counts = counts_by(table, "cold")
    if counts.get("simulated") == len(table):
        return "Simulated; each run starts with empty caches."
    cold_count, warm_count = counts.get("cold", 0), counts.get("warm", 0)
    text = f"Proven cold before {cold_count:,} of {plural(len(table), 'run')}"
    text += f", warm before {warm_count:,}" if warm_count else ""
    unknown_count = len(table) - cold_count - warm_count
    text += f", unknown for {unknown_count:,}." if unknown_count else "."
    cached_bytes = [cache.cached_after_bytes for run in loaded for cache in run.caches if cache.dropped]
    return text + (
        f" A node kept {median(cached_bytes) / 1e6:,.0f} MB cached after a drop (median)." if cached_bytes else ""
    )


def _repetitions(decisions: Sequence[Decision]) -> str:
    times = [result.time for d in decisions[:1] for result in d.results if result.time and result.time.groups]
    groups = sum(time.groups for time in times)
    runs = sum(time.runs_baseline + time.runs_option for time in times)
    return f"{runs / (2 * groups):.1f} runs of each option per matched group, on average." if groups else ""


def _intervals(decisions: Sequence[Decision]) -> str:
    times = [result.time for decision in decisions for result in decision.results if result.time]
    times = [time for time in times if time.low is not None]
    if not times:
        return ""
    over_levels = OVER_LEVELS.format(_factors_of_levels(times))
    methods = dict.fromkeys(over_levels if _is_over_levels(time) else time.method for time in times)
    text = f"95 %, by {'; '.join(methods)}"
    simulated = any(decision.origin == Origin.SIMULATED for decision in decisions)
    return f"{text}; for simulated runs never narrower than the simulator's own error." if simulated else f"{text}."


def _factors_of_levels(times: Sequence[TimeRatio]) -> str:
    """Return the factors whose levels count as the values, as one list: each interval has one of them."""
    factors = dict.fromkeys(time.levels.factor for time in times if time.levels and _is_over_levels(time))
    return joined([column_title(factor) for factor in factors], "or")


def _is_over_levels(time: TimeRatio) -> bool:
    return time.levels is not None and time.method == OVER_LEVELS.format(time.levels.factor)


def _verdicts(decisions: Sequence[Decision]) -> str:
    if not decisions:
        return ""
    first = decisions[0]
    return (
        f"Corrected for the {plural(first.family, 'estimate')} of the decision (Holm). Equivalent: the 95 % interval "
        f"is within {100 * first.margin:g} % of 1."
    )
