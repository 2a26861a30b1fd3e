"""Ask a repository from Python: a method for each question, with the objects of the command line and the REST API.

In: a folder, and the arguments of a question. Out: an :class:`~assay.interfaces.python.answer.Answer`. Wrong arguments
raise the errors of :mod:`assay.foundation.errors`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assay.analysis.comparison.factors.device_classes import layout_classes
from assay.analysis.statistics import RunTable
from assay.foundation.errors import SpecificationError
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
from assay.interfaces.python.forecasts import Forecasts
from assay.questions.commands import CommandOptions, from_here
from assay.questions.json_values import json_value
from assay.questions.runs.runs import in_order_of_start, run_json, selected
from assay.questions.trust.flags import FlaggedTable, flags_in, outlier_kinds
from assay.store import Repository
from assay.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.comparison.details.side_by_side import Sides
    from assay.analysis.run_profile.limits.run_limits import Limits
    from assay.analysis.run_profile.task_durations import TaskDurations
    from assay.model import PriceBook, Run
    from assay.questions.claims.findings import FindingsView
    from assay.questions.comparisons.side_by_side import Of
    from assay.questions.comparisons.speedup import SpeedupView
    from assay.questions.costs.cost_rows import JobCostEffectiveness
    from assay.questions.costs.years_of_use import JobCosts
    from assay.questions.decisions.sentences.decision_sentences import DecisionAnswer
    from assay.questions.decisions.sentences.question_sentences import QuestionView
    from assay.questions.runs.code_profiles.code_profile import CodeProfile
    from assay.questions.runs.run_quality import AnomalousRuns
    from assay.questions.runs.scatter import ScatterView
    from assay.questions.runs.workload_limits import WorkloadLimits
    from assay.questions.trust.changes import ChangesView
    from assay.questions.trust.gate import GateView


STAGE_MAX = 10**9
"""Highest number of a Spark stage."""


def open_repository(path: str | Path = "repository") -> OpenedRepository:
    """Return the repository in the folder ``path``.

    Raises RepositoryError if there is none, or if a newer version of assay wrote it.
    """
    if not isinstance(path, str | Path):
        raise SpecificationError(f"{type(path).__name__} is not a path", where="assay.open", hint="name a folder")
    return OpenedRepository(Repository.open(file_path(path, "path")))


class OpenedRepository(Forecasts):
    """The runs of a folder, and the questions to ask about them.

    ``where`` of a question selects runs: ``{"layout": "SSD"}``, or texts ``COLUMN=LEVEL``. ``prices`` is a price book,
    or the path of its file. Runs that arrive after the repository was opened count.
    """

    def __repr__(self) -> str:
        return f"assay.open({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The folder."""
        return self._store.root

    def __enter__(self) -> OpenedRepository:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove temporary files; at the end of the process they are removed anyway."""
        self._store.close()

    def _flags_and_table(self, where: Where) -> tuple[FlaggedTable, RunTable]:
        flagged = flags_in(self._store)
        return flagged, selected(flagged.table, conditions(where))

    def _command_options(self, where: Where, prices: PriceBook | Path | str | None) -> CommandOptions:
        """Return the options of an answer that further commands need. A book without a file is ``FILE``."""
        file = "" if prices is None else str(prices) if isinstance(prices, Path | str) else "FILE"
        return CommandOptions(from_here(self._store.root), file, where=conditions(where))

    def runs(self, where: Where = (), *, limit: int | None = None) -> Answer[tuple[Run, ...]]:
        """List the runs, newest last. ``limit``: only this many of the newest."""
        flagged, where_conditions = flags_in(self._store), conditions(where)
        table = selected(flagged.table, where_conditions) if where_conditions else flagged.table
        newest_count = integer_within(limit, 1, None, "limit") if limit is not None else 0
        newest_runs = tuple(self._store.runs_at(table, in_order_of_start(self._store, table)[-newest_count:]))
        kinds = outlier_kinds(self._store, flagged)
        return Answer(
            newest_runs,
            f"{plural(len(newest_runs), 'run')}."
            if len(newest_runs) == len(table)
            else f"{len(newest_runs):,} of {len(table):,} runs.",
            shown=rows.RUN_COLUMNS,
            json_values=lambda: [run_json(run, kinds.get(run.run_id)) for run in newest_runs],
        )

    def questions(
        self, where: Where = (), *, prices: PriceBook | Path | str | None = None
    ) -> Answer[tuple[QuestionView, ...]]:
        """Answer the six questions of a buyer: storage, network, disks, nodes, containers and cheapest."""
        from assay.questions.decisions.answers import answer_questions
        from assay.questions.decisions.decision import DecisionRequest
        from assay.questions.decisions.sentences.question_sentences import view_of

        flagged, _ = self._flags_and_table(where)
        request = DecisionRequest(where=conditions(where), prices=price_book(prices) if prices is not None else None)
        options = self._command_options(where, prices)
        views = tuple(view_of(answer, options) for answer in answer_questions(self._store, flagged.table, request))
        return Answer(
            views,
            f"{sum(view.answered for view in views)} of {len(views)} questions have an answer.",
            tuple(f"{view.name}: {view.answer}" for view in views),
            ("name", "question", "answered", "confidence"),
            json_values=lambda: json_value(views),
        )

    def decide(
        self,
        question: str = "storage",
        where: Where = (),
        *,
        baseline: str | None = None,
        prices: PriceBook | Path | str | None = None,
        ignore: str | Sequence[str] = (),
    ) -> Answer[tuple[DecisionAnswer, ...]]:
        """Decide which option is faster, how much, and what it costs. The first decision is the answer.

        ``question``: one of the six of a buyer, or any factor of the runs; several joined by commas are compared as
        one. ``baseline``: the option to compare with. ``ignore``: factors that may differ within matched groups.
        """
        from assay.interfaces.python.charts import decision_charts
        from assay.questions.decisions.answers import answer_question
        from assay.questions.decisions.ask import decisions_of
        from assay.questions.decisions.buyer import question_named
        from assay.questions.decisions.decision import DecisionRequest
        from assay.questions.decisions.sentences.decision_sentences import answer_of
        from assay.questions.decisions.sentences.question_sentences import not_varied_text, view_of

        flagged, table = self._flags_and_table(where)
        book = price_book(prices) if prices is not None else None
        request = DecisionRequest(
            text(question, "question"),
            optional_text(baseline, "baseline"),
            conditions(where),
            texts(ignore, "ignore"),
            book,
        )
        if (buyer_question := question_named(request.factor)) is not None:
            question_answer = answer_question(self._store, flagged.table, buyer_question, request)
            decisions = question_answer.decisions
            view = view_of(question_answer, self._command_options(where, prices))
        else:
            decisions, view = decisions_of(self._store, flagged.table, request), None
        answers = tuple(answer_of(decision) for decision in decisions)
        if answers:
            sentence = answers[0].headline
            notes = [note for note in (answers[0].evidence, answers[0].cost, *answers[0].remarks) if note]
            notes += [caveat.text for caveat in decisions[0].caveats]
        elif view is not None:
            sentence, notes = view.answer, [f"next: {view.next_step}"] if view.next_step else []
            notes += [view.next_command] if view.next_command else []
        else:
            sentence, notes = not_varied_text(question), []
        return Answer(
            answers,
            sentence,
            tuple(notes),
            rows.DECISION_COLUMNS,
            json_values=lambda: json_value(answers),
            rows=rows.decision_rows,
            chart_specs=lambda: decision_charts(decisions, layout_classes(table)),
        )

    def speedup(
        self,
        factor: str = "layout",
        where: Where = (),
        *,
        baseline: str | None = None,
        group: str | None = "workload",
        ignore: str | Sequence[str] = (),
        deployments: bool = False,
    ) -> Answer[SpeedupView]:
        """Compare each level of a factor with the baseline, with its own matched groups.

        ``group``: the factor whose levels each have an estimate; None for one estimate over all runs. ``deployments``:
        match runs within campaigns only.
        """
        from dataclasses import replace

        from assay.interfaces.python.charts import speedup_charts
        from assay.questions.comparisons.speedup import SpeedupRequest, speedup_view
        from assay.questions.decisions.sentences.decision_sentences import answer_of

        _, table = self._flags_and_table(where)
        names = tuple(name.strip() for name in text(factor, "factor").split(","))
        request = SpeedupRequest(
            names,
            optional_text(baseline, "baseline"),
            optional_text(group, "group"),
            texts(ignore, "ignore"),
            deployments,
        )
        view = speedup_view(self._store, table, request)
        decision_answer = self.decide(factor, where, baseline=baseline, ignore=ignore)
        view = replace(view, decisions=tuple(answer_of(item.decision) for item in decision_answer.value))
        return Answer(
            view,
            decision_answer.sentence,
            decision_answer.notes,
            rows.SPEEDUP_COLUMNS,
            json_values=lambda: json_value(view),
            rows=rows.rows_under("results"),
            chart_specs=lambda: speedup_charts(view, layout_classes(table)),
        )

    def compare(self, *runs: str, of: Of = "configurations") -> Answer[Sides]:
        """Compare two to six runs, or their configurations, side by side; the first is the baseline.

        ``runs``: beginnings of run ids. ``of``: compare all runs of their ``configurations``, or the ``runs`` alone.
        """
        from assay.interfaces.python.charts import side_charts
        from assay.questions.comparisons.result_sentences import different_jobs_text, side_sentence
        from assay.questions.comparisons.side_by_side import sides_of

        scope = cast("Of", one_of(of, ("configurations", "runs"), "of"))
        stored_runs = [self._store.run(text(run, "run")) for run in runs]
        sides = sides_of(self._store, self._store.table(), stored_runs, scope)
        sentences = [different_jobs_text(sides), *(side_sentence(sides, side) for side in sides.sides)]
        first_sentence, *notes = [sentence for sentence in sentences if sentence] or ["Nothing can be compared."]
        return Answer(
            sides,
            first_sentence,
            tuple(notes),
            rows.SIDE_COLUMNS,
            json_values=lambda: json_value(sides),
            rows=rows.rows_under("sides"),
            chart_specs=lambda: side_charts(sides),
        )

    def cost(
        self,
        prices: PriceBook | Path | str,
        where: Where = (),
        *,
        by: str | Sequence[str] = (),
        take: str = "all",
        on: str | None = None,
        currency: str | None = None,
        seed: int = 0,
        exclude_flagged: bool = False,
    ) -> Answer[tuple[JobCostEffectiveness, ...]]:
        """Decide which configuration costs least per run, for each job.

        ``by``: factors that make a row. ``take``: the runs of a row that count: ``all``, those of its ``best``
        configuration, or the ``fastest``. ``on``: the day whose prices apply.
        """
        from assay.interfaces.python.charts import cost_charts
        from assay.questions.costs.cost_effectiveness import cost_effectiveness
        from assay.questions.costs.cost_json import cost_effectiveness_json
        from assay.questions.costs.cost_rows import CostEffectivenessRequest
        from assay.specs.prices import date_of_option

        flagged, table = self._flags_and_table(where)
        checked_take: Any = one_of(take, ("all", "best", "fastest"), "take")
        day = date_of_option(text(on, "on"), "on") if on is not None else None
        request = CostEffectivenessRequest(
            texts(by, "by"),
            checked_take,
            day,
            optional_text(currency, "currency"),
            integer_within(seed, 0, SEED_MAX, "seed"),
            exclude_flagged,
        )
        views = tuple(cost_effectiveness(self._store, table, price_book(prices), request, flagged.table))
        headlines = [view.headline for view in views if view.headline]
        unpriced = dict.fromkeys(f"left out: {name}: {note}" for view in views for name, note in view.unpriced.items())
        return Answer(
            views,
            headlines[0] if headlines else "Nothing is priced.",
            (*headlines[1:], *unpriced),
            rows.COST_COLUMNS,
            json_values=lambda: [cost_effectiveness_json(view) for view in views],
            rows=rows.cost_rows,
            chart_specs=lambda: cost_charts(views),
        )

    def cost_over_years(
        self,
        prices: PriceBook | Path | str,
        years: float = 3.0,
        where: Where = (),
        *,
        baseline: str | None = None,
        rounding: str = "none",
        exclude_flagged: bool = False,
    ) -> Answer[JobCosts]:
        """Decide which layout costs least over years of use, from the purchase prices of the hardware."""
        from assay.interfaces.python.charts import decision_charts
        from assay.questions.costs.cost_json import cost_over_years_json
        from assay.questions.costs.years_of_use import JobCostRequest, job_costs

        flagged, table = self._flags_and_table(where)
        rounding_value: Any = one_of(rounding, ("none", "paper"), "rounding")
        years_value = number_within(years, 0.001, 100, "years")
        baseline_name = optional_text(baseline, "baseline")
        request = JobCostRequest(
            price_book(prices), conditions(where), years_value, rounding_value, baseline_name, exclude_flagged
        )
        costs = job_costs(self._store, flagged.table, request)
        return Answer(
            costs,
            costs.over_years.answer if costs.over_years else "Nothing can be compared.",
            tuple(f"left out: {layout}: {reason}" for layout, reason in costs.view.unpriced.items()),
            json_values=lambda: cost_over_years_json(costs),
            rows=rows.rows_under("rows"),
            chart_specs=lambda: decision_charts(costs.decisions, layout_classes(table)),
        )

    def limits(self, run: str) -> Answer[Limits]:
        """Find what limited a run, and how much faster it could be at most. ``run``: the beginning of its id."""
        from assay.questions.runs.limits import configuration_limit, limits_of_run, run_limit_answer

        limits = limits_of_run(self._store, text(run, "run"))
        return Answer(
            limits,
            run_limit_answer(limits, configuration_limit(self._store, self._store.table(), limits.run_id)),
            limits.rests_on,
            json_values=lambda: json_value(limits),
            rows=rows.rows_under("times"),
        )

    def workload_limits(self, where: Where = ()) -> Answer[WorkloadLimits]:
        """Find what limits each workload on each kind of storage, from the traces of its newest runs."""
        from assay.questions.runs.workload_limits import workload_limits

        limits = workload_limits(self._store, self._flags_and_table(where)[1])
        commands = self._command_options(where, None)
        notes = tuple(filter(None, (*(row.line for row in limits.workloads), limits.basis, limits.next_step(commands))))
        return Answer(
            limits, limits.answer, notes, json_values=lambda: json_value(limits), rows=rows.rows_under("workloads")
        )

    def tasks(self, run: str, *, node: str | None = None, job: str | None = None) -> Answer[TaskDurations]:
        """Show how long the tasks of a run took by phase, and which are outliers. ``node``, ``job``: only these."""
        from assay.questions.runs.task_durations import durations_of_run, summary_text

        durations = durations_of_run(
            self._store, text(run, "run"), optional_text(node, "node"), optional_text(job, "job")
        )
        values = partial(json_value, durations)
        return Answer(durations, summary_text(durations), json_values=values, rows=rows.rows_under("phases"))

    def profile(
        self,
        run: str,
        *,
        phase: str | None = None,
        stage: int | None = None,
        node: str | None = None,
        attempt: str | None = None,
        at_s: float | None = None,
        process: str | None = None,
    ) -> Answer[CodeProfile]:
        """Show which code a profiled run executed: categories, and methods by self time.

        ``phase``, ``stage``, ``node``, ``attempt``: only these. ``at_s``: only the second at this time of the run.
        ``process``: only ``job``, ``datanode`` or ``nodemanager``.
        """
        from assay.questions.runs.code_profiles.code_profile import (
            CodeProfileRequest,
            code_profile,
            profile_basis,
            profile_sentence,
        )

        store, prefix = self._store, text(run, "run")
        request = CodeProfileRequest(
            optional_text(phase, "phase"),
            integer_within(stage, 0, STAGE_MAX, "stage") if stage is not None else None,
            optional_text(node, "node"),
            optional_text(attempt, "attempt"),
            number_within(at_s, 0, 1e9, "at_s") if at_s is not None else None,
            optional_text(process, "process"),
        )
        profile = code_profile(store, prefix, request)
        return Answer(
            profile,
            profile_sentence(profile),
            profile_basis(profile) if profile.categories else (),
            json_values=lambda: json_value(profile),
            rows=rows.rows_under("frames"),
        )

    def scatter(
        self, x: str = "", y: str = "duration_s", where: Where = (), *, by: str = "", shape: str = ""
    ) -> Answer[ScatterView]:
        """List two metrics of the valid runs. ``by`` and ``shape``: factors for colour and shape."""
        from assay.questions.runs.scatter import ScatterRequest, counts_text
        from assay.questions.runs.scatter import scatter as scatter_of

        names = [text(value, name) for value, name in ((x, "x"), (y, "y"), (by, "by"), (shape, "shape"))]
        view = scatter_of(self._store, ScatterRequest(names[0], names[1], names[2], names[3], conditions(where)))
        return Answer(view, counts_text(view), json_values=lambda: json_value(view), rows=rows.rows_under("points"))

    def changes(self, where: Where = ()) -> Answer[ChangesView]:
        """Find when configurations became faster or slower."""
        from assay.questions.trust.changes import changes_notes, changes_of, changes_sentence

        view = changes_of(selected(self._store.table(), conditions(where)))
        return Answer(
            view,
            changes_sentence(view),
            changes_notes(view),
            json_values=lambda: json_value(view),
            rows=rows.change_rows,
        )

    def gate(
        self, baseline: str, max_slowdown: float = 0.05, where: Where = (), *, ignore: str | Sequence[str] = ()
    ) -> Answer[GateView]:
        """Check whether a configuration is slower than permitted since a baseline.

        ``baseline``: a time (``2026-11-01``), ``COLUMN=LEVEL``, or the beginning of a run's or campaign's id.
        ``max_slowdown``: the permitted slowdown, 0.05 for 5 %. ``ignore``: factors that may differ from run to run.
        """
        from assay.questions.trust.gate import GateRequest, gate_notes, gate_sentence
        from assay.questions.trust.gate import gate as gate_of

        limit = number_within(max_slowdown, 0, 10, "max_slowdown")
        request = GateRequest(text(baseline, "baseline"), limit, conditions(where), texts(ignore, "ignore"))
        view = gate_of(self._store, request)
        return Answer(
            view,
            gate_sentence(view),
            gate_notes(view),
            ("configuration", "verdict", "ratio", "low", "high", "runs_before", "runs_since"),
            json_values=lambda: json_value(view),
            rows=rows.gate_rows,
        )

    def anomalies(self, where: Where = ()) -> Answer[AnomalousRuns]:
        """List outliers: runs that are too fast, too slow, read or wrote too little, or did not do their work."""
        from assay.questions.runs.run_quality import anomalies_sentence, anomalous_runs

        outliers = anomalous_runs(self._store, *self._flags_and_table(where))
        return Answer(
            outliers,
            anomalies_sentence(outliers),
            shown=("run_id", "workload", "layout", "kind", "reason"),
            json_values=lambda: json_value(outliers),
            rows=rows.rows_under("anomalies"),
        )

    def findings(
        self, where: Where = (), *, prices: PriceBook | Path | str | None = None, exclude_flagged: bool = False
    ) -> Answer[FindingsView]:
        """Test claims of the published studies on the runs. ``prices`` adds claims about cost."""
        from assay.questions.claims.findings import findings_sentence, findings_view

        flagged, table = self._flags_and_table(where)
        book = price_book(prices) if prices is not None else None
        view = findings_view(self._store, table, book, all_runs=flagged.table, exclude_flagged=exclude_flagged)
        return Answer(
            view,
            findings_sentence(view),
            shown=("origin", "claim", "answer", "source"),
            json_values=lambda: json_value(view),
            rows=rows.finding_rows,
        )
