"""A recommendation as it is asked by fields of text: in forms, links and the API; and the catalogues that there are.

In: texts, folders. Out: what :func:`assay.questions.recommendation.recommend.recommend` takes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.foundation.errors import SpecificationError
from assay.foundation.installation import installation
from assay.questions.costs.mix import parse_mix
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.recommendation.constraints import limits_of
from assay.questions.recommendation.recommend import SURELY, Recommendation, RecommendQuestion, recommend
from assay.questions.recommendation.search import Least, Progress
from assay.specs.fields import unknown
from assay.specs.prices import load_prices, prices_of

CATALOGUE_FILE, PRICES_FILE = "catalogue.yaml", "prices.yaml"
SIMULATIONS_MAX = 300
_SURELY_MAX = 0.999


@dataclass(frozen=True, slots=True)
class RecommendAsked:
    """The fields. ``catalogue`` names one that is kept; texts of a catalogue and of prices stand in its place."""

    works: tuple[str, ...]
    catalogue: str = ""
    budget: str = ""
    deadline: str = ""
    capacity: str = ""
    years: float = 3.0
    least: str = ""
    surely: float = SURELY
    simulations: int = SIMULATIONS_MAX
    catalogue_text: str = ""
    prices_text: str = ""


def kept_catalogues(folders: Iterable[Path]) -> dict[str, Path]:
    """Return the folders that hold a catalogue with prices beside it, by name; the examples' last."""
    found: dict[str, Path] = {}
    examples = installation().examples
    for folder in (*folders, *([examples] if examples else [])):
        for file in sorted(folder.glob(f"*/{CATALOGUE_FILE}")):
            if (file.parent / PRICES_FILE).is_file():
                found.setdefault(file.parent.name, file.parent)
    return found


def prepared(
    asked: RecommendAsked, catalogues: dict[str, Path]
) -> Callable[[SimulatorPool, Progress | None], Recommendation]:
    """Return what answers, once everything that was asked has been read. Raises SpecificationError, in words."""
    works = parse_mix([text for text in asked.works if text.strip()])
    if asked.catalogue_text.strip():
        hardware = catalogue_of(asked.catalogue_text, CATALOGUE_FILE)
        book = prices_of(asked.prices_text, PRICES_FILE)
    else:
        folder = catalogues.get(asked.catalogue)
        if folder is None:
            raise SpecificationError(unknown("catalogue", asked.catalogue, catalogues), where="catalogue")
        hardware, book = load_catalogue(folder / CATALOGUE_FILE), load_prices(folder / PRICES_FILE)
    if asked.least not in ("", *Least):
        raise SpecificationError(unknown("aim", asked.least, list(Least)), where="least")
    if not 0.5 <= asked.surely <= _SURELY_MAX:
        raise SpecificationError(f"surely must be from 0.5 to {_SURELY_MAX}", where="surely")
    if not 1 <= asked.simulations <= SIMULATIONS_MAX:
        raise SpecificationError(f"simulations: 1 to {SIMULATIONS_MAX} here", where="simulations")
    question = RecommendQuestion(
        works,
        limits_of(book, asked.budget, asked.deadline, asked.capacity, asked.years),
        Least(asked.least) if asked.least else None,
        asked.surely,
        asked.simulations,
    )
    profile = shipped_profile()

    def answer(pool: SimulatorPool, progress: Progress | None) -> Recommendation:
        """Search."""
        return recommend(question, hardware, book, profile, pool, progress)

    return answer
