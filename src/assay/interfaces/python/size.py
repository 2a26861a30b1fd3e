"""Size a cluster from Python: the answer of ``assay size LOG…``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.foundation.errors import SpecificationError
from assay.interfaces.python import rows
from assay.interfaces.python.answer import Answer
from assay.interfaces.python.arguments import SEED_MAX, file_path, integer_within, price_book, text
from assay.questions.json_values import json_value

if TYPE_CHECKING:
    from assay.model import PriceBook
    from assay.questions.recommendation.size import SizeAnswer


def size_from_logs(
    *logs: Path | str,
    catalogue: Path | str | None = None,
    prices: PriceBook | Path | str | None = None,
    deadline: str = "",
    budget: str = "",
    grow: str = "1x",
    interruptions: str = "",
    simulations: int = 300,
    seed: int = 1,
    jobs: int | None = None,
    extra_costs: str = "",
) -> Answer[SizeAnswer]:
    """Return what limits the job in ``logs`` and the memory that it needs; with hardware and prices, the best shapes.

    ``logs``: MapReduce histories or Spark event logs of one job, or folders with them. ``budget``: a price per hour,
    ``$20/h``. ``interruptions``: share of spot workers that are taken away per hour, ``5%/h``. ``jobs``: number of
    simulators. ``extra_costs``: data kept, data sent and idle time per day, and the price of surplus CPU credits,
    ``storage=2TB,egress=50GB,idle=3h,surplus-credits=$0.05``.
    """
    from assay.estimation.simulator.pool import SimulatorPool
    from assay.execution.planning.plan_files.hardware_file import load_catalogue
    from assay.questions.recommendation import size_sentences
    from assay.questions.recommendation.job_logs import read_job_logs
    from assay.questions.recommendation.size import SizeRequest, describe_job, size

    if (catalogue is None) != (prices is None):
        raise SpecificationError("catalogue and prices belong together", where="size", hint="give both, or none")
    request = SizeRequest(
        text(deadline, "deadline"),
        text(budget, "budget"),
        text(grow, "grow"),
        text(interruptions, "interruptions"),
        integer_within(simulations, 1, 100_000, "simulations"),
        integer_within(seed, 0, SEED_MAX, "seed"),
        text(extra_costs, "extra_costs"),
    )
    log_paths = [file_path(log, "logs") for log in logs]
    job_description = read_job_logs(log_paths)
    if catalogue is None or prices is None:
        answer = describe_job(job_description, request)
    else:
        hardware, book = load_catalogue(file_path(catalogue, "catalogue")), price_book(prices)
        with SimulatorPool(integer_within(jobs, 1, 1_000, "jobs") if jobs is not None else None) as pool:
            answer = size(job_description, request, hardware, book, pool)
    commands = size_sentences.SizeCommands.of(log_paths)
    first_sentence, *further_sentences = size_sentences.first_sentences(answer, commands)
    return Answer(
        answer,
        first_sentence,
        (*further_sentences, *size_sentences.sentences(answer, commands)),
        rows.SHAPE_COLUMNS,
        json_values=lambda: json_value(answer),
        rows=rows.rows_under("shapes"),
    )
