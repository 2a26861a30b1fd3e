"""Prepare a recommendation on a server: find the catalogue, and check the request before the search starts.

In: a request, and folders with catalogues. Out: a function that searches.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.foundation.errors import SpecificationError
from assay.foundation.installation import installation
from assay.questions.costs.mix import parse_mix
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import SIMULATIONS, RecommendRequest
from assay.questions.recommendation.search import Progress
from assay.specs.fields import unknown
from assay.specs.prices import load_prices, prices_of

CATALOGUE_FILE, PRICES_FILE = "catalogue.yaml", "prices.yaml"
_NAME_LENGTH_MAX = 300
"""Maximum length of an unknown catalogue's name in a message, in characters."""
_TEXT_LENGTH_MAX = 1_000_000
"""Maximum length of a catalogue or price book in a request, in characters."""


def stored_catalogues(folders: Iterable[Path]) -> dict[str, Path]:
    """Return the folders that hold a catalogue and its price book, by name; example folders last."""
    catalogues: dict[str, Path] = {}
    examples = installation().examples
    for folder in (*folders, *([examples] if examples else [])):
        for file in sorted(folder.glob(f"*/{CATALOGUE_FILE}")):
            if (file.parent / PRICES_FILE).is_file():
                catalogues.setdefault(file.parent.name, file.parent)
    return catalogues


def prepare(
    request: RecommendRequest, catalogues: Mapping[str, Path]
) -> Callable[[SimulatorPool, Progress | None], Recommendation]:
    """Return the search for a request. Raises SpecificationError for a request that no search can answer."""
    for where, text in (("catalogue_text", request.catalogue_text), ("prices_text", request.prices_text)):
        if len(text) > _TEXT_LENGTH_MAX:
            raise SpecificationError(f"the text has more than {_TEXT_LENGTH_MAX:,} characters", where=where)
    parse_mix(request.workloads)
    if request.catalogue_text.strip():
        hardware = catalogue_of(request.catalogue_text, CATALOGUE_FILE)
        book = prices_of(request.prices_text, PRICES_FILE)
    else:
        folder = catalogues.get(request.catalogue)
        if folder is None:
            name = request.catalogue[:_NAME_LENGTH_MAX]
            raise SpecificationError(unknown("catalogue", name, catalogues), where="catalogue")
        hardware, book = load_catalogue(folder / CATALOGUE_FILE), load_prices(folder / PRICES_FILE)
    request.constraints(book)
    if not 1 <= request.simulations <= SIMULATIONS:
        raise SpecificationError(f"a server simulates 1 to {SIMULATIONS} clusters per search", where="simulations")
    return partial(recommend, request, hardware, book, shipped_profile())
