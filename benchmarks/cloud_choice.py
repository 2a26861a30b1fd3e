"""Measure how well assay chooses instance types for jobs that it did not measure on them.

In: a folder of run tables with instance type, number of instances, job, input and run time, and prices
(:mod:`cloud_tables` describes the columns). A case is a job with its input and parameters; its options are the measured
pairs of instance type and number of instances. Out, as Markdown, for each way of leaving runs out:

- *type*: all runs of one instance type. Its times are predicted from the other types, whose measured times are known.
  The choice is among all options.
- *job*: all runs of one job. The choice is among all options, from other jobs alone.
- *input*: all runs of one case. The job's other inputs are known.

Regret: price (or time) of the chosen option over that of the best option, minus 1, by medians of repetitions. MAPE:
mean of error over measured time, by medians of repetitions. Held: share of runs in the 90 % interval. Width: upper end
over the expected time, median. Answered: share of left-out options with an expected time. Two baselines: *winner* takes
the option that was best in most cases of the known runs. *Ernest* fits non-negative coefficients of 1, data / machines,
log(machines) and machines for each job and type (S. Venkataraman et al., NSDI 2016); for an unseen type it uses all
known types.

Run it with ``python benchmarks/cloud_choice.py FOLDER [--map COLUMN=FIELD …]``.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cloud_tables import CloudRuns, read_folder

from assay.analysis.statistics import Floats, Ints, Mask
from assay.estimation.prediction.features import numbers
from assay.estimation.prediction.instance_types import ProcessInputs
from assay.estimation.prediction.model import learn
from assay.estimation.prediction.predict import predict
from assay.foundation.errors import SpecificationError

REGRET_MAX = 0.10
"""Regret up to which a choice counts as good."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Expected times and 90 % intervals by row, in seconds; NaN where a method has none."""

    expected_s: Floats
    low_s: Floats
    high_s: Floats


Method = Callable[[CloudRuns, Ints, Ints], Estimates]
"""Learns from the rows of the second argument, and estimates the rows of the third."""


def by_assay(runs: CloudRuns, known_rows: Ints, tested_rows: Ints) -> Estimates:
    """Return assay's predictions, which ``assay predict`` prints.

    For a job without runs, which has no predicted time, the model for instance types ranks the options.
    """
    table = runs.table.subset(tested_rows)
    try:
        model = learn(runs.table.subset(known_rows))
    except SpecificationError:
        no_values = np.full(len(tested_rows), np.nan)
        return Estimates(no_values, no_values, no_values)
    jobs = runs.table.columns["workload"].codes
    if model.instance_types is not None and not np.isin(jobs[tested_rows], jobs[known_rows]).any():
        logs, half_width = model.instance_types.estimates(ProcessInputs.of(model.encoding, table))
        return Estimates(np.exp(logs), np.exp(logs - half_width), np.exp(logs + half_width))
    prediction = predict(model, table)
    return Estimates(prediction.expected_s, prediction.low_s, prediction.high_s)


def by_ernest(runs: CloudRuns, known_rows: Ints, tested_rows: Ints) -> Estimates:
    """Return the estimates of Ernest's model, one for each job and type."""
    from scipy.optimize import nnls

    workload = runs.table.columns["workload"].codes
    data = np.nan_to_num(numbers(runs.table, "data_bytes"), nan=1.0)
    data = np.where(data > 0, data / max(data.max(), 1.0), 1e-9)
    machines = runs.workers
    terms = np.stack([np.ones(len(data)), data / machines, np.log(machines), machines], axis=1)
    seconds = runs.table.values["duration_s"]
    expected_s = np.full(len(tested_rows), np.nan)
    for position, row in enumerate(tested_rows.tolist()):
        rows_of_job = known_rows[workload[known_rows] == workload[row]]
        rows_of_type = rows_of_job[runs.type[rows_of_job] == runs.type[row]]
        rows = rows_of_type if len(rows_of_type) else rows_of_job
        if len(np.unique(machines[rows])) > 1:
            expected_s[position] = terms[row] @ nnls(terms[rows] / seconds[rows, None], np.ones(len(rows)))[0]
    no_values = np.full(len(tested_rows), np.nan)
    return Estimates(expected_s, no_values, no_values)


@dataclass(frozen=True, slots=True)
class Options:
    """The measured options of all cases: one for each case, instance type and number of instances."""

    case: Ints
    row: Ints
    """A run of the option."""
    of_run: Ints
    """The option of each run."""
    shape: Ints
    """The option's instance type and number of instances, as a number."""
    seconds: Floats
    """Median over repetitions."""
    price_usd_per_h: Floats
    """Price of all instances; NaN where unknown."""

    @classmethod
    def of(cls, runs: CloudRuns) -> "Options":
        """Return the options of some runs."""
        shapes, shape = np.unique(np.stack([runs.type, runs.workers], axis=1), axis=0, return_inverse=True)
        pairs = runs.contexts * len(shapes) + shape
        _, row, of_run = np.unique(pairs, return_index=True, return_inverse=True)
        seconds = runs.table.values["duration_s"]
        medians = np.array([np.median(seconds[of_run == option]) for option in range(len(row))])
        price = runs.price_usd_per_h[row] * runs.workers[row]
        return cls(runs.contexts[row], row, of_run, shape[row], medians, price)


@dataclass(frozen=True, slots=True)
class Split:
    """Options that are left out together."""

    name: str
    is_left_out: Mask


def splits(runs: CloudRuns, options: Options, by: str) -> Iterator[Split]:
    """Yield the ways of leaving out a type, a job or an input."""
    workload = runs.table.columns["workload"]
    if by == "type":
        for code, name in enumerate(runs.types):
            yield Split(name, runs.type[options.row] == code)
    elif by == "job":
        for code in np.unique(workload.codes):
            yield Split(workload.levels[code], workload.codes[options.row] == code)
    else:
        for case in np.unique(options.case):
            yield Split(f"case {case}", options.case == case)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of one method on one split."""

    cost_regret: Sequence[float]
    time_regret: Sequence[float]
    errors: Sequence[float]
    """Relative errors of left-out options."""
    held: Sequence[bool]
    """Whether each left-out run is in its interval."""
    widths: Sequence[float]
    options: int


def regrets(estimate: Floats, truth: Floats, options: Options, split: Split) -> list[float]:
    """Return the regret of each case with a left-out option: one number per case in which a choice can be made."""
    case_regrets = []
    for case in np.unique(options.case[split.is_left_out]):
        rows = np.flatnonzero(options.case == case)
        rows = rows[np.isfinite(truth[rows])]
        estimated_rows = rows[np.isfinite(estimate[rows])]
        if len(rows) > 1 and len(estimated_rows):
            case_regrets.append(
                float(truth[estimated_rows[np.argmin(estimate[estimated_rows])]] / truth[rows].min() - 1.0)
            )
    return case_regrets


def outcome(runs: CloudRuns, options: Options, split: Split, method: Method) -> Outcome:
    """Return the results of a method on a split. Medians of the options that are not left out are known."""
    left_out = np.flatnonzero(split.is_left_out)
    known_rows = np.flatnonzero(~split.is_left_out[options.of_run])
    estimates = method(runs, known_rows, options.row[left_out])
    seconds = options.seconds.copy()
    seconds[left_out] = estimates.expected_s
    cost = options.seconds * options.price_usd_per_h
    position_of = {int(option): position for position, option in enumerate(left_out)}
    tested_runs = [
        (row, position_of[int(options.of_run[row])]) for row in np.flatnonzero(split.is_left_out[options.of_run])
    ]
    duration_s = runs.table.values["duration_s"]
    is_answered = np.isfinite(estimates.expected_s)
    return Outcome(
        regrets(seconds * options.price_usd_per_h, cost, options, split),
        regrets(seconds, options.seconds, options, split),
        np.abs(estimates.expected_s / options.seconds[left_out] - 1.0)[is_answered].tolist(),
        [
            bool(estimates.low_s[position] <= duration_s[row] <= estimates.high_s[position])
            for row, position in tested_runs
            if np.isfinite(estimates.high_s[position])
        ],
        (estimates.high_s / estimates.expected_s)[np.isfinite(estimates.high_s)].tolist(),
        len(left_out),
    )


def winner(options: Options, split: Split) -> Outcome:
    """Return the regret of the option that was best in most cases of the known options."""
    regrets_by_goal = []
    for truth in (options.seconds * options.price_usd_per_h, options.seconds):
        wins = np.zeros(options.shape.max() + 1)
        for case in np.unique(options.case):
            rows = np.flatnonzero((options.case == case) & ~split.is_left_out & np.isfinite(truth))
            if len(rows):
                wins[options.shape[rows[np.argmin(truth[rows])]]] += 1
        regrets_by_goal.append(regrets(-wins[options.shape], truth, options, split))
    return Outcome(regrets_by_goal[0], regrets_by_goal[1], [], [], [], 0)


def row_of(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return a line of the table."""
    cost, time, errors, in_interval, widths = (
        np.array([value for result in outcomes for value in getattr(result, key)], dtype=np.float64)
        for key in ("cost_regret", "time_regret", "errors", "held", "widths")
    )
    option_count = sum(result.options for result in outcomes)

    def regret(values: Floats) -> str:
        if not len(values):
            return "–"
        good_text = f"{(values <= REGRET_MAX).mean():.0%} of {len(values)}"
        return f"{good_text}, mean {values.mean():.1%}, worst {values.max():.0%}"

    cells = [
        regret(cost),
        regret(time),
        f"{errors.mean():.1%}" if len(errors) else "–",
        f"{in_interval.mean():.1%} of {len(in_interval)}" if len(in_interval) else "–",
        f"{np.median(widths):.2f}×" if len(widths) else "–",
        f"{len(errors) / option_count:.0%}" if option_count else "–",
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def report(runs: CloudRuns, *, by_split: bool) -> None:
    """Print the tables."""
    options = Options.of(runs)
    print(
        f"{len(runs.table):,} runs, {len(options.row):,} options of {len(np.unique(options.case))} cases, "
        f"{len(runs.types)} instance types, {len(np.unique(runs.table.columns['workload'].codes))} jobs"
    )
    header = "cheapest: regret ≤ 10 % | fastest: regret ≤ 10 % | MAPE | held | width | answered |"
    for by in ("type", "job", "input"):
        all_splits = [
            split for split in splits(runs, options, by) if 0 < split.is_left_out.sum() < len(split.is_left_out)
        ]
        if not all_splits:
            continue
        print(f"\n**{by} left out ({len(all_splits)} in turn)**\n\n| method | {header}\n|---|---|---|---|---|---|---|")
        for name, method in (("assay", by_assay), ("Ernest", by_ernest)):
            outcomes = [outcome(runs, options, split, method) for split in all_splits]
            print(row_of(name, outcomes), flush=True)
            if by_split and by != "input":
                for split, result in zip(all_splits, outcomes, strict=True):
                    print(row_of(f"{name}: {split.name}", [result]), flush=True)
        print(row_of("winner", [winner(options, split) for split in all_splits]), flush=True)


def main() -> None:
    """Read the folder and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--map", action="append", default=[], metavar="COLUMN=FIELD")
    parser.add_argument("--each", action="store_true", help="also print each left-out type and job")
    arguments = parser.parse_args()
    runs = read_folder(arguments.folder, dict(text.split("=", 1) for text in arguments.map))
    print("\n".join(f"- {note}" for note in runs.notes) + "\n")
    report(runs, by_split=arguments.each)


if __name__ == "__main__":
    main()
