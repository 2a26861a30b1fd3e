"""``assay predict``: predict the run times of configurations, with intervals."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option, say
from assay.model import escaped_cell
from assay.questions.json_values import json_value
from assay.text import column_title, level_text, run_id_text, seconds, setting_text, settings_text

if TYPE_CHECKING:
    from assay.questions.forecasts.prediction import ClusterRequest, Prediction
    from assay.questions.forecasts.prediction_batch import BatchPrediction
    from assay.store import Repository
    from assay.store.formats.tables.configuration_rows import ConfigurationTable

PROBLEM_ROWS_SHOWN = 20
"""Maximum number of rows without a prediction that are printed with the reason."""


@click.command(cls=AssayCommand)
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=LEVEL,…",
    help="Configuration: workload=terasort,layout=SSD,maps=16. Other factors get their most common level.",
)
@click.option(
    "--cluster",
    metavar="NAME|FILE",
    help="Cluster: its name, rented instances ('8x i4i.2xlarge'), or the file of a cluster without runs.",
)
@click.option(
    "--batch",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE.csv",
    help="Predict each row of a CSV table whose columns are factors; print CSV, or JSON with --json.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="With --batch: file to write. Default: standard output."
)
@json_option
@repository_option
def predict(
    where: tuple[str, ...],
    cluster: str | None,
    batch: Path | None,
    output: Path | None,
    as_json: bool,
    repository: Path,
) -> None:
    """Predict the run time of a configuration, or with --batch of many, with the 90 % interval of a single run."""
    from assay.questions.forecasts.prediction import cluster_named, predict_configuration
    from assay.store import Repository

    if batch is not None:
        _predict_batch(Repository.open(repository), batch, output, where, cluster_named(cluster), as_json)
        return
    if output is not None:
        raise click.UsageError("-o needs --batch FILE.csv")
    if not where:
        raise click.UsageError("No configuration. Give one with --where workload=…, or many with --batch FILE.csv.")
    answer = predict_configuration(Repository.open(repository), where, cluster_named(cluster))
    if as_json:
        print_json(json_value(answer))
        return
    _print_prediction(answer)
    if answer.nearest:
        click.echo("\nNearest measured:")
        cells = [
            (
                run_id_text(neighbour.run_id),
                seconds(neighbour.median_s),
                str(neighbour.runs),
                ", ".join(map(setting_text, neighbour.differs)) or "nothing",
            )
            for neighbour in answer.nearest
        ]
        print_table(("Run", "Median (s)", "Runs", "Differs in"), cells)
    for notice in answer.notices:
        click.echo(f"note: {notice}")


def _predict_batch(
    repository: Repository,
    file: Path,
    output: Path | None,
    where: tuple[str, ...],
    cluster: ClusterRequest | None,
    as_json: bool,
) -> None:
    from assay.foundation.errors import FormatError
    from assay.foundation.output import check_output, write_output
    from assay.questions.forecasts import prediction_batch
    from assay.questions.forecasts.model_cache import learned
    from assay.store.formats.source import Source
    from assay.store.formats.tables.configuration_rows import read_configuration_rows

    if output is not None:
        check_output(output)
    rows = read_configuration_rows(Source(file, file.name))
    total = len(rows.rows)

    def progress(done: int) -> None:
        if total > prediction_batch.ROWS_AT_ONCE:
            say(f"{done:,} of {total:,} rows predicted")

    answer = prediction_batch.batch_predicted(learned(repository), rows.rows, where, cluster, progress)
    for notice in answer.notices:
        say(f"note: {notice}")
    problem_rows = [row for row in answer.rows if row.problem]
    for row in problem_rows[:PROBLEM_ROWS_SHOWN]:
        say(f"{file.name}:{row.line}: {row.problem}")
    if len(problem_rows) > PROBLEM_ROWS_SHOWN:
        remaining = len(problem_rows) - PROBLEM_ROWS_SHOWN
        say(f"{remaining:,} more rows could not be predicted; the column problem has the reasons")
    text = json.dumps(json_value(answer), indent=2, ensure_ascii=False) + "\n" if as_json else _csv(rows, answer)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_output(output, text.encode())
        say(f"{output}: {total - len(problem_rows):,} of {total:,} rows predicted")
    if len(problem_rows) == total:
        sys.exit(FormatError.exit_code)


def _csv(rows: ConfigurationTable, answer: BatchPrediction) -> str:
    """Return the rows as CSV: the columns of the input, the measured time, then the prediction (times in seconds)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    measured_columns = ("measured_median_s", "measured_low_s", "measured_high_s", "measured_runs")
    results = ("expected_s", "low_s", "high_s", "extrapolated", "basis", "reasons", "problem")
    writer.writerow(["line", *rows.columns, *measured_columns, *results])
    for row, prediction in zip(rows.rows, answer.rows, strict=True):
        measured = prediction.measured
        measured_s = (measured.median_s, measured.low_s, measured.high_s) if measured else (None, None, None)
        cells = [
            *(row.levels.get(column, "") for column in rows.columns),
            *map(_csv_time, measured_s),
            str(measured.runs) if measured else "",
            *map(_csv_time, (prediction.expected_s, prediction.low_s, prediction.high_s)),
            "" if prediction.problem else "yes" if prediction.extrapolated else "no",
            prediction.basis,
            "; ".join(prediction.reasons),
            prediction.problem,
        ]
        writer.writerow([row.line, *map(escaped_cell, cells)])
    return text.getvalue()


def _csv_time(time_s: float | None) -> str:
    return "" if time_s is None else f"{time_s:.3f}"


def _print_prediction(answer: Prediction) -> None:
    from assay.questions.forecasts.prediction import prediction_sentence

    settings = ", ".join(
        f"{column_title(name)} {level_text(name, level)}" for name, level in answer.configuration.items()
    )
    click.echo(prediction_sentence(answer))
    click.echo(f"Configuration: {settings}.")
    for reason in answer.reasons:
        click.echo(f"  {reason}.")
    click.echo(
        f"The prediction is based on {answer.basis}. "
        f"Learned from {answer.runs:,} valid runs of {answer.configurations:,} configurations."
    )
    if answer.assumed:
        click.echo(f"Not given, so set to the most common value: {settings_text(answer.assumed)}.")
