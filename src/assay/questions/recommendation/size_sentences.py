"""State the size of a cluster in sentences, the same in every interface. The job's limit comes first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from assay.analysis.run_profile.limits.job_limits import SKEW_MIN, JobLimit, JobShares
from assay.analysis.run_profile.limits.loads import Resource
from assay.analysis.run_profile.memory_need import PROCESSES_MIN, MemoryNeed
from assay.analysis.run_profile.tables.limits_tables import limit_title
from assay.foundation.units import format_bytes, format_duration, format_percent
from assay.questions.commands import NO_OPTIONS, command, example_file, from_here
from assay.questions.recommendation.recommend import EXTRAPOLATION_STATED
from assay.questions.recommendation.search import PRICE_TIE
from assay.questions.recommendation.sentences import intervals_name, masters_text, parts_text
from assay.questions.recommendation.size import RATIO_STATED, SizeAnswer
from assay.text import NO_VALUE, credit_texts, duration_text, money, money_texts, plural, share

_KINDS = {"map": "map task", "reduce": "reduce task", "executor": "executor"}
_NO_LIMIT = (Resource.NONE, "unknown")
"""Limits of a job without a bottleneck."""
_EXAMPLES = (
    "log-machines/catalogue.yaml",
    "log-machines/prices.yaml",
    "instances/catalogue.yaml",
    "instances/prices.yaml",
)
_RISK_SHOWN_MIN = 1e-4
"""Smallest risk that is stated as a number: below it, the shape of the distribution is not known."""


@dataclass(frozen=True, slots=True)
class SizeCommands:
    """The logs of the question and the example files, for the commands that an answer names as a next step."""

    logs: tuple[str, ...]
    """Paths of the logs."""
    examples: tuple[str, str, str, str]
    """Paths of the catalogue and the prices of a log's machines, and of the catalogue and the prices of rented ones."""
    note: str = ""
    """How to get the example files, if they are not there: `` (… writes them)``."""

    @classmethod
    def of(cls, logs: Sequence[Path]) -> Self:
        """Return the commands for logs on this machine."""
        paths = [example_file(name) for name in _EXAMPLES]
        texts = tuple(from_here(log) for log in logs)
        return cls.without_examples(texts) if "" in paths else cls(texts, (paths[0], paths[1], paths[2], paths[3]))

    @classmethod
    def without_examples(cls, logs: Sequence[str]) -> Self:
        """Return the commands for a reader who may lack the example files."""
        first, second, third, fourth = (f"examples/{name}" for name in _EXAMPLES)
        note = " (`assay examples examples` writes the example files)"
        return cls(tuple(logs), (first, second, third, fourth), note)

    def of_log_machines(self, nodes: str) -> str:
        """Return how to size the log's data on the log's machines. ``nodes``: their number in words."""
        catalogue, prices = self.examples[:2]
        size = command("size", *self.logs, "--catalogue", "machines.yaml", "--prices", prices, options=NO_OPTIONS)
        return f"copy {catalogue} to machines.yaml, describe the {nodes} of the log in it, and run `{size}`{self.note}"

    def of_rented_machines(self, growth: float) -> str:
        """Return the command that sizes the data on example instances."""
        catalogue, prices = self.examples[2:]
        grow = () if growth == 1 else ("--grow", f"{growth:g}x")
        words = (*self.logs, *grow, "--catalogue", catalogue, "--prices", prices)
        return f"`{command('size', *words, options=NO_OPTIONS)}`{self.note}"


def limit_sentence(answer: SizeAnswer) -> str:
    """Return where most of the job's time went in the log, and the limit of the simulation on the best cluster."""
    logged_text = f"{_logged_limit(answer)}."
    if not answer.shapes:
        return logged_text
    limit, where = answer.shapes[0].limit, "In the simulation of the cluster listed first"
    if limit in _NO_LIMIT:
        return f"{logged_text} {where}, there is no bottleneck."
    why = ""
    if answer.job.shares.limit is JobLimit.WAITING and limit == Resource.CPU:
        why = "; the simulation leaves out the waiting in the log"
    return f"{logged_text} {where}, {limit_title(limit)} limits the tasks for the longest time{why}."


def first_sentences(answer: SizeAnswer, commands: SizeCommands) -> Iterator[str]:
    """Yield how the answer begins.

    First the cluster with its price, or why there is none; then the job's limit; then that simulated and logged time
    differ much, if they do, and how far the data is extrapolated. Without hardware, the job's limit is the answer.
    """
    yield from _best_estimate(answer)
    yield limit_sentence(answer)
    yield from _comparison(answer, commands)
    if answer.extrapolation > EXTRAPOLATION_STATED:
        yield f"Extrapolated: up to {answer.extrapolation:,.0f} times the data per worker of the log."


def _best_estimate(answer: SizeAnswer) -> Iterator[str]:
    """Yield the best cluster with its price, or why no cluster is recommended; nothing without hardware."""
    if answer.why_none:
        yield f"No shape is recommended: {answer.why_none}."
    elif answer.shapes:
        best_shape = answer.shapes[0]
        names = ", or ".join((best_shape.label, *answer.tied))
        made_of = f" ({parts_text(best_shape.parts, answer.currency)})" if best_shape.parts.per_worker > 0 else ""
        tie = f" (a tie: equal time and cost within {format_percent(PRICE_TIE)})" if answer.tied else ""
        amounts = best_shape.job_cost, best_shape.job_cost_low, best_shape.job_cost_high
        cost, _ = money_texts(*amounts, answer.currency, rough=answer.extrapolated)
        time = duration_text(
            best_shape.time_s, best_shape.time_low_s, best_shape.time_high_s, rough=answer.extrapolated
        )
        yield (
            f"{_certainty_text(answer)} estimate: {names}{tie}, "
            f"{money(best_shape.rate_per_h, answer.currency)} per hour{made_of}. The job "
            f"takes {time} and costs {cost} ({best_shape.origin})."
        )


def _certainty_text(answer: SizeAnswer) -> str:
    """Return ``Rough`` for extrapolated data, ``Unchecked`` where the time differs much from the log's, or ``Best``."""
    if answer.extrapolated:
        return "Rough"
    return "Unchecked" if _differs_from_log(answer) else "Best"


def _differs_from_log(answer: SizeAnswer) -> bool:
    ratio = answer.speed_ratio
    return ratio is not None and not 1 / RATIO_STATED < ratio < RATIO_STATED


def _comparison(answer: SizeAnswer, commands: SizeCommands) -> Iterator[str]:
    """Yield how the simulated time differs from the logged time, and how to check it."""
    ratio, shares = answer.speed_ratio, answer.job.shares
    if answer.may_be_log_cluster:
        yield _log_cluster_text(answer)
        return
    if ratio is None or not _differs_from_log(answer):
        return
    data = "the same data" if answer.growth == 1 else f"{answer.growth:g} times the data"
    difference_text = f"{ratio:.2g} times as fast" if ratio > 1 else f"{1 / ratio:.2g} times as slow"
    per_byte = "" if answer.growth == 1 else " per byte"
    nodes = plural(shares.nodes, "node")
    yield (
        f"Check the simulated times before you rely on them: the job took {format_duration(shares.duration_s)} in the "
        f"log on {nodes}, and the cluster listed first takes "
        f"{duration_text(answer.shapes[0].time_s, rough=answer.extrapolated)} for {data}, "
        f"{difference_text}{per_byte}. A log does not describe its machines, so assay can't tell whether the machines "
        "or the simulation make the difference."
    )
    yield (
        f"To find out, {commands.of_log_machines(nodes)}. If that time also differs by a factor of 2 or more, rely on "
        "neither times nor costs."
    )


def _log_cluster_text(answer: SizeAnswer) -> str:
    """Return whether the simulated time of the only cluster agrees with the log, if it is the cluster of the log."""
    shape, logged_s = answer.shapes[0], answer.job.shares.duration_s
    agrees = shape.time_low_s <= logged_s <= shape.time_high_s
    verdict = "agrees" if agrees else "does not agree"
    advice = " Rely on neither times nor costs." if _differs_from_log(answer) else ""
    return (
        f"If this is the cluster of the log, the simulation {verdict} with the log: it takes "
        f"{duration_text(shape.time_s, rough=False)}, the log {format_duration(logged_s)} (ratio "
        f"{shape.time_s / logged_s:.2f}), and the 90 % interval {'contains' if agrees else 'does not contain'} the "
        f"logged time.{advice}"
    )


def _logged_limit(answer: SizeAnswer) -> str:
    shares, name = answer.job.shares, answer.job.name
    slots = _slots(shares)
    sentences_by_limit = {
        JobLimit.CPU: f"In the log, {name} is limited by CPU: its tasks computed for {share(shares.cpu_share)} of the "
        f"time of {slots}",
        JobLimit.COLLECTION: f"In the log, {name} is limited by garbage collection, which took "
        f"{share(shares.collection_share)} of the time of {slots}",
        JobLimit.WAITING: f"In the log, {name}'s tasks spent {share(shares.waiting_share)} of the time of {slots} "
        "waiting for disks, network or a shared core; the log does not say which",
        JobLimit.DRIVER: f"In the log, {name} is limited by its driver or by scheduling: no task ran for "
        f"{share(shares.without_tasks_share)} of its time",
        JobLimit.SKEW: f"In the log, {name} is limited by skew: {_skew_text(shares)}",
        JobLimit.FEW_TASKS: f"In the log, {name} is limited by parallelism: it has too few tasks, and {slots} were "
        f"idle for {share(shares.idle_share)} of their time",
        JobLimit.UNKNOWN: f"The limit of {name} is not known: the log counts no CPU time",
    }
    return sentences_by_limit[shares.limit]


def _slots(shares: JobShares) -> str:
    return f"{shares.slots} {'cores' if shares.slots_stated else 'slots'}"


def _skew_text(shares: JobShares) -> str:
    skew = shares.skew
    if skew is None:
        return "one task ran much longer than the others"
    return (
        f"the longest of {skew.count} tasks of {skew.group} took {format_duration(skew.longest_s)}, "
        f"{skew.factor:.1f} times the median"
    )


def job_sentences(answer: SizeAnswer) -> Iterator[str]:
    """Yield the job's data, tasks and shares."""
    job, shares = answer.job, answer.job.shares
    parts = plural(job.jobs, "job") + (f", {plural(job.stages, 'stage')}" if job.stages else "")
    source = "" if job.logs == 1 else f" ({job.logs} logs; figures of the one with most data)"
    yield (
        f"{job.engine}: {parts}, {plural(shares.tasks, 'task')} on {plural(shares.nodes, 'node')}, "
        f"{format_duration(shares.duration_s)}{source}."
    )
    shuffled_text, written_text, spilled_text = (
        NO_VALUE if value is None else format_bytes(value)
        for value in (job.shuffled_bytes, job.written_bytes, job.spilled_bytes)
    )
    data = format_bytes(job.data_bytes) if job.data_bytes else "not known"
    spills = f", spilled {spilled_text}" if job.engine != "hadoop" else ""
    yield f"Data {data}, shuffled {shuffled_text}, written {written_text}{spills}."
    yield (
        f"Of the time of the {_slots(shares)}: {share(shares.cpu_share)} on CPU, {share(shares.collection_share)} in "
        f"garbage collection, {share(shares.waiting_share)} waiting, {share(shares.idle_share)} without a task."
    )
    if shares.skew is not None and shares.skew.factor >= SKEW_MIN and shares.limit is not JobLimit.SKEW:
        yield f"Skew: {_skew_text(shares)}."


def memory_sentences(answer: SizeAnswer) -> Iterator[str]:
    """Yield one sentence for each kind of process."""
    for need in answer.memory:
        yield _memory_text(need, "" if answer.job.logs == 1 else f" of {answer.job.logs} logs")


def _memory_text(need: MemoryNeed, logs: str) -> str:
    name = _KINDS[need.kind]
    requested_text = (
        "request not known" if need.requested_bytes is None else f"requested {_memory(need.requested_bytes)}"
    )
    if need.peak_bytes is None:
        return f"Memory per {name}: {requested_text}, used: not known, because the log has no such metric."
    used_text = f"used {_memory(need.median_bytes)} (median), {_memory(need.high_bytes)} (95 %)"
    used_text += f", {_memory(need.peak_bytes)} (peak)"
    line = f"Memory per {name}: {requested_text}; {used_text} over {plural(need.processes, name)}{logs}"
    if need.processes < PROCESSES_MIN:
        return f"{line}. The risk is not known: {PROCESSES_MIN} {name}s or more are needed."
    if need.request_risk is not None:
        line += f". Risk that a run needs more than requested: {_risk(need.request_risk)}"
    if need.sufficient_bytes is None or need.sufficient_risk is None:
        return f"{line}. No sufficient size can be stated: {need.processes} {name}s differ too much."
    return f"{line}. {_memory(need.sufficient_bytes)} would suffice with a risk of {_risk(need.sufficient_risk)}."


def _memory(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value / 2**20:,.0f} MiB"


def _risk(value: float) -> str:
    return f"under {100 * _RISK_SHOWN_MIN:g} %" if value < _RISK_SHOWN_MIN else f"{100 * value:.2g} %"


def memory_caveats(answer: SizeAnswer) -> Iterator[str]:
    """Yield what limits the statements about memory."""
    if any(need.kind == "executor" for need in answer.memory):
        yield (
            "the memory of an executor is its heap in use, garbage included: it may need less. Spark samples it with "
            "each heartbeat, so a short peak is missed"
        )
    if any(need.kind == "reduce" for need in answer.memory) and answer.growth > 1:
        yield "reduce tasks need more memory with more data; the risk is that of the logged data"
    if any(need.request_risk is not None for need in answer.memory):
        yield "the risk assumes log-normal peaks; a container that is smaller also has a smaller heap"


def shapes_sentences(answer: SizeAnswer) -> Iterator[str]:
    """Yield the sentences before the table of shapes: masters, credits and interruptions."""
    if answer.why_none or not answer.shapes:
        return
    yield from _masters(answer)
    for shape in answer.shapes:
        for text in credit_texts(shape.credits):
            yield f"{shape.label} {text}."
    best_shape = answer.shapes[0]
    if best_shape.interrupted_time_s is not None:
        yield (
            f"If {answer.interruptions.strip()} of its workers are interrupted and each interruption restarts the "
            f"job, it takes {format_duration(best_shape.interrupted_time_s)} on average and costs "
            f"{money(best_shape.interrupted_cost, answer.currency)}. Hadoop and Spark repeat only the lost tasks, so "
            "this is an upper bound."
        )


def _masters(answer: SizeAnswer) -> Iterator[str]:
    """Yield the price of the masters that is part of the price per hour of the shapes."""
    texts = {shape.label: masters_text(shape.parts, answer.currency) for shape in answer.shapes if shape.parts.masters}
    if len(set(texts.values())) == 1 and len(texts) == len(answer.shapes):
        yield f"Each price per hour includes {next(iter(texts.values()))}."
    else:
        yield from (f"The price per hour of {label} includes {text}." for label, text in texts.items())


def shapes_title(answer: SizeAnswer) -> str:
    """Return the title of the table of shapes."""
    return f"Shapes: simulated, {intervals_name(extrapolated=answer.extrapolated)}"


def missing_sentences(answer: SizeAnswer, commands: SizeCommands) -> Iterator[str]:
    """Yield the facts that a log lacks, with the command that measures them."""
    yield (
        "Not in a log: traffic of disks and network. `assay observe cluster.yaml -- COMMAND` samples the hosts during "
        "the next run."
    )
    ratio, shares = answer.speed_ratio, answer.job.shares
    if ratio is not None and not _differs_from_log(answer) and not answer.may_be_log_cluster:
        yield (
            f"Not in a log: the hardware of its {plural(shares.nodes, 'node')}, so the model's time on them can't be "
            f"compared with the logged {format_duration(shares.duration_s)}. To compare, "
            f"{commands.of_log_machines(plural(shares.nodes, 'node'))}."
        )
    if not answer.shapes and not answer.why_none:
        yield (
            "For clusters and costs, name a hardware catalogue and a price book. Three instance types at example "
            f"prices: {commands.of_rented_machines(answer.growth)}."
        )
    for text in answer.skipped:
        yield f"Left out: {text}"


def assumption_sentences(answer: SizeAnswer) -> Iterator[str]:
    """Yield the assumptions of the shapes, and what limits the statements about memory."""
    yield from answer.assumptions
    waiting_share = answer.job.shares.waiting_share
    if answer.shapes and waiting_share is not None:
        yield (
            f"the waiting in the log ({share(waiting_share)}) is not carried over: the simulation derives waiting from "
            "the disks, the network and the cores of each cluster, so a job that waits for anything else takes longer"
        )
    yield from memory_caveats(answer)


def sentences(answer: SizeAnswer, commands: SizeCommands) -> Iterator[str]:
    """Yield everything that follows :func:`first_sentences`, in order."""
    yield from job_sentences(answer)
    yield from memory_sentences(answer)
    yield from assumption_sentences(answer)
    yield from shapes_sentences(answer)
    yield from missing_sentences(answer, commands)
