"""Measure how well one layout's runs predict the other layouts' runs (docs/measurements/simulator.md).

    python benchmarks/simulator_across_layouts.py REPOSITORY [--where COLUMN=LEVEL …]

For every pair of measured layouts A and B, it asks `assay whatif --where layout=A --set layout=B` with a profile
learned from the runs of A alone, so no answer uses the runs with which it is compared. The table compares each answer
with the measured time.
"""

from __future__ import annotations

import argparse
import math
from itertools import permutations
from pathlib import Path
from statistics import fmean, median

from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.forecasts.learning import learn_profile
from assay.questions.forecasts.whatif.whatif import WhatIfQuestion, what_if
from assay.questions.forecasts.whatif.whatif_answer import WhatIf
from assay.questions.runs.runs import selected
from assay.store import Repository


def measured_runs(repository: Repository, where: tuple[str, ...]) -> list[Run]:
    """Return the valid measured runs that match."""
    table = selected(repository.table(), where, "--where")
    selected_runs = repository.runs_at(table, range(len(table)))
    return [run for run in selected_runs if run.origin is Origin.MEASURED and run.status is RunStatus.VALID]


def rows(repository: Repository, where: tuple[str, ...]) -> list[tuple[str, WhatIf, list[float]]]:
    """Return the engine, the answer, and the measured times of the predicted layout."""
    runs = measured_runs(repository, where)
    result = []
    layouts = list(dict.fromkeys(run.layout for run in runs))
    for engine in dict.fromkeys(run.engine for run in runs):
        for learned_layout, predicted_layout in permutations(layouts, 2):
            question = WhatIfQuestion(
                (("layout", predicted_layout),), (*where, f"engine={engine}", f"layout={learned_layout}")
            )
            profile = learn_profile(repository.root, question.where)
            for answer in what_if(repository, question, profile=profile).configurations:
                expected_levels = {
                    **dict(part.split("=", 1) for part in answer.configuration.split()),
                    "layout": predicted_layout,
                }
                times = [
                    run.duration_s
                    for run in runs
                    if (run.engine, run.workload, run.levels) == (engine, answer.workload, expected_levels)
                ]
                if times:
                    result.append((engine, answer, times))
    return result


def main() -> None:
    """Print the table and its summary."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("repository", type=Path)
    arguments.add_argument("--where", action="append", default=[])
    options = arguments.parse_args()
    print("| engine | workload | learned from | layout | predicted (s) | 90 % | measured (s) | n | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    errors, in_interval = [], []
    for engine, answer, times in rows(Repository.open(options.repository), tuple(options.where)):
        measured_s = math.exp(fmean(map(math.log, times)))
        errors.append(answer.simulated_s / measured_s - 1)
        in_interval += [answer.low_s <= time_s <= answer.high_s for time_s in times]
        cells = (
            engine,
            answer.workload,
            answer.configuration,
            answer.changes["layout"],
            f"{answer.simulated_s:.1f}",
            f"{answer.low_s:.1f} to {answer.high_s:.1f}",
            f"{measured_s:.1f}",
            str(len(times)),
            f"{errors[-1]:+.0%}",
        )
        print(f"| {' | '.join(cells)} |")
    sizes = sorted(map(abs, errors))
    print(
        f"\n{len(sizes)} rows; median error {median(sizes):.0%}, worst {sizes[-1]:.0%}; "
        f"{sum(in_interval)} of {len(in_interval)} measured times are in the predicted interval"
    )


if __name__ == "__main__":
    main()
