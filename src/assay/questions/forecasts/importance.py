"""Show which factors matter for a workload's run time, and how factors interact, as the model learned them.

In: a repository, conditions, and factors to combine. Out: shares of variance with intervals, levels against the typical
time, and expected times of combinations, all of them predicted; and for each factor the decision on it, from measured
runs.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assay.analysis.statistics import Estimate, RunTable
from assay.estimation.prediction.explaining import Cell, FactorImportance, cells, explain
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_percent
from assay.model import CONTAINERS, LAYOUT_FACTOR, MAP_SLOTS, NETWORK_FACTOR
from assay.questions.forecasts.decision_summaries import DecisionSummary, decision_summaries
from assay.questions.forecasts.model_cache import RepositoryModel, learned
from assay.questions.forecasts.partial_configuration import factor_named
from assay.questions.runs.runs import selected
from assay.questions.trust.flags import flags_in
from assay.store import Repository
from assay.text import column_title

_CLEAR_MIN = 0.005
"""Minimum lower end of a share's 95 % interval for the statement that the factor explains run times."""


@dataclass(frozen=True, slots=True)
class ImportanceView:
    """Which factors matter among the selected runs."""

    where: tuple[str, ...]
    explained: FactorImportance
    by: tuple[str, ...]
    cells: tuple[Cell, ...]
    """Expected times of the combinations of the factors in ``by``."""
    decisions: tuple[DecisionSummary, ...]
    """Which level of each explained factor is faster, from measured runs."""
    notices: tuple[str, ...]


def combined_factors(repository_model: RepositoryModel) -> tuple[str, ...]:
    """Return the factors of the model whose combinations charts show; empty where fewer than two of them vary.

    :func:`assay.interfaces.charts.combinations.combinations` draws the :attr:`ImportanceView.cells` of these factors
    for pages and reports.
    """
    return factors_to_combine({factor.name for factor in repository_model.model.encoding.factors if factor.varied})


def factors_to_combine(varied_names: Collection[str]) -> tuple[str, ...]:
    """Return storage, network and containers (else map slots), as far as they vary; empty for fewer than two."""
    names = [name for name in (LAYOUT_FACTOR, NETWORK_FACTOR) if name in varied_names]
    names += [name for name in (CONTAINERS, MAP_SLOTS) if name in varied_names][:1]
    return tuple(names) if len(names) > 1 else ()


def what_matters(repository: Repository, where: Sequence[str], by: Sequence[str] = ()) -> ImportanceView:
    """Return the importance of factors. Raises SpecificationError for unknown conditions or factors, or too few
    runs."""
    return what_matters_by(learned(repository), repository, flags_in(repository).table, where, by)


def what_matters_by(
    repository_model: RepositoryModel,
    repository: Repository,
    flagged: RunTable,
    where: Sequence[str],
    by: Sequence[str] = (),
) -> ImportanceView:
    """Return the importance of factors in a trained model. ``flagged``: all runs with outlier flags."""
    table = selected(repository_model.table, where, "--where")
    names = tuple(factor_named(name, repository_model.model.encoding, "--by").name for name in by)
    if len(set(names)) < len(names):
        raise SpecificationError("a factor is named twice", where="--by", hint="each once")
    estimates = cells(repository_model.model, table, names) if names else []
    factor_importance = explain(repository_model.model, table)
    factors = [effect.factor for effect in factor_importance.factors]
    decisions = decision_summaries(repository, flagged, factors, where)
    return ImportanceView(tuple(where), factor_importance, names, tuple(estimates), decisions, repository_model.notices)


def importance_sentence(answer: ImportanceView) -> str:
    """Return a sentence with the factor that explains most, or a sentence that no factor clearly explains run times."""
    factors = answer.explained.factors
    if not factors:
        return "These runs do not differ in any factor."
    clear_effects = [effect for effect in factors if (effect.share.low or 0.0) >= _CLEAR_MIN]
    first = (clear_effects or factors)[0]
    value, interval_text = share_texts(first.share)
    name = column_title(first.factor)
    if not clear_effects:
        return f"No factor clearly explains the run times: the largest share is {value} ({interval_text}), for {name}."
    return f"{name} explains {value} of the variance of run times (95 % interval {interval_text})."


def share_texts(share: Estimate) -> tuple[str, str]:
    """Return a share and its 95 % interval as text."""
    interval = f"{format_percent(share.low or 0.0, 1)} to {format_percent(share.high or 0.0, 1)}"
    return format_percent(share.value, 1), interval
