"""Ask for simulated and predicted times, and for the next runs: the forecasts of an opened repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.interfaces.python import rows
from assay.interfaces.python.answer import Answer
from assay.interfaces.python.arguments import (
    SEED_MAX,
    Where,
    conditions,
    file_path,
    integer_within,
    number_within,
    one_of,
    optional_text,
    price_book,
    text,
    texts,
)
from assay.questions.json_values import json_value
from assay.store import Repository

if TYPE_CHECKING:
    from assay.model import PriceBook
    from assay.questions.forecasts.importance import ImportanceView
    from assay.questions.forecasts.next_runs import Characterisation, NextRunsAnswer
    from assay.questions.forecasts.prediction import Prediction
    from assay.questions.forecasts.whatif.whatif_answer import WhatIfAnswer
    from assay.questions.recommendation.recommend import Recommendation


class Forecasts:
    """The questions that simulate, or that use a model trained on the runs."""

    def __init__(self, repository: Repository) -> None:
        self._store = repository

    def whatif(
        self,
        changes: Mapping[str, object] | Sequence[str] | str,
        where: Where = (),
        *,
        target: str = "",
        prices: PriceBook | Path | str | None = None,
        stated: Mapping[str, float | str] | None = None,
        extra_costs: str = "",
        profile: Path | str | None = None,
        cluster: Path | str | None = None,
    ) -> Answer[WhatIfAnswer]:
        """Simulate measured runs after changes: ``{"layout": "SS2", "workers.count": 12}``.

        ``target``: the beginning of a run id or campaign id, or the name of a plan; empty for all measured runs.
        ``stated``: prices by name: of items of the book, and of parts that it lacks (:class:`MissingPrice`).
        ``extra_costs``: data kept, data sent and idle time per day, ``storage=2TB,egress=50GB,idle=3h``.
        ``profile``: file of a simulation profile; None to learn it from all measured runs. ``cluster``: cluster file of
        the measured runs, if neither the repository nor the bundles have it.
        """
        from assay.execution.planning.plan_files.changed_plan import parse_question
        from assay.interfaces.python.charts import whatif_charts
        from assay.questions.forecasts.learning import ProfileRequest, profile_from
        from assay.questions.forecasts.whatif.whatif import WhatIfQuestion, what_if
        from assay.questions.forecasts.whatif.whatif_costs import stated_prices
        from assay.questions.forecasts.whatif.whatif_sentences import effect_notes
        from assay.specs.document import read_document

        cluster_source = read_document(file_path(cluster, "cluster")).text if cluster is not None else ""
        parsed_changes = parse_question(conditions(changes))
        question = WhatIfQuestion(parsed_changes, conditions(where), text(target, "target"), cluster_source)
        file_profile = profile_from(ProfileRequest((file_path(profile, "profile"),))) if profile is not None else None
        extras = text(extra_costs, "extra_costs")
        book = stated_prices(price_book(prices), stated or {}, extras) if prices is not None else None
        answer = what_if(self._store, question, book, file_profile)
        configurations = answer.configurations
        return Answer(
            answer,
            answer.sentence,
            (
                *answer.notes,
                *filter(None, (answer.money, answer.caveat)),
                *effect_notes(answer.effects),
                *(f"not simulated, {row.workload} on {row.configuration}: {row.reason}" for row in answer.refused),
                *dict.fromkeys(assumption for row in configurations for assumption in row.assumptions),
            ),
            rows.WHATIF_COLUMNS,
            json_values=lambda: json_value(answer),
            rows=rows.rows_under("configurations"),
            chart_specs=lambda: whatif_charts(configurations),
        )

    def predict(self, where: Where, *, cluster: str | None = None) -> Answer[Prediction]:
        """Predict the run time of a configuration, with the 90 % interval of a single run.

        ``where``: the levels of the configuration; other factors get their most common level. ``cluster``: the name of
        a cluster, or the file of a cluster without runs.
        """
        from assay.foundation.errors import SpecificationError
        from assay.questions.forecasts.prediction import cluster_named, predict_configuration, prediction_sentence

        where_conditions = conditions(where)
        if not where_conditions:
            raise SpecificationError("no configuration", where="where", hint='such as {"workload": "terasort"}')
        prediction = predict_configuration(
            self._store, where_conditions, cluster_named(optional_text(cluster, "cluster"))
        )
        return Answer(
            prediction,
            prediction_sentence(prediction),
            (*prediction.reasons, *prediction.notices),
            rows.PREDICTION_COLUMNS,
            json_values=lambda: json_value(prediction),
            rows=lambda values: [values],
        )

    def recommend(
        self,
        *workloads: str,
        catalogue: Path | str,
        prices: PriceBook | Path | str,
        budget: str = "",
        deadline: str = "",
        capacity: str = "",
        years: float = 3.0,
        minimize: str | None = None,
        confidence: float = 0.9,
        simulations: int = 300,
        seed: int = 1,
        jobs: int | None = None,
        learn: bool = False,
        where: Where = (),
        extra_costs: str = "",
    ) -> Answer[Recommendation]:
        """Find the cluster that fits a mix of workloads: search a hardware catalogue by simulation.

        ``workloads``: texts ``NAME:SIZE[:HOW OFTEN[:OPTIONS]]``. ``minimize``: ``price``, ``job`` or ``time``.
        ``jobs``: number of simulators. ``learn``: learn the simulation profile from the measured runs of this
        repository that match ``where``, and predict times from its runs on instance types; otherwise the profile
        shipped with assay applies. ``extra_costs``: data kept, data sent and idle time per day, and the price of
        surplus CPU credits, ``storage=2TB,egress=50GB,idle=3h,surplus-credits=$0.05``.
        """
        from assay.estimation.simulator.pool import SimulatorPool
        from assay.execution.planning.plan_files.hardware_file import load_catalogue
        from assay.questions.forecasts.learning import ProfileRequest
        from assay.questions.recommendation.measured_types import sources_from
        from assay.questions.recommendation.recommend import recommend
        from assay.questions.recommendation.request import Objective, RecommendRequest
        from assay.questions.recommendation.sentences import cluster_sentences, headline, lead, sentences, summary

        objectives = [str(objective.value) for objective in Objective]
        request = RecommendRequest(
            texts(workloads, "workloads"),
            budget=text(budget, "budget"),
            deadline=text(deadline, "deadline"),
            capacity=text(capacity, "capacity"),
            years=number_within(years, 0.001, 100, "years"),
            minimize=Objective(one_of(minimize, objectives, "minimize")) if minimize is not None else None,
            confidence=number_within(confidence, 0, 1, "confidence"),
            simulations=integer_within(simulations, 1, 100_000, "simulations"),
            seed=integer_within(seed, 0, SEED_MAX, "seed"),
            learn=learn,
            where=conditions(where),
            extra_costs=text(extra_costs, "extra_costs"),
        )
        hardware, book = load_catalogue(file_path(catalogue, "catalogue")), price_book(prices)
        sources = sources_from(ProfileRequest((), self._store.root if learn else None, request.where))
        with SimulatorPool(integer_within(jobs, 1, 1_000, "jobs") if jobs is not None else None) as pool:
            recommendation = recommend(request, hardware, book, sources, pool)
        first_notes = (*lead(recommendation), *cluster_sentences(recommendation))
        if recommendation.chosen is not None:
            first_notes = (*first_notes, *headline(recommendation))
        return Answer(
            recommendation,
            summary(recommendation),
            (*first_notes, *sentences(recommendation)),
            rows.CHOICE_COLUMNS,
            json_values=lambda: json_value(recommendation),
            rows=rows.rows_under("front"),
        )

    def next(
        self, budget: str, where: Where = (), *, cluster: str | None = None, about: str = "surface"
    ) -> Answer[NextRunsAnswer]:
        """Choose the configurations to run next, those that reduce uncertainty most first.

        ``budget``: a number of runs (``20runs``) or a duration (``2h``). ``about``: ``surface``, the time of every
        configuration; or a factor, the differences between its levels.
        """
        from assay.questions.forecasts.next_runs import NextRunsRequest, budget_of, next_runs, next_runs_sentence

        request = NextRunsRequest(
            budget_of(text(budget, "budget")),
            conditions(where),
            optional_text(cluster, "cluster"),
            text(about, "about"),
        )
        answer = next_runs(self._store, request)
        return Answer(
            answer,
            next_runs_sentence(answer),
            answer.notices,
            json_values=lambda: json_value(answer),
            rows=rows.rows_under("runs"),
        )

    def enough_runs(self, cluster: str, precision: float = 0.1, where: Where = ()) -> Answer[Characterisation]:
        """Count the runs on a cluster that are enough to predict its other runs.

        ``precision``: the median error of these predictions, 0.1 for 10 %.
        """
        from assay.questions.forecasts.next_runs import characterise, enough_runs_sentence

        share = number_within(precision, 0.01, 0.9, "precision")
        answer = characterise(self._store, text(cluster, "cluster"), share, conditions(where))
        return Answer(
            answer,
            enough_runs_sentence(answer),
            answer.notices,
            json_values=lambda: json_value(answer),
            rows=rows.rows_under("steps"),
        )

    def explain(self, where: Where = (), *, by: str | Sequence[str] = ()) -> Answer[ImportanceView]:
        """Show how much of the variance of run times each factor explains, alone and with another factor.

        ``by``: factors whose combinations get an expected time each.
        """
        from assay.questions.forecasts.importance import importance_sentence, what_matters

        view = what_matters(self._store, conditions(where), texts(by, "by"))
        return Answer(
            view,
            importance_sentence(view),
            view.notices,
            ("factor", "share.value", "share.low", "share.high"),
            json_values=lambda: json_value(view),
            rows=lambda values: values["explained"]["factors"],
        )
